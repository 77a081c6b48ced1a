"""The generator of questions that the corpus does not answer: several kinds in one call, each with its nearest passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.evidence.answer_support import unsupported
from qagen_dagster.agents.questions.evidence.submission_check import fault_of_wording, pointer
from qagen_dagster.agents.questions.evidence.widening import widened
from qagen_dagster.agents.runner import call_summaries, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Finish, Terminal
from qagen_dagster.english.answers import Match, match
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_config import NoAnswerKind
from qagen_dagster.records.questions.no_answer import DraftNoAnswer, NoAnswer, ReadingProof, SubmitNoAnswer
from qagen_dagster.records.questions.results import CallSummary, Candidate, Evidence, RejectionReason
from qagen_dagster.toolkit.excerpt import block, one_line

ROLE = "generator"
SPARE = 1  # questions of each kind beyond those that are wanted: each new round shows the document again
FEWEST_READINGS = 2


@dataclass(frozen=True)
class Drafts:
    """The candidates of one round, or why there is none. A candidate whose evidence check failed has a gate."""

    candidates: tuple[Candidate, ...]
    failure: str
    calls: tuple[CallSummary, ...]


def prompt() -> Prompt:
    return load_prompt("questions/no_answer")


def propose(
    context: QAContext,
    model: Model,
    wanted: Mapping[NoAnswerKind, int],
    known: Sequence[str],
    rejected: Sequence[tuple[str, str]],
    round_: int,
) -> Drafts:
    """Ask for so many questions of each kind, in round `round_` from 1. Raises ModelError."""
    check = _Check(context)
    whole = context.shows_all(model.spec)
    spec = AgentSpec(
        name="generator of questions without an answer",
        role=ROLE,
        prompt=prompt(),
        tools=() if whole else tuple(context.tools),
        terminals=(Terminal("submit_no_answer", SubmitNoAnswer, check.reject_once, items="questions"),),
        limits=AgentLimits(max_turns=40, max_tool_calls=80),
    )
    values = context.task_values() | {
        "document_card": context.document_card(),
        "wanted": block(f"- {kind.value}: {count + SPARE}" for kind, count in wanted.items()),
        "known": block(f"- {one}" for one in known) or "(none yet)",
        "rejected": block(line for one, why in rejected for line in (f"- {one}", f"  {one_line(why, 400)}"))
        or "(none yet)",
    }
    begin = partial(run_agent, spec, model, {} if whole else context.tools, values, sample=round_)
    run = first_that_fits(partial(begin, opening=opening) for opening in context.openings(model.spec))
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, round_)
    if not isinstance(run.end, Finish):
        return Drafts((), str(run.end), calls)
    drafts = SubmitNoAnswer.model_validate(run.end.result).questions
    left = {kind: count + SPARE for kind, count in wanted.items()}
    found: list[Candidate] = []
    for one in drafts:
        if left.get(one.kind, 0):
            left[one.kind] -= 1
            found.append(candidate_of(context, one))
    return Drafts(tuple(found), "", calls)


def candidate_of(context: QAContext, draft: DraftNoAnswer) -> Candidate:
    """The draft as a candidate, with its quotes in the words of the document, and its fault if it has one."""
    readings = [one.evidence for one in draft.readings]
    places = [context.evidence.find(quote) for quote in (*draft.evidence, *readings)]
    found = [widened(context.view.lines, one) for one in places if one is not None]
    fault = _fault(draft, places, "\n".join(one.quote for one in found))
    wording = fault_of_wording(context, draft.question, [])
    fault = fault or ((RejectionReason.IRRELEVANT, wording) if wording else None)
    return Candidate(
        question=" ".join(draft.question.split()),
        answer=draft.answer.strip(),
        evidence=tuple(dict.fromkeys(found)),
        question_type=draft.kind.value,
        gate=None if fault is None else fault[0],
        gate_detail="" if fault is None else fault[1],
        no_answer=NoAnswer(
            kind=draft.kind,
            reason=one_line(draft.reason, 1_000),
            readings=tuple(
                ReadingProof(
                    question=one.question,
                    answer=one.answer,
                    quote=one.evidence.quote if place is None else place.quote,
                    start_line=None if place is None else place.start_line,
                )
                for one, place in zip(draft.readings, places[len(draft.evidence) :], strict=True)
            ),
        ),
    )


def _fault(
    draft: DraftNoAnswer, places: Sequence[Evidence | None], quoted: str
) -> tuple[RejectionReason, str] | None:
    if words := pointer(draft.question):
        why = f"the question says {words!r}, but its reader does not know which text is meant"
        return RejectionReason.NOT_SELF_CONTAINED, why
    if None in places:
        number = places.index(None) + 1
        return (
            RejectionReason.EVIDENCE_NOT_FOUND,
            f"quote {number} of {len(places)} is not in the document as one piece",
        )
    if draft.kind is NoAnswerKind.FALSE_PREMISE:
        why = unsupported(draft.question, draft.answer, quoted, draft.kind.value)
        return None if why is None else (RejectionReason.ANSWER_NOT_SUPPORTED, why)
    if draft.kind is NoAnswerKind.UNDERSPECIFIED:
        return _fault_of_readings(draft)
    return None


def _fault_of_readings(draft: DraftNoAnswer) -> tuple[RejectionReason, str] | None:
    if len(draft.readings) < FEWEST_READINGS:
        return RejectionReason.ANSWER_NOT_SUPPORTED, "an underspecified question needs two readings"
    first, *others = draft.readings
    if any(match(first.answer, one.answer) is Match.SAME for one in others):
        return RejectionReason.ANSWER_NOT_SUPPORTED, "two readings have the same answer"
    for one in draft.readings:
        if why := unsupported(one.question, one.answer, one.evidence.quote, "factual"):
            return RejectionReason.ANSWER_NOT_SUPPORTED, f"reading {one.question!r}: {why}"
    return None


class _Check:
    """Tells the model the faults of its first submission. Later submissions pass, and their faults reject them."""

    def __init__(self, context: QAContext) -> None:
        self._context, self._told = context, False

    def reject_once(self, result: Record) -> None:
        found = [candidate_of(self._context, one) for one in SubmitNoAnswer.model_validate(result).questions]
        faults = [
            f"question {at}: {one.gate_detail}" for at, one in enumerate(found, 1) if one.gate is not None
        ]
        if faults and not self._told:
            self._told = True
            raise ToolError(
                f"Not accepted: {'; '.join(faults)}. Correct these and submit all questions once more."
            )
