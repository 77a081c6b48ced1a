"""The generator: explores a document with tools and proposes one question with its proof."""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.qa.context import QAContext, call_summaries
from qagen_dagster.agents.qa.support import unsupported
from qagen_dagster.agents.runner import AgentRun, run_agent
from qagen_dagster.agents.spec import AgentSpec, Limits, Terminal
from qagen_dagster.agents.steps import Finish
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.question import (
    CallSummary,
    Candidate,
    Evidence,
    QAPair,
    RejectedQA,
    RejectionReason,
)
from qagen_dagster.records.verdict import ReportExhausted, SubmitQA

ROLE = "generator"
_SHOWN_REJECTED = 20
_SHOWN_ACCEPTED = 200


@dataclass(frozen=True)
class History:
    """What earlier attempts on this document gave."""

    accepted: tuple[QAPair, ...] = ()
    rejected: tuple[RejectedQA, ...] = ()
    rejected_evidence: tuple[tuple[Evidence, ...], ...] = ()  # beside `rejected`
    viewed_pages: tuple[int, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """How one attempt ended: a candidate, exhaustion with its reason, or a failure."""

    candidate: Candidate | None
    exhausted: str | None
    failure: str | None
    viewed_pages: tuple[int, ...]
    calls: tuple[CallSummary, ...]


def prompt_for(mode: Mode) -> Prompt:
    return load_prompt(f"generator_{mode.value}")


def propose(context: QAContext, model: Model, history: History, attempt: int) -> Proposal:
    """Run the generator once. Raises ModelError."""
    gate = _Gate(context)
    spec = AgentSpec(
        name=f"{context.mode.value} question generator",
        role=ROLE,
        prompt=prompt_for(context.mode),
        tools=tuple(context.tools),
        terminals=(
            Terminal("submit_qa", SubmitQA, gate.refuse_once),
            Terminal("report_exhausted", ReportExhausted),
        ),
        limits=Limits(max_turns=40, max_tool_calls=80),
    )
    run = run_agent(spec, model, context.tools, _values(context, history), sample=attempt)
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, attempt)
    return _proposal(run, gate, calls)


def _proposal(run: AgentRun, gate: _Gate, calls: tuple[CallSummary, ...]) -> Proposal:
    pages = tuple(
        dict.fromkeys(
            page
            for call in run.used
            if call.name == "view_page" and isinstance(page := call.arguments.get("page_number"), int)
        )
    )
    if not isinstance(run.end, Finish):
        return Proposal(None, None, f"{run.end.reason.value}: {run.end.detail}", pages, calls)
    if isinstance(run.end.result, ReportExhausted):
        return Proposal(None, run.end.result.reason, None, pages, calls)
    submission = SubmitQA.model_validate(run.end.result)
    return Proposal(gate.examine(submission), None, None, pages, calls)


class _Gate:
    """Looks up the evidence of a submission; tells the model once, then lets the loop reject it."""

    def __init__(self, context: QAContext) -> None:
        self._context = context
        self._told = False

    def refuse_once(self, result: Record) -> None:
        if self._told or not isinstance(result, SubmitQA):
            return
        candidate = self.examine(result)
        if candidate.gate is not None:
            self._told = True
            raise ToolError(
                f"Not accepted: {candidate.gate_detail}. Read the lines again, then submit a corrected "
                "question, answer or quotes. A second submission is final."
            )

    def examine(self, submission: SubmitQA) -> Candidate:
        known = {visual.label: visual for visual in self._context.view.visuals}
        shown = next((label for label in submission.visuals if label in known), None)
        found = [(quote, self._context.evidence.find(quote, shown)) for quote in submission.evidence]
        evidence = [place for _, place in found if place is not None]
        reason, detail = self._fault(
            submission, [quote.quote for quote, place in found if place is None], evidence
        )
        if not evidence and reason is None and shown is not None:
            page = known[shown].page
            evidence = [
                Evidence(quote=quote.quote, start_line=None, end_line=None, page=page, visual=shown)
                for quote, _ in found
            ]
        return Candidate(
            question=" ".join(submission.question.split()),
            answer=submission.answer.strip(),
            evidence=tuple(evidence),
            question_type=submission.question_type,
            visuals=submission.visuals,
            gate=reason,
            gate_detail=detail,
        )

    def _fault(
        self, submission: SubmitQA, lost: list[str], evidence: list[Evidence]
    ) -> tuple[RejectionReason | None, str]:
        labels = [visual.label for visual in self._context.view.visuals]
        visual_mode = self._context.mode is Mode.VISUAL
        unknown = [label for label in submission.visuals if label not in labels]
        if visual_mode and (unknown or not submission.visuals):
            named = (
                f"no visual is labelled {unknown[0]!r}" if unknown else "`visuals` names no table or figure"
            )
            return RejectionReason.EVIDENCE_NOT_FOUND, f"{named} (labels: {', '.join(labels[:30])})"
        if lost and not (visual_mode and not self._context.view.document.line_count):
            return RejectionReason.EVIDENCE_NOT_FOUND, (
                f"this quote is not in the document as one piece: {lost[0][:200]!r}. Copy one "
                "contiguous passage exactly as read_lines shows it, without line numbers or ellipses"
            )
        if visual_mode:
            return None, ""
        text = "\n".join(place.quote for place in evidence)
        why = unsupported(submission.question, submission.answer, text, submission.question_type)
        return (None, "") if why is None else (RejectionReason.ANSWER_NOT_SUPPORTED, why)


def _values(context: QAContext, history: History) -> dict[str, str]:
    accepted = history.accepted[-_SHOWN_ACCEPTED:]
    rejected = list(zip(history.rejected, history.rejected_evidence, strict=True))[-_SHOWN_REJECTED:]
    values = context.task_values() | {
        "document_card": context.document_card(),
        "accepted": "\n".join(
            f"{number}. {pair.question} {_lines(pair.evidence)}" for number, pair in enumerate(accepted, 1)
        )
        or "(none yet)",
        "rejected": "\n".join(
            f"- {pair.question} {_lines(evidence)}\n  {pair.rejection_reason.value}: {pair.rejection_detail[:300]}"
            for pair, evidence in rejected
            if pair.question
        )
        or "(none yet)",
    }
    if context.mode is Mode.VISUAL:
        values["viewed_pages"] = ", ".join(map(str, sorted(set(history.viewed_pages)))) or "none yet"
    return values


def _lines(evidence: tuple[Evidence, ...]) -> str:
    spans = [f"{place.start_line}-{place.end_line}" for place in evidence if place.start_line is not None]
    return f"(lines {', '.join(spans)})" if spans else ""
