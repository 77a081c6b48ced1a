from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.questions.batch.state import (
    Answer,
    AnswerBlind,
    Answered,
    AnswerGraded,
    Ask,
    Asked,
    BatchEvent,
    BatchState,
    BlindAnswered,
    Draft,
    DuplicateDraft,
    GradeAnswer,
    GradeQuestion,
    Prepare,
    Prepared,
    PreparedAnswer,
    QuestionGraded,
    Reanswered,
    Rewrite,
    Rewritten,
    Settle,
    Step,
)
from qagen_dagster.loop.questions.batch.state_machine import ROUNDS, missing_of, next_step, replay, transition
from qagen_dagster.loop.questions.state import (
    Carried,
    Compared,
    Dedupe,
    Done,
    Judged,
    Kept,
    Mend,
    Mended,
    Proposed,
    Recheck,
    Validate,
)
from qagen_dagster.loop.questions.stopping import BatchLimits, Wanted
from qagen_dagster.records.corpus_options import BatchOptions, QuestionType
from qagen_dagster.records.grading import AnswerGrade, JudgeVerdict, Method, Verdict
from qagen_dagster.records.questions.batch import NotPossible
from qagen_dagster.records.questions.results import Candidate, RejectionReason, RetiredQA, VerdictRecord

KINDS = (QuestionType.CAUSAL, QuestionType.TEMPORAL, QuestionType.MULTI_HOP)
Choose = Callable[[int], int]  # a number below its argument


def limits_of(**options: object) -> BatchLimits:
    return BatchLimits(
        target_count=4,
        max_consecutive_failures=6,
        max_attempts=20,
        options=BatchOptions.model_validate(options),
        method=Method.HYBRID,
    )


def grade_of(level: int) -> AnswerGrade:
    """0: not measured; 1: far off; 2: nearly; 3: grounded."""
    confidence = (None, 0.1, 0.6, 0.9)[level]
    return AnswerGrade(
        is_grounded=None if confidence is None else level == 3, confidence=confidence, method="m"
    )


def verdict(passed: bool) -> VerdictRecord:
    return VerdictRecord(
        attempt=1, question="q", proposed_answer="a", blind_answer="b", answerable=True, matches=passed,
        non_trivial=True, unambiguous=True, relevant=True, explanation="",
    )  # fmt: skip


def event_for(step: Step, state: BatchState, choose: Choose) -> BatchEvent:
    """Some event that may follow a step."""
    match step:
        case Ask():
            return _asked(step, state, choose)
        case GradeQuestion():
            return QuestionGraded(number=step.draft.number, grade=grade_of(choose(4)))
        case Rewrite():
            question = "" if choose(2) else f"{step.question} anew?"
            return Rewritten(question=question, dropped=step.reason if step.drop else "")
        case Answer() | Prepare():
            return _answered(step, choose)
        case GradeAnswer():
            return AnswerGraded(grade=grade_of(choose(4)))
        case Settle():
            return Proposed(candidate=step.candidate)
        case Dedupe() | Validate() | AnswerBlind() | Mend():
            return _checked(step, choose)
        case Done():
            raise AssertionError("nothing follows the end")


def _checked(step: Dedupe | Validate | AnswerBlind | Mend, choose: Choose) -> BatchEvent:
    match step:
        case Dedupe():
            return Compared(duplicate_of=0 if choose(5) == 0 else None)
        case Validate():
            passed = None if (fate := choose(6)) == 0 else verdict(fate > 2)
            return Judged(verdict=passed, may_mend=choose(2) == 1)
        case AnswerBlind():
            assert len(set(step.questions)) == len(step.questions) > 1
            return BlindAnswered(answers=dict.fromkeys(step.questions))
        case Mend():
            corrected = step.candidate.model_copy(update={"answer": f"{step.candidate.answer}, corrected"})
            given = corrected if choose(3) else None
            return Reanswered(mended=Mended(candidate=given), grade=grade_of(3) if given else None)


def _asked(step: Ask, state: BatchState, choose: Choose) -> Asked:
    fate = choose(6)
    if fate == 0:
        return Asked(failure="no reply")
    gone = [NotPossible(question_type=step.wanted[0][0], reason="none")] if fate == 1 else []
    kinds = [KINDS[choose(len(KINDS))] for _ in range(choose(5))]
    drafts = [
        Draft(number=len(state.drafts) + place, question=f"q{len(state.drafts) + place}?", question_type=kind)
        for place, kind in enumerate(kinds, 1)
    ]
    repeats = [
        DuplicateDraft(
            draft=drafts[0].model_copy(update={"number": 99}),
            of="q?",
            detail="",
            score=0.9,
            step="similarity",
        )
        for _ in range(choose(2) if drafts else 0)
    ]
    return Asked(drafts=tuple(drafts), repeats=tuple(repeats), not_possible=tuple(gone))


def _answered(step: Answer | Prepare, choose: Choose) -> Answered | Prepared:
    if isinstance(step, Prepare):
        given = [_given(one.question, one.question_type.value, "together", choose) for one in step.drafts]
        pairs = zip(step.drafts, given, strict=True)
        return Prepared(answers=tuple(PreparedAnswer(number=one.number, candidate=it) for one, it in pairs))
    kind, tries = step.current.draft.question_type.value, len(step.current.tries)
    one = _given(step.question, kind, f"answer {tries}", choose)
    return Answered(candidate=one, failure="" if one else "silent")


def _given(question: str, kind: str, answer: str, choose: Choose) -> Candidate | None:
    fate = choose(6)
    if fate == 0:
        return None
    gates = {
        1: RejectionReason.UNANSWERABLE,
        2: RejectionReason.EVIDENCE_NOT_FOUND,
        3: RejectionReason.IRRELEVANT,
    }
    return Candidate(question=question, answer=answer, evidence=(), question_type=kind, gate=gates.get(fate))


def played(choose: Choose, limits: BatchLimits, wanted: Wanted) -> tuple[BatchState, Done, list[BatchEvent]]:
    state, events = BatchState(), list[BatchEvent]()
    while not isinstance(step := next_step(state, limits, wanted), Done):
        event = event_for(step, state, choose)
        events.append(event)
        state = transition(state, event)
        assert len(events) < 2_000
    return state, step, events


@st.composite
def pieces(draw: st.DrawFn) -> tuple[BatchState, Done, list[BatchEvent], Wanted, BatchLimits]:
    wanted = tuple((kind, draw(st.integers(1, 3))) for kind in KINDS[: draw(st.integers(1, 3))])
    options = {
        "question_regenerations": draw(st.integers(0, 2)),
        "answer_regenerations": draw(st.integers(0, 3)),
        "publish_ungrounded": draw(st.booleans()),
    }
    limits = limits_of(**options)
    random = draw(st.randoms(use_true_random=False))
    return *played(random.randrange, limits, wanted), wanted, limits


@given(pieces())
def test_it_always_ends_with_the_mix_or_less_of_it(
    piece: tuple[BatchState, Done, list[BatchEvent], Wanted, BatchLimits],
) -> None:
    state, done, events, wanted, limits = piece
    accepted = Counter(one.candidate.question_type for one in state.qa.accepted)
    assert all(accepted[kind.value] <= count for kind, count in wanted)
    assert set(accepted) <= {kind.value for kind, _ in wanted}
    assert (done.end.value == "target_reached") == (not missing_of(state, wanted))
    assert state.rounds <= ROUNDS
    assert state.qa.attempts <= limits.max_attempts
    assert sum(missing_of(state, wanted).values()) + len(state.qa.accepted) == sum(dict(wanted).values())
    by_draft = Counter(event.number for event in events if isinstance(event, QuestionGraded))
    assert all(count <= 1 + limits.options.question_regenerations for count in by_draft.values())


@given(pieces())
def test_an_ungrounded_answer_is_accepted_only_where_the_scenario_says_so(
    piece: tuple[BatchState, Done, list[BatchEvent], Wanted, BatchLimits],
) -> None:
    state, _, _, _, limits = piece
    grades = {(one.question, one.answer): one.grade for one in state.graded}
    ungrounded = [
        one
        for one in state.qa.accepted
        if grades[(one.candidate.question, one.candidate.answer)].is_grounded is False
    ]
    assert limits.options.publish_ungrounded or not ungrounded
    rejected = [one for one in state.qa.rejected if one.reason is RejectionReason.UNGROUNDED]
    assert not (limits.options.publish_ungrounded and rejected)
    assert all((one.candidate.question, one.candidate.answer) in grades for one in rejected)


@given(pieces())
def test_a_journal_restores_any_state(
    piece: tuple[BatchState, Done, list[BatchEvent], Wanted, BatchLimits],
) -> None:
    state, _, events, wanted, limits = piece
    assert replay(tuple(events), limits, wanted) == (state, len(events))
    more = tuple((kind, count + 1) for kind, count in wanted)
    grown, taken = replay(tuple(events), limits, more)
    assert (grown, taken) == (state, len(events))
    fewer = wanted[:1]
    small, used = replay(tuple(events), limits, fewer)
    assert used <= len(events)
    assert used == len(events) or isinstance(next_step(small, limits, fewer), Done)


def test_the_best_of_several_answers_is_settled_on() -> None:
    limits, wanted = limits_of(answer_regenerations=2), ((QuestionType.CAUSAL, 1),)
    draft = Draft(number=1, question="Why?", question_type=QuestionType.CAUSAL)
    state = transition(BatchState(), Asked(drafts=(draft,)))
    state = transition(state, QuestionGraded(number=1, grade=grade_of(3)))
    for number, level in enumerate((1, 2, 1)):
        step = next_step(state, limits, wanted)
        assert isinstance(step, Answer)
        assert [answer for answer, _ in step.rejected] == [f"answer {earlier}" for earlier in range(number)]
        state = transition(state, _answered(step, lambda _: 5))
        state = transition(state, AnswerGraded(grade=grade_of(level)))
    settled = next_step(state, limits, wanted)
    assert isinstance(settled, Settle)
    assert (settled.candidate.answer, settled.candidate.gate) == ("answer 1", RejectionReason.UNGROUNDED)
    assert settled.candidate.gate_detail.endswith("(every sentence must be grounded)")


def test_a_fault_of_the_question_is_mended_in_the_question_and_no_answer_is_asked_for_again() -> None:
    limits, wanted = limits_of(question_regenerations=1), ((KINDS[0], 1),)
    worded = Candidate(
        question="q1?",
        answer="a",
        evidence=(),
        question_type=KINDS[0].value,
        gate=RejectionReason.IRRELEVANT,
        gate_detail="too long",
    )
    draft = Draft(number=1, question="q1?", question_type=KINDS[0])
    state = BatchState()
    for event in (
        Asked(drafts=(draft,)),
        QuestionGraded(number=1, grade=grade_of(3)),
        Answered(candidate=worded),
    ):
        state = transition(state, event)
    step = next_step(state, limits, wanted)
    assert isinstance(step, Rewrite)
    assert (step.question, step.reason, step.drop) == ("q1?", "too long", True)
    kept = transition(state, Rewritten(question="", dropped="too long"))
    assert next_step(kept, limits, wanted) == Settle(candidate=worded)
    state = transition(state, Rewritten(question="q2?", dropped="too long"))
    assert state.current is not None
    assert (state.current.tries, state.current.refused) == ((), (("q1?", "too long"),))
    state = transition(state, QuestionGraded(number=1, grade=grade_of(0)))
    again = next_step(state, limits, wanted)
    assert isinstance(again, Answer)
    assert (again.question, again.rejected) == ("q2?", ())


def test_the_answerer_is_not_told_what_the_judge_found_instead() -> None:
    limits, wanted = limits_of(answer_regenerations=2), ((QuestionType.CAUSAL, 1),)
    draft = Draft(number=1, question="Why?", question_type=QuestionType.CAUSAL)
    state = transition(BatchState(), Asked(drafts=(draft,)))
    state = transition(state, QuestionGraded(number=1, grade=grade_of(3)))
    step = next_step(state, limits, wanted)
    assert isinstance(step, Answer)
    state = transition(state, _answered(step, lambda _: 5))
    said = JudgeVerdict(verdict=Verdict.NOT_SUPPORTED, confidence=0.9, reason="It has 43.")
    graded = grade_of(1).model_copy(update={"llm_verdict": said, "issues": ("It has 43.",)})
    again = next_step(transition(state, AnswerGraded(grade=graded)), limits, wanted)
    assert isinstance(again, Answer)
    assert "43" not in again.rejected[0][1]
    assert "a judge found a claim" in again.rejected[0][1]


def test_what_could_not_be_measured_is_not_held_against_an_answer() -> None:
    limits, wanted = limits_of(), ((QuestionType.CAUSAL, 1),)
    draft = Draft(number=1, question="Why?", question_type=QuestionType.CAUSAL)
    state = transition(BatchState(), Asked(drafts=(draft,)))
    state = transition(state, QuestionGraded(number=1, grade=grade_of(0)))
    step = next_step(state, limits, wanted)
    assert isinstance(step, Answer)
    state = transition(state, _answered(step, lambda _: 5))
    state = transition(state, AnswerGraded(grade=grade_of(0)))
    settled = next_step(state, limits, wanted)
    assert isinstance(settled, Settle)
    assert settled.candidate.gate is None


WAITING = transition(
    BatchState(), Asked(drafts=(Draft(number=1, question="Why?", question_type=QuestionType.CAUSAL),))
)
TAKEN = transition(WAITING, QuestionGraded(number=1, grade=grade_of(1)))
NOTHING = Candidate(question="", answer="", evidence=(), question_type="causal")


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (BatchState(), QuestionGraded(number=1, grade=grade_of(3))),
        (BatchState(), Answered(candidate=None)),
        (BatchState(), Proposed(candidate=NOTHING)),
        (BatchState(), Judged(verdict=None)),
        (WAITING, Rewritten(question="Why not?")),
        (WAITING, QuestionGraded(number=2, grade=grade_of(3))),
        (TAKEN, Asked()),
        (TAKEN, AnswerGraded(grade=grade_of(3))),
        (TAKEN, QuestionGraded(number=1, grade=grade_of(3))),
        (TAKEN, Proposed(candidate=NOTHING)),
        (TAKEN, Compared(duplicate_of=None)),
    ],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_an_event_out_of_place_is_an_error(state: BatchState, event: BatchEvent) -> None:
    with pytest.raises(ValueError, match=f"{event.kind} |there is no question"):
        transition(state, event)


@pytest.mark.parametrize("passed", [True, False])
def test_what_an_earlier_version_gave_counts_by_its_type(passed: bool) -> None:
    kept, doubtful = (
        Candidate(question=f"Question {kind}?", answer="1", evidence=(), question_type=kind)
        for kind in (QuestionType.CAUSAL, QuestionType.TEMPORAL)
    )
    lost = RetiredQA(
        id="q-2", question=doubtful.question, answer="1", question_type="temporal", source_document="d",
        document_id="d", reason=RejectionReason.EVIDENCE_NOT_FOUND, detail="", evidence=(),
    )  # fmt: skip
    carried = Carried(
        kept=(Kept(id="q-1", candidate=kept, attempt=7),),
        recheck=(Recheck(id="q-2", candidate=doubtful, otherwise=lost),),
    )
    wanted = tuple((kind, 1) for kind in KINDS)
    state = transition(BatchState(), carried)
    assert next_step(state, limits_of(), wanted) == Validate(candidate=doubtful, attempt=8)
    state = transition(state, Judged(verdict=verdict(passed)))
    missing = [QuestionType.MULTI_HOP] if passed else [QuestionType.TEMPORAL, QuestionType.MULTI_HOP]
    assert next_step(state, limits_of(), wanted) == Ask(
        round=1, wanted=tuple((kind, 1) for kind in missing), most=200
    )
    assert [one.id for one in state.qa.accepted] == (["q-1", "q-2"] if passed else ["q-1"])
    assert [one.reason for one in state.qa.retired] == ([] if passed else [RejectionReason.WRONG_ANSWER])
