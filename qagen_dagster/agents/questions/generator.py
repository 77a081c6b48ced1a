"""The generator explores a document with tools and proposes one question with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.agents.accounting import call_summaries
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.agents.questions.history import History, prompt_values
from qagen_dagster.agents.runner import AgentRun, run_agent
from qagen_dagster.agents.spec import AgentSpec, Limits, Terminal
from qagen_dagster.agents.steps import Finish
from qagen_dagster.models.base import Model
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import CallSummary, Candidate
from qagen_dagster.records.questions.submissions import ReportExhausted, SubmitQA, SubmitVisualQA

ROLE = "generator"


@dataclass(frozen=True)
class Proposal:
    """How one attempt ended: a candidate, exhaustion with its reason, or a failure."""

    candidate: Candidate | None
    exhausted: str | None
    failure: str | None
    viewed_pages: tuple[int, ...]
    calls: tuple[CallSummary, ...]


def prompt_for(mode: Mode) -> Prompt:
    return load_prompt(f"questions/generator_{mode.value}")


def propose(context: QAContext, model: Model, history: History, attempt: int) -> Proposal:
    """Run the generator once. Raises ModelError."""
    evidence_check = EvidenceCheck(context)
    submission = SubmitVisualQA if context.mode is Mode.VISUAL else SubmitQA
    spec = AgentSpec(
        name=f"{context.mode.value} question generator",
        role=ROLE,
        prompt=prompt_for(context.mode),
        tools=tuple(context.tools),
        terminals=(
            Terminal("submit_qa", submission, evidence_check.reject_once),
            Terminal("report_exhausted", ReportExhausted),
        ),
        limits=Limits(max_turns=40, max_tool_calls=80),
    )
    values, opening = prompt_values(context, history), context.opening(model.spec)
    run = run_agent(spec, model, context.tools, values, sample=attempt, opening=opening)
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, attempt)
    return _proposal(run, evidence_check, calls)


def _proposal(run: AgentRun, evidence_check: EvidenceCheck, calls: tuple[CallSummary, ...]) -> Proposal:
    pages = tuple(
        dict.fromkeys(page for call in run.used if (page := evidence_check.viewed_page(call)) is not None)
    )
    if not isinstance(run.end, Finish):
        return Proposal(None, None, f"{run.end.reason.value}: {run.end.detail}", pages, calls)
    if isinstance(run.end.result, ReportExhausted):
        return Proposal(None, run.end.result.reason, None, pages, calls)
    submission = run.end.result
    if not isinstance(submission, SubmitQA):
        raise TypeError(f"{type(submission).__name__} is no result of a generator")
    return Proposal(evidence_check.candidate_of(submission), None, None, pages, calls)
