"""The state machine of the batch strategy on one document: ask for many questions, then work on them one by one.

Several questions may be answered in one request, so that the document is shown once for all of them.

The order follows "QAGRedo Algorithm Report", sections 2.5, 2.6 and 3.4. A question with a finished answer then goes through the checks
of the agent strategy. BatchState contains the state of these checks. Only `next_step` uses the target and the limits. `transition`
does not, so a journal can be resumed with a higher target.
"""

from collections import Counter

from qagen_dagster.agents.next_step import GiveUpReason, ended_by
from qagen_dagster.agents.questions.batch import questioner
from qagen_dagster.agents.questions.batch.answerer import OF_QUESTION
from qagen_dagster.agents.questions.batch.shown_text import ROUNDS
from qagen_dagster.agents.questions.validator import Pair, decided_by_code
from qagen_dagster.english.facts import facts, missing_amounts, missing_dates, missing_names
from qagen_dagster.english.words import content_stems
from qagen_dagster.loop.questions import state as qa
from qagen_dagster.loop.questions import state_machine
from qagen_dagster.loop.questions.batch import state as batch
from qagen_dagster.loop.questions.state import Step as QAStep
from qagen_dagster.loop.questions.stopping import MOST, BatchLimits, Wanted, end_of_failures
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.grading import AnswerGrade
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import Candidate, DocumentEnd, RejectionReason

_JUDGED = "a judge found a claim in it that the document does not bear out: check every number, name, condition and step"


def waiting_drafts(state: batch.BatchState) -> list[batch.Draft]:
    """The questions whose work has not begun."""
    return [one for one in state.drafts if one.number not in state.taken]


def for_answerer(
    state: batch.BatchState, missing: dict[QuestionType, int], most: int = MOST
) -> tuple[batch.Draft, ...]:
    """The next waiting questions without an answer, at most `most`. All of them were written from the same parts of the document.

    Of each type, at most the missing number and a few in reserve are taken.
    """
    left = _with_reserve(missing)
    found: list[batch.Draft] = []
    for one in waiting_drafts(state):
        if one.number in state.prepared or not left.get(one.question_type, 0) or len(found) == most:
            continue
        if not found or one.parts == found[0].parts:
            left[one.question_type] -= 1
            found.append(one)
    return tuple(found)


def for_validator(
    state: batch.BatchState, candidate: Candidate, missing: dict[QuestionType, int], most: int = MOST
) -> tuple[str, ...]:
    """The question of the candidate, and further questions that the validator answers in the same request.

    If the candidate is rechecked after a change of the document, the further questions are the others to recheck. Otherwise they are
    waiting questions with an answer, as many as `for_answerer` would choose. No question names the answer to another question.
    """
    found = [candidate]
    left = Counter({kind.value: count for kind, count in _with_reserve(missing).items()})
    left[candidate.question_type] -= 1
    for one in _following(state):
        unwanted = one.gate is RejectionReason.UNANSWERABLE or left[one.question_type] <= 0
        if state.qa.recheck or not unwanted:
            left[one.question_type] -= _join(found, one, state, most)
    return tuple(one.question for one in found)


def _following(state: batch.BatchState) -> list[Candidate]:
    """The candidates that wait for the validator: the others to recheck, or the waiting questions with their answers."""
    prepared = (state.prepared.get(draft.number) for draft in waiting_drafts(state))
    again = [one.candidate for one in state.qa.recheck[1:]]
    return again if state.qa.recheck else [one for one in prepared if one is not None]


def for_comparison(state: batch.BatchState, candidate: Candidate, most: int = MOST) -> tuple[Candidate, ...]:
    """At most `most` candidates whose answers are compared in one request: `candidate`, and following candidates with a blind answer.

    Empty if the candidate needs no comparison.
    """
    if not _is_to_compare(state, candidate):
        return ()
    others = (one for one in _following(state) if not one.gate and _is_to_compare(state, one))
    return (candidate, *others)[:most]


def _is_to_compare(state: batch.BatchState, one: Candidate) -> bool:
    pair = pair_of(state, one)
    return pair is not None and pair.key not in state.compared and decided_by_code(pair, Mode.TEXTUAL) is None


def pair_of(state: batch.BatchState, one: Candidate) -> Pair | None:
    """The candidate with the blind answer to its question; None if no request with several questions gave an answer."""
    blind = state.blind.get(one.question)
    return None if blind is None else Pair(one, blind, rule_of(one))


def rule_of(one: Candidate) -> str:
    """The rule of the candidate's type. Empty for single facts, because a proven answer states the fact."""
    return "" if one.question_type == QuestionType.FACTUAL.value else questioner.rule_of(one.question_type)


def _join(found: list[Candidate], one: Candidate, state: batch.BatchState, most: int) -> bool:
    """Add the candidate if its question can be asked with the others. Returns whether it was added."""
    excluded = one.question in state.blind or any(_share_chain(one, other) for other in found)
    if not excluded and len(found) < most:
        found.append(one)
        return True
    return False


def _with_reserve(missing: dict[QuestionType, int]) -> dict[QuestionType, int]:
    return {kind: count + questioner.reserve(count) for kind, count in missing.items()}


def _share_chain(one: Candidate, other: Candidate) -> bool:
    """Whether one candidate's question names the other's answer."""
    return _names_answer(one.question, other) or _names_answer(other.question, one)


def _names_answer(question: str, asked: Candidate) -> bool:
    """Whether `question` contains much of the new content in the answer of `asked`.

    At least half of the names, numbers and dates, or more than half of the words, is much. So one name of a long list is not enough.
    """
    added = set(content_stems(asked.answer)) - set(content_stems(asked.question))
    repeated = added & set(content_stems(question))
    new = _new_facts(asked.answer, asked.question)
    left = new & _new_facts(asked.answer, question)
    return 2 * len(repeated) > len(added) or (bool(new) and 2 * len(left) <= len(new))


def _new_facts(answer: str, question: str) -> set[str]:
    """The names, numbers and dates of an answer that the question does not have, as they are written."""
    of_answer, of_question = facts(answer), facts(question)
    return {
        *missing_names(of_answer, of_question),
        *(
            one.text
            for one in (*missing_amounts(of_answer, of_question), *missing_dates(of_answer, of_question))
        ),
    }


NO_ANSWER = "the answerer gave no answer"


def next_step(state: batch.BatchState, limits: BatchLimits, wanted: Wanted) -> batch.Step:
    """The next step. Work that has begun on a question is finished before the next question."""
    if state.qa.current is not None or state.qa.recheck:
        step = state_machine.next_step(state.qa, limits)
        return _check(state, step, missing_of(state, wanted), limits.fit.smaller(state.fit).blind)
    if state.current is not None:
        return _on_current(state.current, limits)
    missing = missing_of(state, wanted)
    if not missing:
        return qa.Done(end=DocumentEnd.TARGET_REACHED)
    ended = end_of_failures(state.qa, limits)
    if ended is not None:
        return ended
    draft = next((one for one in waiting_drafts(state) if one.question_type in missing), None)
    if draft is not None:
        return _begin(draft, state, missing, limits.fit.smaller(state.fit).answers)
    open_types = tuple((kind, count) for kind, count in missing.items() if kind not in state.not_possible)
    if not open_types:
        return qa.Done(
            end=DocumentEnd.EXHAUSTED_REPORTED, detail="the generator found no material for the missing types"
        )
    most = limits.fit.smaller(state.fit).questions
    if state.rounds - state.forgiven_rounds >= ROUNDS + (limits.target_count - 1) // most:
        return qa.Done(end=DocumentEnd.MAX_ATTEMPTS, detail=f"{state.rounds} rounds of questions")
    return batch.Ask(round=state.rounds + 1, wanted=open_types, most=most)


def transition(state: batch.BatchState, event: batch.BatchEvent) -> batch.BatchState:
    """The state after `event`. Raises ValueError for an event that does not fit the state."""
    match event:
        case batch.Asked():
            return _asked(state, event)
        case batch.QuestionGraded():
            return _question_graded(state, event)
        case batch.Rewritten():
            return _rewritten(_current(state, event), state, event)
        case batch.Answered():
            current = _with_prepared(_current(state, event))
            done = batch.Try(candidate=event.candidate, failure=event.failure)
            return _with(state, current.model_copy(update={"tries": (*current.tries, done)}))
        case batch.Prepared() | batch.BlindAnswered():
            return _answered_ahead(state, event)
        case batch.Reanswered():
            return _reanswered(state, event)
        case batch.AnswerGraded():
            return _answer_graded(_with_prepared(_current(state, event)), state, event)
        case qa.Proposed():
            return _settled(_with_prepared(_current(state, event)), state, event)
        case qa.Carried() | qa.Compared() | qa.Judged() | qa.Controlled():
            return state.model_copy(update={"qa": state_machine.transition(state.qa, event)})


def _answered_ahead(state: batch.BatchState, event: batch.Prepared | batch.BlindAnswered) -> batch.BatchState:
    fit = state.fit.smaller(event.fit)
    if isinstance(event, batch.BlindAnswered):
        known = {"blind": state.blind | event.answers, "compared": state.compared | event.comparisons}
        return state.model_copy(update={**known, "guesses": state.guesses | event.guesses, "fit": fit})
    prepared = {one.number: one.candidate for one in event.answers}
    return state.model_copy(update={"prepared": state.prepared | prepared, "fit": fit})


def replay(
    events: tuple[batch.BatchEvent, ...], limits: BatchLimits, wanted: Wanted
) -> tuple[batch.BatchState, int]:
    """As `replay` in `loop/questions/state_machine.py`."""
    state = batch.BatchState()
    for taken, event in enumerate(events):
        state = ask_again(state, limits, wanted)
        if isinstance(next_step(state, limits, wanted), qa.Done):
            return state, taken
        state = transition(state, event)
    return ask_again(state, limits, wanted), len(events)


def ask_again(state: batch.BatchState, limits: BatchLimits, wanted: Wanted) -> batch.BatchState:
    """As `ask_again` in `loop/questions/state_machine.py`."""
    step = next_step(state, limits, wanted)
    if not isinstance(step, qa.Done) or not state_machine.is_useless(state.qa, step):
        return state
    again = batch.BatchState(
        qa=state_machine.forgiven(state.qa), drafts=state.drafts, parts=state.parts, fit=state.fit
    )
    kept = {"rounds": state.rounds, "forgiven_rounds": state.rounds, "prepared": state.prepared}
    return again.model_copy(update=kept)


def missing_of(state: batch.BatchState, wanted: Wanted) -> dict[QuestionType, int]:
    """The number of missing accepted questions by type, without complete types."""
    have = Counter(one.candidate.question_type for one in state.qa.accepted)
    return {kind: count - have[kind.value] for kind, count in wanted if count > have[kind.value]}


def _check(state: batch.BatchState, step: QAStep, missing: dict[QuestionType, int], most: int) -> batch.Step:
    """The next check of a candidate. Before the validator judges the candidate, it answers the question blind together with other
    questions, and then compares the answers together with other answers."""
    if not isinstance(step, (qa.Dedupe, qa.Validate, qa.Mend)):
        raise ValueError("the candidate waits for no check")
    if not isinstance(step, qa.Validate):
        return step
    if step.candidate.question not in state.blind:
        asked = for_validator(state, step.candidate, missing, most)
        return batch.AnswerBlind(questions=asked, attempt=step.attempt) if len(asked) > 1 else step
    found = for_comparison(state, step.candidate, most)
    return batch.CompareAnswers(candidates=found, attempt=step.attempt) if len(found) > 1 else step


def _begin(
    waiting: batch.Draft, state: batch.BatchState, missing: dict[QuestionType, int], most: int
) -> batch.Step:
    """Begin the work on a question. If other questions can be answered with it, first answer all of them in one request."""
    asked = for_answerer(state, missing, most) if waiting.number not in state.prepared else ()
    if len(asked) > 1:
        return batch.Prepare(drafts=asked)
    return batch.GradeQuestion(draft=waiting, question=waiting.question)


def _on_current(current: batch.Current, limits: BatchLimits) -> batch.Step:
    if current.tries:
        return _on_answer(current, limits)
    last, options = current.versions[-1], limits.options
    if last.grade is None:
        return batch.GradeQuestion(draft=current.draft, question=last.question)
    best = _best_version(current)
    least = options.min_question_confidence
    fault = batch.fault_of(best.grade, least, whole=False) if best.grade is not None else None
    if fault is not None and current.rewrites < options.question_regenerations:
        return batch.Rewrite(current=current, question=best.question, reason=fault)
    ready = _with_prepared(current)
    if ready.tries:
        return _on_answer(ready, limits)
    return batch.Answer(current=current, question=best.question, rejected=())


def _with_prepared(current: batch.Current) -> batch.Current:
    """The question with its prepared answer as the first attempt. If the question was rewritten, the prepared answer is not used."""
    unused = current.prepared is None or current.tries
    if unused or _best_version(current).question != current.draft.question:
        return current
    return current.model_copy(update={"tries": (batch.Try(candidate=current.prepared),)})


def _on_answer(current: batch.Current, limits: BatchLimits) -> batch.Step:
    last = current.tries[-1]
    if last.candidate is not None and last.candidate.gate is None and last.grade is None:
        return batch.GradeAnswer(current=current, candidate=last.candidate)
    fault = _fault_of_try(last, limits)
    if fault is None or (last.candidate and last.candidate.gate is RejectionReason.UNANSWERABLE):
        return batch.Settle(candidate=_candidate_of(last, None))
    if last.candidate is not None and last.candidate.gate in OF_QUESTION:
        if current.rewrites < limits.options.question_regenerations:
            why = fault or "it cannot be asked as it is worded"
            return batch.Rewrite(current=current, question=last.candidate.question, reason=why, drop=True)
        return batch.Settle(candidate=last.candidate)
    did_not_fit = ended_by(last.failure, GiveUpReason.OUTPUT_LIMIT)
    if not did_not_fit and len(current.tries) <= limits.options.answer_regenerations:
        rejected = tuple((one.candidate.answer, _told(one, limits)) for one in current.tries if one.candidate)
        return batch.Answer(current=current, question=_best_version(current).question, rejected=rejected)
    best = max(current.tries, key=lambda one: batch.rank_of(one.grade))
    if best.candidate is None:
        return batch.Settle(candidate=_unanswered(current, best.failure))
    publish = limits.options.publish_ungrounded
    return batch.Settle(candidate=_candidate_of(best, None if publish else _fault_of_try(best, limits)))


def _told(one: batch.Try, limits: BatchLimits) -> str:
    """The message to the answerer about a refused answer, without the judge's words, because these may state what the document says."""
    judged = one.grade is not None and one.grade.llm_verdict is not None
    return _JUDGED if judged else _fault_of_try(one, limits) or ""


def _fault_of_try(one: batch.Try, limits: BatchLimits) -> str | None:
    if one.candidate is None:
        return one.failure or NO_ANSWER
    if one.candidate.gate is not None:
        return one.candidate.gate_detail
    if one.grade is None:
        return None
    least, computed = limits.options.min_answer_confidence, bool(one.candidate.computation)
    return batch.fault_of(one.grade, least, computed=computed)


def _candidate_of(one: batch.Try, ungrounded: str | None) -> Candidate:
    if one.candidate is None:
        raise ValueError("there is no answer to check")
    if one.candidate.gate is not None or ungrounded is None:
        return one.candidate
    return one.candidate.model_copy(update={"gate": RejectionReason.UNGROUNDED, "gate_detail": ungrounded})


def _unanswered(current: batch.Current, failure: str) -> Candidate:
    fault = RejectionReason.GENERATION_FAILED, failure or NO_ANSWER
    return Candidate.of(_best_version(current).question, "", (), current.draft.question_type.value, fault)


def _best_version(current: batch.Current) -> batch.Version:
    """The wording with the best grade; the first such wording if grades are equal."""
    return max(current.versions, key=lambda one: batch.rank_of(one.grade))


def _asked(state: batch.BatchState, event: batch.Asked) -> batch.BatchState:
    _expect(state.current is None and state.qa.current is None, event)
    questions = state.qa
    is_smaller = event.fit.questions < state.fit.questions  # the next request asks for fewer questions
    if event.failure and not is_smaller:
        questions = state_machine.transition(questions, qa.GenerationFailed(reason=event.failure))
    duplicates = tuple(
        qa.Rejected(
            candidate=Candidate.of(one.draft.question, "", (), one.draft.question_type.value, None),
            attempt=0,
            reason=RejectionReason.DUPLICATE,
            detail=one.detail,
            duplicate_of=one.of,
            duplicate_score=one.score,
            duplicate_step=one.step,
        )
        for one in event.repeats
    )
    return state.model_copy(
        update={
            "qa": questions.model_copy(
                update={
                    "rejected": (*questions.rejected, *duplicates),
                    "compared_count": questions.compared_count + len(duplicates),
                }
            ),
            "drafts": (*state.drafts, *event.drafts),
            "rounds": state.rounds + 1,
            "forgiven_rounds": state.forgiven_rounds + is_smaller,
            "fit": state.fit.smaller(event.fit),
            "not_possible": state.not_possible
            | {one.question_type: one.reason for one in event.not_possible},
            "parts": tuple(sorted({*state.parts, *event.parts})),
        }
    )


def _question_graded(state: batch.BatchState, event: batch.QuestionGraded) -> batch.BatchState:
    _expect(state.qa.current is None, event)
    current = state.current
    if current is None:
        draft = next((one for one in waiting_drafts(state) if one.number == event.number), None)
        if draft is None:
            raise ValueError(f"there is no question {event.number} waiting")
        first = batch.Version(question=draft.question, grade=event.grade)
        fresh = batch.Current(draft=draft, versions=(first,), prepared=state.prepared.get(draft.number))
        taken = (*state.taken, draft.number)
        return state.model_copy(update={"current": fresh, "taken": taken})
    _expect(current.draft.number == event.number and current.versions[-1].grade is None, event)
    graded = current.versions[-1].model_copy(update={"grade": event.grade})
    return _with(state, current.model_copy(update={"versions": (*current.versions[:-1], graded)}))


def _rewritten(current: batch.Current, state: batch.BatchState, event: batch.Rewritten) -> batch.BatchState:
    _expect(current.versions[-1].grade is not None, event)
    fresh = (batch.Version(question=event.question),) if event.question else ()
    refused = (*current.refused, (event.refused, event.failure)) if event.refused else current.refused
    update: dict[str, object] = {"versions": (*current.versions, *fresh), "rewrites": current.rewrites + 1}
    if event.dropped and fresh:
        refused = (*refused, (_best_version(current).question, event.dropped))
        update |= {"versions": fresh, "tries": (), "prepared": None}
    return _with(state, current.model_copy(update=update | {"refused": refused}))


def _answer_graded(
    current: batch.Current, state: batch.BatchState, event: batch.AnswerGraded
) -> batch.BatchState:
    _expect(bool(current.tries) and current.tries[-1].grade is None, event)
    last = current.tries[-1].model_copy(update={"grade": event.grade})
    return _with(state, current.model_copy(update={"tries": (*current.tries[:-1], last)}))


def _settled(current: batch.Current, state: batch.BatchState, event: qa.Proposed) -> batch.BatchState:
    _expect(bool(current.tries), event)
    chosen = event.candidate
    grade = next(
        (
            one.grade
            for one in reversed(current.tries)
            if one.grade is not None and one.candidate is not None and one.candidate.answer == chosen.answer
        ),
        None,
    )
    graded = _graded(state, chosen, grade)
    return state.model_copy(
        update={"qa": state_machine.transition(state.qa, event), "current": None, "graded": graded}
    )


def _reanswered(state: batch.BatchState, event: batch.Reanswered) -> batch.BatchState:
    graded = _graded(state, event.mended.candidate, event.grade)
    return state.model_copy(update={"qa": state_machine.transition(state.qa, event.mended), "graded": graded})


def _graded(
    state: batch.BatchState, one: Candidate | None, grade: AnswerGrade | None
) -> tuple[batch.Graded, ...]:
    if one is None or grade is None:
        return state.graded
    return (*state.graded, batch.Graded(question=one.question, answer=one.answer, grade=grade))


def _with(state: batch.BatchState, current: batch.Current) -> batch.BatchState:
    return state.model_copy(update={"current": current})


def _current(state: batch.BatchState, event: batch.BatchEvent) -> batch.Current:
    if state.current is None:
        raise ValueError(f"{event.kind} without a current question")
    return state.current


def _expect(holds: bool, event: batch.BatchEvent) -> None:
    if not holds:
        raise ValueError(f"{event.kind} does not fit the current state")
