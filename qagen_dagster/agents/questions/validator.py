"""The validator first answers the question blind with the document's tools, then compares the answers and judges.

The blind step never sees the proposed answer, the evidence, the type of the question, or the scenario's personas. Several questions can
be answered blind in one request, so that the document is shown once.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal

from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.evidence.quote_search import skeleton
from qagen_dagster.agents.runner import AgentRun, call_summaries, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Finish, Terminal, without_tools
from qagen_dagster.english.answers import contradiction, equal
from qagen_dagster.errors import RequestRefusedError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, digest
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.batch import SubmitAnswers
from qagen_dagster.records.questions.submissions import (
    BlindAnswer,
    Comparison,
    EvidenceQuote,
    JudgingAnswer,
    TypedComparison,
)
from qagen_dagster.toolkit.excerpt import Block, block, one_line, shown_label

ROLE = "validator"


class Judged(Record):
    """The verdict of the validator, or in `failure` why there is none. `may_mend`: the generator is able to correct the candidate."""

    kind: Literal["judged"] = "judged"
    verdict: results.VerdictRecord | None
    failure: str = ""
    may_mend: bool = False
    calls: tuple[results.CallSummary, ...] = ()


@dataclass(frozen=True)
class BlindFinding:
    """The blind answer, or the reason why there is none."""

    answer: BlindAnswer | None
    failure: str
    calls: tuple[results.CallSummary, ...]
    looked: bool = False  # whether the model asked to see a picture


@dataclass(frozen=True)
class TypeRule:
    """The question type that was asked for, and the rule by which the comparison judges it: the values of `type_prompt`."""

    question_type: str
    type_means: str
    type_asks: str
    type_fails: str


def blind_prompt(mode: Mode) -> Prompt:
    return load_prompt(f"questions/validator_{mode.value}")


def compare_prompt() -> Prompt:
    return load_prompt("questions/validator_compare")


def type_prompt() -> Prompt:
    """The addition before the user part of `compare_prompt`, for a question whose type has a rule."""
    return load_addition("questions/validator_type")


def answer_record(mode: Mode) -> type[BlindAnswer]:
    """The record that the blind step submits. The blind step also judges textual questions, because it is told their purpose. A visual
    question is judged by the model that compares the answers.
    """
    return JudgingAnswer if mode is Mode.TEXTUAL else BlindAnswer


def answer_blind(context: QAContext, model: Model, question: str, attempt: int) -> BlindFinding:
    """Answer a question from the document. Raises ModelError."""
    terminal = Terminal("submit_answer", answer_record(context.mode))
    run, calls = run_blind(context, model, blind_prompt(context.mode), question, terminal, attempt)
    if not isinstance(run.end, Finish):
        return BlindFinding(None, str(run.end), calls)
    looked = any(call.name == "view_page" for call in run.used)
    answer = answer_record(context.mode).model_validate(run.end.result)
    return BlindFinding(answer, "", calls, looked)


def run_blind(
    context: QAContext,
    model: Model,
    prompt: Prompt,
    question: str,
    terminal: Terminal,
    attempt: int,
    *,
    tools: bool = True,
) -> tuple[AgentRun, tuple[results.CallSummary, ...]]:
    """Run the validator on a question, by default with the document's tools. Returns the run and its calls. Raises ModelError."""
    spec = AgentSpec(
        name=f"{context.mode.value} blind answerer",
        role=ROLE,
        prompt=prompt,
        tools=tuple(context.tools) if tools else (),
        terminals=(terminal,),
        limits=AgentLimits(max_turns=25, max_tool_calls=50),
    )
    values = {"document_card": context.document_card(), "question": question}
    values |= context.task_values() if context.mode is Mode.TEXTUAL else {}
    begin = partial(run_agent, spec, model, context.tools, values, sample=attempt)
    openings = context.openings(model.spec)[: None if tools else 1]
    run = first_that_fits(partial(begin, opening=opening) for opening in openings)
    return run, call_summaries(run, ROLE, model.spec, context.view.document.id, attempt)


def judge(
    context: QAContext,
    model: Model,
    candidate: results.Candidate,
    attempt: int,
    rule: TypeRule | None = None,
    found: BlindFinding | None = None,
) -> Judged:
    """Answer blind unless `found` is the blind answer, then compare the answers, and check the `rule` of the question's type, if any.

    A model compares the answers, except in three cases: the blind step found no answer; the answers contradict each other, which code
    tests for textual questions without a computation; without a `rule`, the answers are equal, the blind step found no fault in the
    question, and all its passages are in the evidence. Raises ModelError.
    """
    found = found or answer_blind(context, model, candidate.question, attempt)
    blind = found.answer
    if blind is None:
        return Judged(verdict=None, failure=found.failure, calls=found.calls)
    decided = _decided_by_code(candidate, blind, rule, context.mode)
    if decided is None:
        return _compare(context, model, candidate, blind, attempt, rule, found.calls)
    return Judged(verdict=_verdict(candidate, blind, attempt, decided), calls=found.calls)


def _decided_by_code(
    candidate: results.Candidate,
    blind: BlindAnswer,
    rule: TypeRule | None,
    mode: Mode,
) -> dict[str, object] | None:
    """The criteria and the explanation of a verdict that needs no comparison by a model; None if a model must compare."""
    if not blind.answerable or not blind.answer.strip():
        return {
            **dict.fromkeys(("matches", "relevant")),
            "answerable": False,
            "unambiguous": blind.unambiguous,
            "premise_holds": blind.premise_holds,
            "explanation": blind.note or "the validator found no answer in the document",
        }
    # Two readers may read slightly different values from a picture, or round a computed value differently.
    comparable = mode is Mode.TEXTUAL and not candidate.computation
    fault = contradiction(candidate.answer, blind.answer) if comparable else ""
    if fault:
        return {
            **dict.fromkeys(("supported", "self_contained", "relevant")),
            "answerable": True,
            "matches": False,
            "unambiguous": blind.unambiguous,
            "premise_holds": None if blind.note.startswith(results.BY_READER) else blind.premise_holds,
            "explanation": f"{results.BY_CODE}: {fault}",
        }
    proven = bool(blind.evidence) and not _other_quotes(candidate, blind)
    if rule is None and proven and _faultless(blind) and equal(candidate.answer, blind.answer):
        return {
            **dict.fromkeys(("answerable", *Comparison.model_fields), True),
            "explanation": "code found the two answers equal and the validator's passages in the evidence, "
            "and the validator found no fault in the question",
        }
    return None


def _verdict(
    candidate: results.Candidate, blind: BlindAnswer, attempt: int, found: dict[str, object]
) -> results.VerdictRecord:
    """The verdict with the criteria and the explanation in `found`."""
    about = {"attempt": attempt, "question": candidate.question, "proposed_answer": candidate.answer}
    return results.VerdictRecord.model_validate({**about, "blind_answer": blind.answer, **found})


def _compare(
    context: QAContext,
    model: Model,
    candidate: results.Candidate,
    blind: BlindAnswer,
    attempt: int,
    rule: TypeRule | None,
    calls: tuple[results.CallSummary, ...],
) -> Judged:
    terminal = Terminal("submit_comparison", Comparison if rule is None else TypedComparison)
    asked = compare_prompt() if rule is None else type_prompt().before(compare_prompt())
    spec = without_tools("answer comparer", ROLE, asked, terminal)
    values = context.task_values() | (asdict(rule) if rule is not None else {})
    values |= {
        "mode": context.mode.value,
        "question": candidate.question,
        "proposed_answer": candidate.answer,
        "own_answer": blind.answer,
        "evidence": _evidence(context, candidate),
        "own_evidence": _own_evidence(candidate, blind),
        "own_finding": _finding(blind),
        "document": one_line(context.view.document.metadata.title or context.view.document.source, 200),
    }
    run = run_agent(spec, model, {}, values, sample=attempt)
    calls += call_summaries(run, ROLE, model.spec, context.view.document.id, attempt)
    if not isinstance(run.end, Finish):
        return Judged(verdict=None, failure=f"comparison: {run.end}", calls=calls)
    found = Comparison.model_validate(run.end.result)
    other = (
        "" if getattr(found, "of_type", True) or rule is None else f"it is no {rule.question_type} question: "
    )
    judged: dict[str, object] = {
        **found.model_dump(exclude={"of_type"}),
        "answerable": True,
        "unambiguous": found.unambiguous and (blind.unambiguous or found.matches),
        "relevant": found.relevant and not other,
        "premise_holds": found.premise_holds and (blind.premise_holds or found.matches),
        "explanation": f"{other}{found.explanation}",
    }
    return Judged(verdict=_verdict(candidate, blind, attempt, judged), calls=calls)


def _numbered(quotes: list[tuple[str, str]]) -> Block:
    """The quotes with their places, one per line, with numbers."""
    return block(
        f"[{number}]{f' {place}:' if place else ''} {one_line(quote, 1500)}"
        for number, (quote, place) in enumerate(quotes, 1)
    )


def _evidence(context: QAContext, candidate: results.Candidate) -> Block:
    places = _numbered([(place.quote, _place(context, place)) for place in candidate.evidence])
    checked = f"Computed by code from these: {one_line(candidate.computation, 1500)}"
    return block([places, checked]) if candidate.computation else places


def _place(context: QAContext, place: results.Evidence) -> str:
    """The line, the section and the visual of a quote."""
    section = context.view.section_at(place.start_line) if place.start_line else None
    where = [
        f"line {place.start_line}" if place.start_line else "",
        f'in "{one_line(section.title, 60)}"' if section else "",
        shown_label(place.visual) if place.visual else "",
    ]
    return ", ".join(filter(None, where))


def _other_quotes(candidate: results.Candidate, blind: BlindAnswer) -> list[EvidenceQuote]:
    """The validator's quotes that the candidate's evidence does not show."""
    shown = " ".join(skeleton(place.quote).text for place in candidate.evidence)
    return [quote for quote in blind.evidence if skeleton(quote.quote).text not in shown]


def _own_evidence(candidate: results.Candidate, blind: BlindAnswer) -> str:
    """The validator's quotes, without those that the candidate's evidence already shows."""
    other = _other_quotes(candidate, blind)
    if not other:
        return "(all of it stands above)" if blind.evidence else "(none given)"
    note = [] if len(other) == len(blind.evidence) else ["(without passages that stand above)"]
    own = [(quote.quote, f"line {quote.start_line}" if quote.start_line else "") for quote in other]
    return block([*note, _numbered(own)])


def _finding(blind: BlindAnswer) -> str:
    clear = "unambiguous" if blind.unambiguous else "ambiguous"
    premise = (
        "" if blind.premise_holds else ", takes for granted what the document denies or calls only likely"
    )
    return f"answerable, {clear}{premise}. {blind.note}".strip()


def _faultless(blind: BlindAnswer) -> bool:
    """Whether the blind step judged the question, by all criteria that need no proposed answer, and found no fault."""
    return (
        isinstance(blind, JudgingAnswer)
        and blind.premise_holds
        and blind.unambiguous
        and blind.self_contained
        and blind.relevant
    )


def rejection(verdict: results.VerdictRecord) -> tuple[results.RejectionReason, str] | None:
    """The failed check that explains most; None if none failed. A criterion that was not judged has not failed."""
    own = f"the validator answered {verdict.blind_answer[:300]!r}: {verdict.explanation}"
    checks = (
        (verdict.premise_holds, results.RejectionReason.FALSE_PREMISE, own),
        (verdict.answerable, results.RejectionReason.UNANSWERABLE, verdict.explanation),
        (verdict.self_contained, results.RejectionReason.NOT_SELF_CONTAINED, verdict.explanation),
        (verdict.unambiguous, results.RejectionReason.AMBIGUOUS, own),
        (verdict.matches, results.RejectionReason.WRONG_ANSWER, own),
        (verdict.supported, results.RejectionReason.ANSWER_NOT_SUPPORTED, verdict.explanation),
        (verdict.non_trivial, results.RejectionReason.TRIVIAL, verdict.explanation),
        (verdict.relevant, results.RejectionReason.IRRELEVANT, verdict.explanation),
    )
    return next(((reason, detail) for passed, reason, detail in checks if passed is False), None)


@dataclass(frozen=True)
class BlindAnswers:
    """The blind answers by question. A question without a blind answer is left out."""

    answers: dict[str, JudgingAnswer]
    calls: tuple[results.CallSummary, ...]
    was_cut: bool = False  # cut off at the output limit


def blind_many_prompt() -> Prompt:
    """The addition before the user part of the validator's textual prompt, for several questions."""
    return load_addition("questions/batch/blind_many")


def answer_all_blind(
    context: QAContext, model: Model, questions: Sequence[str], attempt: int
) -> BlindAnswers:
    """Answer questions that may be asked together. Raises ModelError.

    A model that does not see the whole document in its first message is not asked, because it searches for each question separately.
    """
    if not context.opens_whole(model.spec):
        return BlindAnswers({}, ())
    shuffled = sorted(questions, key=lambda one: digest(context.view.document.id, one))
    asked = block(f"{number}. {one}" for number, one in enumerate(shuffled, 1))
    prompt = blind_many_prompt().before(blind_prompt(Mode.TEXTUAL))
    terminal = Terminal("submit_answers", SubmitAnswers, items="answers")
    tools = not context.shows_all(model.spec)
    try:
        run, calls = run_blind(context, model, prompt, asked, terminal, attempt, tools=tools)
    except RequestRefusedError:  # probably too long; a question alone can be asked with a smaller part
        if len(context.openings(model.spec)) == 1:
            raise
        return BlindAnswers({}, ())
    given = SubmitAnswers.model_validate(run.end.result).answers if isinstance(run.end, Finish) else ()
    found = {
        shuffled[one.number - 1]: JudgingAnswer.model_validate(one.model_dump(exclude={"number"}))
        for one in given
        if one.number <= len(shuffled)
    }
    return BlindAnswers(found, calls, run.was_cut)
