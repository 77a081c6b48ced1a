"""The generator of questions that the corpus does not answer: several kinds in one call, each with its nearest passages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.evidence.answer_support import unsupported
from qagen_dagster.agents.questions.evidence.submission_check import Fault, fault_of_question, fault_of_quotes
from qagen_dagster.agents.questions.evidence.widening import widened
from qagen_dagster.agents.questions.generator import Drafts, ask, listed, refused
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.spec import Terminal
from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.polarity import negates
from qagen_dagster.english.words import content_stems
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.questions.no_answer import DraftNoAnswer, NoAnswer, ReadingProof, SubmitNoAnswer
from qagen_dagster.records.questions.results import Candidate, RejectionReason
from qagen_dagster.toolkit.excerpt import block, one_line

SPARE = 1  # extra questions of each kind, because each new round shows the document again
FEWEST_READINGS = 2


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
    """Ask for the `wanted` number of questions of each kind, and SPARE more. `round_` counts from 1. Raises ModelError."""
    values = context.task_values(writes=True) | {
        "wanted": block(f"- {kind.value}: {count + SPARE}" for kind, count in wanted.items()),
        "known": listed(known),
        "rejected": refused(rejected),
    }

    def candidates_of(result: Record) -> list[Candidate]:
        return [candidate_of(context, one) for one in SubmitNoAnswer.model_validate(result).questions]

    terminal = Terminal("submit_no_answer", SubmitNoAnswer, items="questions")
    what = "questions without an answer"
    drafts = ask(what, prompt(), terminal, context, model, values, candidates_of, round_, explores=True)
    left = Counter({kind.value: count + SPARE for kind, count in wanted.items()})
    found: list[Candidate] = []
    for one in drafts.candidates:
        if left[one.question_type]:
            left[one.question_type] -= 1
            found.append(one)
    return replace(drafts, candidates=tuple(found))


def candidate_of(context: QAContext, draft: DraftNoAnswer) -> Candidate:
    """The draft as a candidate, with its quotes in the words of the document, and with its fault, if any."""
    quotes = (*draft.evidence, *(one.evidence for one in draft.readings))
    places = [context.evidence.find(quote) for quote in quotes]
    found = [widened(context.view.lines, one) for one in places if one is not None]
    fault = (
        fault_of_question(context, draft.question, [])
        or fault_of_quotes(places, lambda at: context.evidence.disagreement(quotes[at]))
        or _fault(draft, "\n".join(one.quote for one in found))
    )
    readings = tuple(
        ReadingProof(
            question=one.question,
            answer=one.answer,
            quote=one.evidence.quote if place is None else place.quote,
            start_line=None if place is None else place.start_line,
        )
        for one, place in zip(draft.readings, places[len(draft.evidence) :], strict=True)
    )
    claim = NoAnswer(kind=draft.kind, reason=one_line(draft.reason, 1_000), readings=readings)
    return Candidate.of(draft.question, draft.answer, found, draft.kind.value, fault, no_answer=claim)


def _fault(draft: DraftNoAnswer, quoted: str) -> Fault | None:
    if draft.kind is NoAnswerKind.FALSE_PREMISE:
        why = unsupported(draft.question, draft.answer, quoted, draft.kind.value) or _uncorrected(draft)
        return (RejectionReason.ANSWER_NOT_SUPPORTED, why) if why else None
    return _fault_of_readings(draft) if draft.kind is NoAnswerKind.UNDERSPECIFIED else None


def _uncorrected(draft: DraftNoAnswer) -> str:
    """The fault that the answer to a false premise only repeats the question. Empty if the answer corrects the premise."""
    answered, asked = {*content_stems(draft.answer)}, {*content_stems(draft.question)}
    if not answered <= asked or negates(draft.answer) != negates(draft.question):
        return ""
    return (
        "the answer says only what the question says: say what is true instead of what it takes for granted"
    )


def _fault_of_readings(draft: DraftNoAnswer) -> Fault | None:
    if len(draft.readings) < FEWEST_READINGS:
        return RejectionReason.ANSWER_NOT_SUPPORTED, "an underspecified question needs two readings"
    first, *others = draft.readings
    if any(match(first.answer, one.answer) is Match.SAME for one in others):
        return RejectionReason.ANSWER_NOT_SUPPORTED, "two readings have the same answer"
    for one in draft.readings:
        if why := unsupported(one.question, one.answer, one.evidence.quote, "factual"):
            return RejectionReason.ANSWER_NOT_SUPPORTED, f"reading {one.question!r}: {why}"
    return None
