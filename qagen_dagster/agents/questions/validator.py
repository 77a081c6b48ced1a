"""The validator first answers questions blind with the document's tools, then compares the answers and judges.

The blind step never sees a proposed answer, its evidence, the type of the question, or the scenario's personas. Each of the two steps takes
one or several questions in one request, so that the document and the instructions are shown once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from qagen_dagster.agents import evaluation
from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt
from qagen_dagster.agents.questions.evidence.quote_search import skeleton
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.runner import call_summaries, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Terminal, without_tools
from qagen_dagster.english.answers import contradiction, equal
from qagen_dagster.errors import RequestRefusedError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, digest
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.submissions import (
    BlindAnswer,
    Comparison,
    EvidenceQuote,
    JudgingAnswer,
    NumberedComparison,
    NumberedFinding,
    NumberedJudgement,
    SubmitAnswers,
    SubmitComparisons,
    SubmitSeenAnswers,
)
from qagen_dagster.toolkit.excerpt import Block, block, one_line, shown_label

ROLE = "validator"
_Asked = TypeVar("_Asked")
_Reply = TypeVar("_Reply")
_Given = TypeVar(
    "_Given", bound=NumberedComparison | NumberedFinding | NumberedJudgement | evaluation.NumberedGuess
)


class Judged(Record):
    """The verdict of the validator, or in `failure` the reason why there is none. `may_mend`: the generator may correct the candidate."""

    kind: Literal["judged"] = "judged"
    verdict: results.VerdictRecord | None
    failure: str = ""
    may_mend: bool = False
    calls: tuple[results.CallSummary, ...] = ()


@dataclass(frozen=True)
class Replies(Generic[_Reply]):
    """The replies about several items, by item. Missing replies are left out. `failure` is the reason if there is no reply."""

    found: Mapping[str, _Reply]
    calls: tuple[results.CallSummary, ...] = ()
    failure: str = ""
    was_cut: bool = False  # at the output limit
    looked: bool = False  # whether the model asked to see a picture


@dataclass(frozen=True)
class Pair:
    """A candidate and the blind answer to its question. `rule` states what its type means; empty if the type is not judged."""

    candidate: results.Candidate
    blind: BlindAnswer
    rule: str

    @property
    def key(self) -> str:
        """A hash of the candidate."""
        return digest(self.candidate.model_dump_json())


def blind_prompt(mode: Mode) -> Prompt:
    return load_prompt(f"questions/validator_{mode.value}")


def compare_prompts() -> tuple[Prompt, Prompt]:
    """The prompt of the comparison, and its part for one pair of answers."""
    return load_prompt("questions/validator_compare"), load_addition("questions/validator_pair")


def answer_blind(
    context: QAContext, model: Model, questions: Sequence[str], attempt: int
) -> Replies[BlindAnswer]:
    """Answer questions from the document. The caller passes several questions only if they may be asked together. Raises ModelError.

    The blind step also judges textual questions, because its prompt states their purpose. Visual questions are judged by the model that
    compares the answers. Several questions get no answers if the first message does not show the whole document, or is refused as too
    long, because the model would have to search for each question separately.
    """
    several, form = len(questions) > 1, SubmitAnswers if context.mode is Mode.TEXTUAL else SubmitSeenAnswers
    if several and not context.opens_whole(model.spec):
        return Replies({})
    asked = sorted(questions, key=lambda one: digest(context.view.document.id, one))
    terminal = Terminal("submit_answers", form, items="answers" if several else "")
    name, limits = f"{context.mode.value} blind answerer", AgentLimits(max_turns=25, max_tool_calls=50)
    spec = AgentSpec(name, ROLE, blind_prompt(context.mode), (), (terminal,), limits)
    shown = block(f"{number}. {one}" for number, one in enumerate(asked, 1)) if several else asked[0]
    values = {"question": shown} | (context.task_values() if context.mode is Mode.TEXTUAL else {})
    try:
        run = context.explore(spec, model, values, attempt, most=1 if several else None)
    except RequestRefusedError:
        if not several or len(context.openings(model.spec)) == 1:
            raise
        return Replies({})
    calls = call_summaries(run.responses, ROLE, model.spec, context.view.document.id, attempt)
    if not isinstance(run.end, Finish):
        return Replies({}, calls, str(run.end), run.was_cut)
    kind = JudgingAnswer if context.mode is Mode.TEXTUAL else BlindAnswer
    replies = _by_number(asked, form.model_validate(run.end.result).answers)
    found = {question: kind(**one.shared(kind)) for question, one in replies}
    looked = any(call.name == "view_page" for call in run.used)
    return Replies(found, calls, was_cut=run.was_cut, looked=looked)


def judge(
    context: QAContext,
    model: Model,
    candidate: results.Candidate,
    attempt: int,
    rule: str = "",
    found: Replies[BlindAnswer] | None = None,
    compared: Comparison | None = None,
) -> Judged:
    """Answer blind unless `found` has the blind answer, then compare the answers unless `compared` has the comparison. With a `rule`, the
    comparison also checks the type of the question. Raises ModelError.

    No model compares the answers if the blind step found no answer, or if the answers contradict each other (code tests this for textual
    questions without a computation). Without a `rule`, no model compares them in one more case: they are equal, the blind step found no
    fault in the question, and all passages of the blind step are in the evidence.
    """
    found = found or answer_blind(context, model, (candidate.question,), attempt)
    blind = found.found.get(candidate.question)
    if blind is None:
        return Judged(verdict=None, failure=found.failure, calls=found.calls)
    pair, calls = Pair(candidate, blind, rule), found.calls
    decided = decided_by_code(pair, context.mode)
    if decided is None and compared is None:
        made = compare(context, model, (pair,), attempt)
        calls, compared = (*calls, *made.calls), made.found.get(pair.key)
        if compared is None:
            return Judged(verdict=None, failure=f"comparison: {made.failure}", calls=calls)
    if decided is None and compared is not None:
        decided = _by_comparison(pair, compared)
    about = {"attempt": attempt, "question": candidate.question, "proposed_answer": candidate.answer}
    verdict = results.VerdictRecord.model_validate({**about, "blind_answer": blind.answer, **(decided or {})})
    return Judged(verdict=verdict, calls=calls)


def decided_by_code(pair: Pair, mode: Mode) -> dict[str, object] | None:
    """The criteria and the explanation of a verdict that needs no comparison by a model; None if a model must compare the answers."""
    candidate, blind = pair.candidate, pair.blind
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
    if not pair.rule and proven and _faultless(blind) and equal(candidate.answer, blind.answer):
        return {
            **dict.fromkeys({"answerable", *Comparison.model_fields} - {"of_type"}, True),
            "explanation": "code found the two answers equal and the validator's passages in the evidence, "
            "and the validator found no fault in the question",
        }
    return None


def _by_comparison(pair: Pair, found: Comparison) -> dict[str, object]:
    """The criteria of a verdict by a comparison, and its explanation."""
    blind, kind = pair.blind, pair.candidate.question_type
    other = f"it is no {kind} question: " if pair.rule and not found.of_type else ""
    return {
        **found.model_dump(exclude={"of_type"}),
        "answerable": True,
        "unambiguous": found.unambiguous and (blind.unambiguous or found.matches),
        "relevant": found.relevant and not other,
        "premise_holds": found.premise_holds and (blind.premise_holds or found.matches),
        "explanation": f"{other}{found.explanation}",
    }


def compare(context: QAContext, model: Model, pairs: Sequence[Pair], attempt: int) -> Replies[Comparison]:
    """Let the model compare the answers of each pair and judge the questions, in one request. Raises ModelError."""
    terminal = Terminal(
        "submit_comparisons", SubmitComparisons, items="comparisons" if len(pairs) > 1 else ""
    )
    spec = without_tools("answer comparer", ROLE, compare_prompts()[0], terminal)
    rules = dict.fromkeys(one.rule for one in pairs if one.rule)
    values = context.task_values() | {
        "mode": context.mode.value,
        "document": one_line(context.view.document.metadata.title or context.view.document.source, 200),
        "types": block(rules) or "(none)",
        "pairs": block(_shown(context, number, one) for number, one in enumerate(pairs, 1)),
    }
    run = run_agent(spec, model, {}, values, sample=attempt)
    calls = call_summaries(run.responses, ROLE, model.spec, context.view.document.id, attempt)
    if not isinstance(run.end, Finish):
        return Replies({}, calls, str(run.end))
    replies = _by_number(pairs, SubmitComparisons.model_validate(run.end.result).comparisons)
    return Replies({pair.key: Comparison(**one.shared(Comparison)) for pair, one in replies}, calls)


def guess(context: QAContext, model: Model, questions: Sequence[str], attempt: int) -> Replies[str]:
    """Answer questions without the document, in one request. Raises ModelError."""
    run = evaluation.guessing(model, ROLE, questions, context.corpus.corpus_context)
    calls = call_summaries(run.responses, ROLE, model.spec, context.view.document.id, attempt)
    if not isinstance(run.end, Finish):
        return Replies({}, calls, str(run.end))
    guesses = evaluation.SubmittedGuesses.model_validate(run.end.result.model_dump()).answers
    return Replies({question: one.answer for question, one in _by_number(questions, guesses)}, calls)


def _by_number(asked: Sequence[_Asked], given: Sequence[_Given]) -> list[tuple[_Asked, _Given]]:
    """The items that were asked, each with its reply. A single item may have any number."""
    if len(asked) == 1:
        return [(asked[0], given[0])]
    return [(asked[one.number - 1], one) for one in given if one.number <= len(asked)]


def _shown(context: QAContext, number: int, pair: Pair) -> Block:
    candidate, blind = pair.candidate, pair.blind
    values = {
        "number": str(number),
        "type": candidate.question_type if pair.rule else "(none)",
        "question": candidate.question,
        "proposed_answer": candidate.answer,
        "own_answer": blind.answer,
        "evidence": _evidence(context, candidate),
        "own_evidence": _own_evidence(candidate, blind),
        "own_finding": _finding(blind),
    }
    return Block(f"{compare_prompts()[1].fill(values)[1]}\n")


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
