"""Runs the agent of one role and keeps its verbatim output, and the reason when there is no result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from qagen_dagster.agents.exams.rendering import ExamContext
from qagen_dagster.agents.runner import call_summaries, raw_text, readable, run_agent
from qagen_dagster.agents.spec import AgentSpec, Finish, Limits
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.run import CallSummary

LIMITS = Limits(max_turns=4, max_nudges=1)
ResultT = TypeVar("ResultT", bound=Record)


@dataclass(frozen=True)
class Said(Generic[ResultT]):
    """The result, or why there is none. `raw` is everything that the model wrote."""

    result: ResultT | None
    failure: str
    raw: str
    calls: tuple[CallSummary, ...]


def ask(
    spec: AgentSpec,
    kind: type[ResultT],
    model: Model,
    context: ExamContext,
    values: dict[str, str],
    *,
    attempt: int,
    sample: int,
) -> Said[ResultT]:
    """Run the agent; its calls are recorded with `attempt`. Raises ModelError when the model is not available, or its reply is malformed."""
    run = readable(run_agent(spec, model, {}, values, sample=context.sample(sample)))
    calls = call_summaries(run, spec.role, model.spec, context.account, attempt)
    if isinstance(run.end, Finish):
        return Said(kind.model_validate(run.end.result), "", raw_text(run), calls)
    return Said(None, f"{run.end.reason.value}: {run.end.detail}", raw_text(run), calls)
