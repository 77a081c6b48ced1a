"""The generator of questions that need several documents: it is shown passages of documents that share something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.evidence.answer_support import unsupported
from qagen_dagster.agents.questions.evidence.computation import described, wrong
from qagen_dagster.agents.questions.evidence.quote_search import QuoteFinder
from qagen_dagster.agents.questions.evidence.submission_check import fault_of_wording, pointer
from qagen_dagster.agents.questions.evidence.widening import widened
from qagen_dagster.agents.runner import call_summaries, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Finish, Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import Document
from qagen_dagster.records.questions.across import DocumentQuote, DraftAcross, SubmitAcross
from qagen_dagster.records.questions.results import CallSummary, Candidate, Evidence, RejectionReason
from qagen_dagster.toolkit.excerpt import Block, block, enclose, one_line, row

ROLE = "generator"
_LONGEST_ROW = 1_000


@dataclass(frozen=True)
class Member:
    """A document of a group: its record, its lines, and the (first, last) lines of the passages that are shown."""

    document: Document
    lines: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def title(self) -> str:
        return self.document.metadata.title or self.document.source


@dataclass(frozen=True)
class AcrossDrafts:
    """The candidates of one group, or why there is none. Those whose evidence check failed have a gate."""

    candidates: tuple[Candidate, ...]
    failure: str
    calls: tuple[CallSummary, ...]


def prompt() -> Prompt:
    return load_prompt("questions/across")


def propose(
    context: QAContext,
    model: Model,
    members: Sequence[Member],
    shared: Sequence[str],
    known: Sequence[str],
    wanted: int,
    sample: int,
) -> AcrossDrafts:
    """Ask for questions about a group of documents, the first of which is that of `context`. Raises ModelError."""
    told = False

    def reject_once(result: Record) -> None:
        nonlocal told
        found = [candidate_of(context, members, one) for one in SubmitAcross.model_validate(result).questions]
        faults = [
            f"question {at}: {one.gate_detail}" for at, one in enumerate(found, 1) if one.gate is not None
        ]
        if faults and not told:
            told = True
            raise ToolError(
                f"Not accepted: {'; '.join(faults)}. Correct these and submit all questions once more."
            )

    spec = AgentSpec(
        name="generator of questions across documents",
        role=ROLE,
        prompt=prompt(),
        tools=(),
        terminals=(Terminal("submit_across", SubmitAcross, reject_once, items="questions"),),
        limits=AgentLimits(max_turns=4),
    )
    values = context.task_values() | {
        "shared": one_line(", ".join(shared), 600) or "their subject",
        "documents": block(part for at, one in enumerate(members, 1) for part in (_shown(at, one), "")),
        "wanted": str(wanted),
        "known": block(f"- {one}" for one in known) or "(none yet)",
    }
    run = run_agent(spec, model, {}, values, sample=sample)
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, sample)
    if not isinstance(run.end, Finish):
        return AcrossDrafts((), str(run.end), calls)
    drafts = SubmitAcross.model_validate(run.end.result).questions[:wanted]
    return AcrossDrafts(tuple(candidate_of(context, members, one) for one in drafts), "", calls)


def candidate_of(context: QAContext, members: Sequence[Member], draft: DraftAcross) -> Candidate:
    """The draft as a candidate, with each quote in the words of its document, and its fault if it has one."""
    places = [_place(members, quote.document, quote) for quote in draft.evidence]
    found = [one for one in places if one is not None]
    fault = _fault(context, draft, places, members)
    return Candidate(
        question=" ".join(draft.question.split()),
        answer=draft.answer.strip(),
        evidence=tuple(dict.fromkeys(found)),
        question_type=draft.kind.value,
        gate=None if fault is None else fault[0],
        gate_detail="" if fault is None else fault[1],
        computation=described(draft.computation) if draft.computation else "",
    )


def _place(members: Sequence[Member], number: int, quote: DocumentQuote) -> Evidence | None:
    """The quote in the document with this number. That of the first document names none, as all evidence of its questions."""
    if number > len(members):
        return None
    one = members[number - 1]
    found = QuoteFinder(one.document, one.lines).find(quote)
    if found is None:
        return None
    return widened(one.lines, found).model_copy(
        update={"document_id": one.document.id if number > 1 else None}
    )


def _fault(
    context: QAContext, draft: DraftAcross, places: Sequence[Evidence | None], members: Sequence[Member]
) -> tuple[RejectionReason, str] | None:
    if words := pointer(draft.question):
        return (
            RejectionReason.NOT_SELF_CONTAINED,
            f"the question says {words!r}, but its reader does not know which text is meant",
        )
    if None in places:
        number = places.index(None) + 1
        return (
            RejectionReason.EVIDENCE_NOT_FOUND,
            f"quote {number} of {len(places)} is not in its document as one piece",
        )
    whole = [one for one in places if one is not None]
    if len({one.document_id for one in whole}) < 2:
        return RejectionReason.NOT_MULTI_HOP, "all quotes are of one document"
    if wording := fault_of_wording(context, draft.question, whole):
        return RejectionReason.IRRELEVANT, wording
    text = "\n".join((*(one.quote for one in whole), *(one.title for one in members)))
    if draft.computation is not None:
        if why := wrong(draft.computation, draft.answer, f"{text}\n{draft.question}"):
            return RejectionReason.ANSWER_NOT_SUPPORTED, why
        text = f"{text}\n{described(draft.computation)}"
    why = unsupported(draft.question, draft.answer, text, "comparison")
    return None if why is None else (RejectionReason.ANSWER_NOT_SUPPORTED, why)


def _shown(number: int, one: Member) -> Block:
    passages = [
        row(at, line, _LONGEST_ROW)
        for first, last in one.spans
        for at, line in enumerate(one.lines[first - 1 : last], first)
    ]
    return block([f"Document {number}", enclose([f"title: {one_line(one.title, 300)}", *passages])])
