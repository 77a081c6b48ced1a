"""Runs an agent without tools on a shown text, and runs it again with less text when the model's context is too small."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qagen_dagster.agents.questions.batch.reading import Reading
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.runner import AgentRun, call_summaries, run_agent
from qagen_dagster.agents.spec import AgentSpec, GiveUp, GiveUpReason, Limits
from qagen_dagster.models.base import Model
from qagen_dagster.records.questions.results import CallSummary
from qagen_dagster.toolkit.excerpt import single_line

LIMITS = Limits(max_turns=4, max_nudges=1)


@dataclass(frozen=True)
class Reply:
    """How the last run ended, which parts it showed, and the calls of all runs."""

    run: AgentRun
    parts: tuple[int, ...]
    calls: tuple[CallSummary, ...]

    @property
    def texts(self) -> list[str]:
        """The model's texts, in order, if it ended without a tool call; else nothing."""
        end = self.run.end
        if not isinstance(end, GiveUp) or end.reason is not GiveUpReason.NO_TOOL_CALL:
            return []
        return [response.message.text for response in self.run.responses]

    @property
    def failure(self) -> str:
        end = self.run.end
        return f"{end.reason.value}: {end.detail}" if isinstance(end, GiveUp) else ""


@dataclass(frozen=True)
class Task:
    """The prompt values and the choices of parts to show: the next choice is used when one is too long.

    The calls are recorded with `attempt`.
    """

    choices: Iterable[tuple[int, ...]]
    values: dict[str, str]
    attempt: int
    sample: int


def ask(spec: AgentSpec, model: Model, context: QAContext, reading: Reading, task: Task) -> Reply:
    """Run the agent. Raises ModelError, and ValueError when the task has no choice."""
    calls: tuple[CallSummary, ...] = ()
    reply: Reply | None = None
    for parts in dict.fromkeys(task.choices):
        values = task.values | {"document_card": context.document_card()}
        opening = f"{single_line(reading.note(parts))}\n{reading.show(parts)}"
        run = run_agent(spec, model, {}, values, sample=task.sample, opening=opening)
        calls += call_summaries(run, spec.role, model.spec, context.view.document.id, task.attempt)
        reply = Reply(run, parts, calls)
        if not isinstance(run.end, GiveUp) or run.end.reason is not GiveUpReason.CONTEXT_OVERFLOW:
            return reply
    if reply is None:
        raise ValueError("there is no text to ask about")
    return reply
