"""The model checks of a candidate in its document: a comparison with the accepted questions, a blind answer, and the last checks.

The last checks are for candidates that the validator accepts: a multi-hop question must need its passages, a visual question its picture,
and every question its document. Each passage of a multi-hop question is hidden in turn. A visual question is answered again from the text
alone. A candidate that passed everything else is answered once more without the document.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from qagen_dagster.agents import evaluation
from qagen_dagster.agents.answering import AnswerRun, Excerpt, answer_from_excerpts
from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.questions.batch import questioner
from qagen_dagster.agents.questions.evidence import computation
from qagen_dagster.agents.questions.evidence.widening import head_of_table
from qagen_dagster.agents.runner import call_summaries
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.english.amounts import amounts
from qagen_dagster.english.answers import Match, match
from qagen_dagster.grounding.no_claim import says_nothing
from qagen_dagster.loop.questions.document_work import RULES, DocumentWork, QAModels
from qagen_dagster.loop.questions.duplicates import similarity as dedupe
from qagen_dagster.loop.questions.fingerprint import has_text_control, has_types
from qagen_dagster.loop.questions.state import Compared, Controlled, Dedupe, Judged, QAState, Validate
from qagen_dagster.loop.questions.state_machine import is_malformed
from qagen_dagster.models.base import Model
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason
from qagen_dagster.records.questions.submissions import BlindAnswer, Comparison
from qagen_dagster.records.run import CallSummary


def same_fact(
    step: Validate, work: DocumentWork, models: QAModels, given: str
) -> tuple[bool, str, tuple[CallSummary, ...]]:
    """Returns (same, failure, calls). `same` is whether `given` means the same as the proposed answer.

    A model decides if code cannot. `failure` is the reason why the model did not decide. Raises ModelError.
    """
    candidate, model = step.candidate, models.judge or models.validator
    role = validator.ROLE if models.judge is None else Role.JUDGE.value
    alike = match(given, candidate.answer)
    if alike in (Match.SAME, Match.CONFLICT):
        return alike is Match.SAME, "", ()
    run = evaluation.marking(model, role, candidate.question, candidate.answer, given)
    calls = call_summaries(run.responses, role, model.spec, work.context.view.document.id, step.attempt)
    if isinstance(run.end, Finish):
        return evaluation.Mark.model_validate(run.end.result).right, "", calls
    return False, str(run.end), calls


def without_document(
    step: Validate, work: DocumentWork, models: QAModels, judged: Judged, guess: str = ""
) -> Judged:
    """Let the validator answer an accepted candidate without the document, unless `guess` is already that answer. If the answer is
    the proposed one, the question is trivial. Raises ModelError."""
    context, found, asked = work.context, judged.verdict, step.candidate.question
    if found is None or validator.rejection(found) is not None or not context.scenario.closed_book:
        return judged
    made = validator.Replies({asked: guess})
    if not guess:
        made = validator.guess(context, models.validator, (asked,), step.attempt)
    same, failure, calls, guessed = False, made.failure, made.calls, made.found.get(asked, "").strip()
    if guessed and not says_nothing(guessed):
        same, failure, more = same_fact(step, work, models, guessed)
        calls = (*calls, *more)
    judged = judged.model_copy(update={"calls": (*judged.calls, *calls)})
    if is_malformed(failure):
        return judged.model_copy(update={"verdict": None, "failure": failure})
    why = {"explanation": f"without the document the validator answered {guessed[:300]!r}"} if same else {}
    verdict = found.model_copy(update={"non_trivial": None if failure else not same, **why})
    return judged.model_copy(update={"verdict": verdict})


_SEVERAL = frozenset(
    (QuestionType.MULTI_HOP, QuestionType.COMPARISON, QuestionType.AGGREGATION, QuestionType.SYNTHESIS)
)
_NEEDED = 2  # minimum number of passages that a multi-hop question must need
_NAME = re.compile(r"(?<=\s)[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*)*")  # "the Orrin Bay ferry" has one
_OF_VALUES = frozenset((QuestionType.COMPARISON, QuestionType.AGGREGATION))


def control(
    step: Validate, work: DocumentWork, models: QAModels, judged: Judged | Controlled
) -> Judged | Controlled:
    """Reject an accepted candidate that needs fewer than _NEEDED of its passages. Raises ModelError.

    No model is asked, and the candidate passes, if its type needs no control, if its evidence is one passage, or if code computed the
    result of a comparison or total from several items and no quote states this result. It also passes if only one passage is needed, but
    this passage may hold everything to compare or add.
    """
    places = step.candidate.evidence
    passages = _passages(work, places)
    if (
        isinstance(judged, Controlled)
        or judged.verdict is None
        or validator.rejection(judged.verdict) is not None
    ):
        return judged
    if not applies(work, step.candidate.question_type) or len(passages) < _NEEDED:
        return judged
    if _is_worked_out(step.candidate):
        return judged
    needed: list[set[int]] = []
    found_without = ""
    for hidden in passages:
        found = _without(step, work, models, hidden)
        submitted = found.submitted
        same, failure, calls = False, found.failure, found.calls
        if submitted is not None and submitted.answerable:
            same, failure, more = same_fact(step, work, models, submitted.answer)
            found_without, calls = submitted.answer if same else found_without, (*calls, *more)
        judged = judged.model_copy(update={"calls": (*judged.calls, *calls)})
        if is_malformed(failure):
            return judged.model_copy(update={"verdict": None, "failure": failure})
        needed += [] if same else [hidden]
        if len(needed) == _NEEDED:
            return judged
    if len(needed) == 1 and _holds_both_sides(step.candidate, needed[0]):
        return judged
    few = (
        f"{len(needed)} of the quoted passages is needed: without the others the validator answered {found_without[:300]!r}"
        if needed
        else f"each of the quoted passages alone is enough for the answer {found_without[:300]!r}"
    )
    return Controlled.of(judged, RejectionReason.NOT_MULTI_HOP, few)


def applies(work: DocumentWork, question_type: str) -> bool:
    """Whether questions of this type must need several passages. In visual mode no question must, because pictures cannot be hidden."""
    return work.context.mode is Mode.TEXTUAL and question_type in _SEVERAL


def _is_worked_out(candidate: Candidate) -> bool:
    """Whether code computed the result of a comparison or a total from several items, and no quote states this result."""
    steps, _, result = candidate.computation.rpartition("=")
    results = {abs(one.value) for one in amounts(result)}
    stated = {abs(one.value) for place in candidate.evidence for one in amounts(place.quote)}
    several = computation.BETWEEN in steps
    return candidate.question_type in _OF_VALUES and several and bool(results) and not results & stated


def _holds_both_sides(candidate: Candidate, passage: set[int]) -> bool:
    """Whether the passage alone may hold everything to compare or add: two values that the question lacks, or two names of the question."""
    text = " ".join(" ".join(candidate.evidence[number].quote.split()) for number in passage)
    values = {one.value for one in amounts(text)} - {one.value for one in amounts(candidate.question)}
    names = {name for name in _NAME.findall(candidate.question) if name in text}
    return candidate.question_type in _OF_VALUES and max(len(values), len(names)) >= _NEEDED


def _passages(work: DocumentWork, places: Sequence[Evidence]) -> list[set[int]]:
    """The passages, each as the numbers of its quotes. Each quote is a passage, but all quotes of one table are one passage."""
    lines = work.context.view.lines
    heads = [None if one.start_line is None else head_of_table(lines, one.start_line) for one in places]
    found: dict[tuple[int, int], set[int]] = {}
    for number, place in enumerate(places):
        own = (place.start_line or 0, place.end_line or 0)
        above = next((head for head in heads if head and own[0] <= head[1] and head[0] <= own[1]), None)
        found.setdefault(heads[number] or above or (-1, number), set()).add(number)
    return list(found.values())


def _without(step: Validate, work: DocumentWork, models: QAModels, hidden: set[int]) -> AnswerRun:
    """The validator's answer from the other passages."""
    others = [place for number, place in enumerate(step.candidate.evidence) if number not in hidden]
    # The numbers have no gap, because a gap would show the validator that a passage is hidden.
    view = work.context.view
    heads = [view.section_at(place.start_line) if place.start_line else None for place in others]
    shown = [
        Excerpt(number, place.start_line, place.quote, head.title if head else "")
        for number, (place, head) in enumerate(zip(others, heads, strict=True), 1)
    ]
    document = view.document
    return answer_from_excerpts(
        models.validator,
        step.candidate.question,
        document.metadata.title,
        shown,
        document_id=document.id,
        role=validator.ROLE,
        attempt=step.attempt,
    )


_REASON = RejectionReason.ANSWERABLE_FROM_TEXT


def judge(
    step: Validate,
    state: QAState,
    work: DocumentWork,
    models: QAModels,
    writer: Model,
    found: validator.Replies[BlindAnswer] | None,
    rule: str | None = None,
    compared: Comparison | None = None,
    guess: str = "",
) -> Judged | Controlled:
    """Let the validator judge the current candidate, and apply the controls if it passes. With the scenario's text control, the validator
    checks that the question needs a picture. It judges the question's type by `rule`; if that is None, by the type's rule, and only if the
    scenario's mix counts types. Raises ModelError.

    `found` has the validator's blind answer, `compared` its comparison, and `guess` its answer without the document; the validator is asked
    for those that are missing. A refused candidate may be corrected if the `writer` writes text.
    """
    first = state.first
    if found is None and first is not None and first.question == step.candidate.question:
        # a mended candidate: the ledger replays the earlier blind answer
        found = replace(answer_blind(step, work, models), calls=())
    if rule is None:
        typed = has_types(work.context.scenario)
        rule = questioner.rule_of(step.candidate.question_type) if typed else ""
    context, model = work.context, models.validator
    found = found or answer_blind(step, work, models)
    event = validator.judge(context, model, step.candidate, step.attempt, rule, found, compared)
    if has_text_control(context.scenario, context.mode, model.spec) and context.view.has_text:
        event = _answered_from_text(step, work, models, event, looked=found.looked)
    event = control(step, work, models, event)
    if isinstance(event, Controlled):
        return event
    judged = without_document(step, work, models, event, guess)
    can_correct = writer.spec.provider != RULES
    return judged.model_copy(update={"may_mend": True}) if can_correct else judged


def _answered_from_text(
    step: Validate, work: DocumentWork, models: QAModels, judged: Judged, *, looked: bool
) -> Judged | Controlled:
    """Reject an accepted candidate if the validator has not `looked` at a picture, or gives the same answer without pictures. Raises
    ModelError."""
    if judged.verdict is None or validator.rejection(judged.verdict) is not None:
        return judged
    if not looked:
        return Controlled.of(judged, _REASON, "the validator found the answer without looking at a picture")
    textual = replace(work, context=replace(work.context, mode=Mode.TEXTUAL))
    found = answer_blind(step, textual, models)
    blind = found.found.get(step.candidate.question)
    same, failure, calls, textual_answer = False, found.failure, found.calls, ""
    if blind is not None and blind.answerable and blind.answer.strip():
        textual_answer = blind.answer
        same, failure, more = same_fact(step, work, models, textual_answer)
        calls = (*calls, *more)
    judged = judged.model_copy(update={"calls": (*judged.calls, *calls)})
    if is_malformed(failure):
        return judged.model_copy(update={"verdict": None, "failure": failure})
    why = f"without pictures the validator answered {textual_answer[:300]!r}"
    return Controlled.of(judged, _REASON, why) if same else judged


def compare(
    step: Dedupe,
    state: QAState,
    work: DocumentWork,
    models: QAModels,
    before_asking: Callable[[], None] = lambda: None,
) -> Compared:
    """Compare the candidate with the accepted questions of its document. If a model decides, `before_asking` runs first.

    Raises ModelError.
    """
    known = [dedupe.Known(one.candidate.question, one.candidate.answer) for one in state.accepted]
    new = dedupe.Known(step.candidate.question, step.candidate.answer)
    found = dedupe.links(new, known, models.encode)
    if dedupe.undecided(found):
        before_asking()
    document = work.context.view.document.id
    return dedupe.decide(models.deduplicator, new, known, found, document_id=document, attempt=step.attempt)


def answer_blind(
    step: Dedupe | Validate, work: DocumentWork, models: QAModels
) -> validator.Replies[BlindAnswer]:
    """The validator's own answer to the question. Raises ModelError."""
    return validator.answer_blind(work.context, models.validator, (step.candidate.question,), step.attempt)
