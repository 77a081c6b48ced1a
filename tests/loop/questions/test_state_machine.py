from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from qagen_dagster.loop.questions.state import (
    Compared,
    Dedupe,
    Done,
    Event,
    Exhausted,
    Generate,
    GenerationFailed,
    Judged,
    Mended,
    Proposed,
    QAState,
    Validate,
)
from qagen_dagster.loop.questions.state_machine import (
    as_generator_sees,
    next_ahead,
    next_step,
    replay,
    transition,
)
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.records.questions.results import Candidate, DocumentEnd, RejectionReason, VerdictRecord

CHECKS = ("answerable", "matches", "non_trivial", "unambiguous", "relevant")
REASONS = {
    "answerable": RejectionReason.UNANSWERABLE,
    "unambiguous": RejectionReason.AMBIGUOUS,
    "matches": RejectionReason.WRONG_ANSWER,
    "non_trivial": RejectionReason.TRIVIAL,
    "relevant": RejectionReason.IRRELEVANT,
}


def candidate(number: int, gate: RejectionReason | None = None) -> Candidate:
    return Candidate(
        question=f"What is fact {number}?",
        answer=f"It is {number}.",
        evidence=(),
        question_type="factual",
        gate=gate,
        gate_detail="gone" if gate else "",
    )


def verdict(*failed: str) -> VerdictRecord:
    return VerdictRecord(
        attempt=1,
        question="q",
        proposed_answer="a",
        blind_answer="b",
        explanation="because",
        **{check: check not in failed for check in CHECKS},
    )


def limits(target: int = 3, failures: int = 2, attempts: int = 20) -> QALimits:
    return QALimits(target_count=target, max_consecutive_failures=failures, max_attempts=attempts)


def fold(*events: Event) -> QAState:
    state = QAState()
    for event in events:
        state = transition(state, event)
    return state


PASS = Judged(verdict=verdict())
FAIL = Judged(verdict=verdict("matches"))
ACCEPT_FIRST = (Proposed(candidate=candidate(0)), PASS)


def generator_sees(state: QAState) -> tuple[object, ...]:
    seen = as_generator_sees(state)
    return seen.accepted, seen.rejected, seen.viewed_pages


class Loop(RuleBasedStateMachine):
    """Plays any legal history; what the loop counts is counted a second time, naively."""

    @initialize(goal=st.integers(1, 4), failures=st.integers(1, 4), attempts=st.integers(1, 15))
    def begin(self, goal: int, failures: int, attempts: int) -> None:
        self.limits = limits(goal, failures, attempts)
        self.state = QAState()
        self.events: list[Event] = []
        self.states = [self.state]
        self.outcomes: list[RejectionReason | None] = []  # None: accepted
        self.proposed = self.compared = self.judged = 0

    def waits_for(self, kind: type) -> bool:
        return isinstance(next_step(self.state, self.limits), kind)

    def happen(self, event: Event) -> None:
        before = self.state
        ahead = next_ahead(before, self.limits)
        self.state = transition(self.state, event)
        if before.current is not None and self.state.current is None:
            assert generator_sees(self.state) == generator_sees(before)
            assert ahead in (None, next_step(self.state, self.limits))
        self.events.append(event)
        self.states.append(self.state)
        assert before == self.states[-2]

    @precondition(lambda self: self.waits_for(Generate))
    @rule(pages=st.lists(st.integers(1, 5), max_size=3))
    def propose(self, pages: list[int]) -> None:
        self.proposed += 1
        self.happen(Proposed(candidate=candidate(self.proposed), viewed_pages=tuple(pages)))

    @precondition(lambda self: self.waits_for(Generate))
    @rule(gate=st.sampled_from([RejectionReason.EVIDENCE_NOT_FOUND, RejectionReason.ANSWER_NOT_SUPPORTED]))
    def propose_without_proof(self, gate: RejectionReason) -> None:
        self.proposed += 1
        self.happen(Proposed(candidate=candidate(self.proposed, gate)))
        self.outcomes.append(gate)

    @precondition(lambda self: self.waits_for(Generate))
    @rule()
    def fail_to_propose(self) -> None:
        self.happen(GenerationFailed(reason="max_turns"))
        self.outcomes.append(RejectionReason.GENERATION_FAILED)

    @precondition(lambda self: self.waits_for(Generate))
    @rule()
    def report_exhausted(self) -> None:
        self.happen(Exhausted(reason="nothing left"))

    @precondition(lambda self: self.waits_for(Dedupe))
    @rule(data=st.data())
    def compare(self, data: st.DataObject) -> None:
        index = data.draw(st.none() | st.integers(0, len(self.state.accepted) - 1))
        self.compared += 1
        self.happen(Compared(duplicate_of=index, detail="same"))
        if index is not None:
            self.outcomes.append(RejectionReason.DUPLICATE)
            original = self.state.accepted[index].candidate.question
            assert self.state.rejected[-1].duplicate_of == original

    @precondition(lambda self: self.waits_for(Validate))
    @rule(failed=st.none() | st.sampled_from(CHECKS))
    def judge(self, failed: str | None) -> None:
        self.judged += 1
        self.happen(Judged(verdict=verdict(*([failed] if failed else []))))
        self.outcomes.append(REASONS[failed] if failed else None)

    @precondition(lambda self: self.waits_for(Validate))
    @rule()
    def fail_to_judge(self) -> None:
        self.happen(Judged(verdict=None, failure="max_turns"))
        self.outcomes.append(RejectionReason.VALIDATOR_FAILED)

    @precondition(lambda self: self.waits_for(Done))
    @rule()
    def stay_done(self) -> None:
        assert next_step(self.state, self.limits) == next_step(self.state, self.limits)

    @invariant()
    def counts_are_those_of_the_history(self) -> None:
        state = self.state
        assert len(state.accepted) == self.outcomes.count(None) <= self.limits.target_count
        assert [one.reason for one in state.rejected] == [one for one in self.outcomes if one is not None]
        assert len(state.accepted) + len(state.rejected) == state.attempts == len(self.outcomes)
        assert state.attempts <= self.limits.max_attempts
        assert (state.compared_count, state.validated_count) == (self.compared, self.judged)
        assert len(state.verdicts) == self.judged
        numbers = [one.attempt for one in (*state.accepted, *state.rejected)]
        assert sorted(numbers) == list(range(1, state.attempts + 1))

    @invariant()
    def failures_in_a_row_are_those_since_the_last_success(self) -> None:
        since = len(self.outcomes) if None not in self.outcomes else self.outcomes[::-1].index(None)
        assert self.state.consecutive_failures == since
        assert since <= self.limits.max_consecutive_failures + 1

    @invariant()
    def it_ends_for_the_reason_that_holds(self) -> None:
        step = next_step(self.state, self.limits)
        reasons = {
            DocumentEnd.TARGET_REACHED: len(self.state.accepted) == self.limits.target_count,
            DocumentEnd.EXHAUSTED_REPORTED: isinstance(self.events[-1], Exhausted) if self.events else False,
            DocumentEnd.CONSECUTIVE_FAILURES: self.state.consecutive_failures
            > self.limits.max_consecutive_failures,
            DocumentEnd.MAX_ATTEMPTS: self.state.attempts == self.limits.max_attempts,
        }
        if self.state.current is not None:
            assert isinstance(step, (Dedupe, Validate))
            assert step.candidate == self.state.current
        elif isinstance(step, Done):
            assert step.end is next(end for end, holds in reasons.items() if holds)
        else:
            assert isinstance(step, Generate)
            assert not any(reasons.values())
            assert step.attempt == self.state.attempts + 1

    @invariant()
    def nothing_is_generated_for_nothing(self) -> None:
        """Ahead of a check only if neither its success nor its failure ends the loop."""
        last = (
            len(self.state.accepted) + 1 == self.limits.target_count
            or self.state.attempts + 1 == self.limits.max_attempts
            or self.state.consecutive_failures == self.limits.max_consecutive_failures
        )
        wanted = None if self.state.current is None or last else Generate(attempt=self.state.attempts + 2)
        assert next_ahead(self.state, self.limits) == wanted

    @invariant()
    def pages_are_kept_once_in_order(self) -> None:
        seen = [page for event in self.events for page in getattr(event, "viewed_pages", ())]
        assert self.state.viewed_pages == tuple(dict.fromkeys(seen))

    def teardown(self) -> None:
        if not hasattr(self, "events"):
            return
        for count in range(len(self.events) + 1):
            assert replay(tuple(self.events[:count]), self.limits) == (self.states[count], count)
        for target in range(1, self.limits.target_count):
            self.check_smaller_target(target)

    def check_smaller_target(self, target: int) -> None:
        smaller = self.limits.model_copy(update={"target_count": target})
        state, taken = replay(tuple(self.events), smaller)
        reached = [n for n, state in enumerate(self.states) if len(state.accepted) == target]
        if reached:
            assert taken == reached[0]
            assert next_step(state, smaller) == Done(end=DocumentEnd.TARGET_REACHED)
        else:
            assert taken == len(self.events)
        assert state == self.states[taken]


TestLoop = Loop.TestCase


def test_a_document_without_a_failure_goes_generate_validate_then_generate_dedupe_validate() -> None:
    steps: list[str] = []
    state = QAState()
    for event in (*ACCEPT_FIRST, Proposed(candidate=candidate(1)), Compared(duplicate_of=None), PASS):
        steps.append(type(next_step(state, limits(target=2))).__name__)
        state = transition(state, event)
    assert steps == ["Generate", "Validate", "Generate", "Dedupe", "Validate"]
    assert next_step(state, limits(target=2)) == Done(end=DocumentEnd.TARGET_REACHED)


def test_the_generator_sees_the_newest_candidate_as_taken_and_the_outcomes_before_it() -> None:
    wrong, unproven = candidate(1), candidate(2, RejectionReason.EVIDENCE_NOT_FOUND)
    checked = fold(*ACCEPT_FIRST, Proposed(candidate=wrong), Compared(duplicate_of=None), FAIL)
    seen = as_generator_sees(checked)
    assert [one.candidate for one in seen.accepted] == [candidate(0), wrong]
    assert seen.rejected == ()
    later = as_generator_sees(transition(checked, Proposed(candidate=unproven)))
    assert [one.candidate for one in later.accepted] == [candidate(0)]
    assert [one.candidate for one in later.rejected] == [wrong, unproven]


def test_the_generator_sees_a_candidate_as_taken_whose_correction_a_gate_rejects() -> None:
    proposed = fold(*ACCEPT_FIRST, Proposed(candidate=candidate(1)), Compared(duplicate_of=None))
    mend = transition(proposed, FAIL.model_copy(update={"may_mend": True}))
    assert mend.mend is not None
    unproven = candidate(2, RejectionReason.EVIDENCE_NOT_FOUND)
    rejected = transition(mend, Mended(candidate=unproven))
    assert [one.candidate for one in rejected.rejected] == [unproven]
    assert as_generator_sees(rejected).accepted == as_generator_sees(proposed).accepted


def test_the_threshold_must_be_exceeded() -> None:
    failed = GenerationFailed(reason="refused")
    at = fold(*[failed] * 2)
    assert isinstance(next_step(at, limits(failures=2)), Generate)
    beyond = fold(*[failed] * 3)
    step = next_step(beyond, limits(failures=2))
    assert step == Done(end=DocumentEnd.CONSECUTIVE_FAILURES, detail="3 failures in a row")


def test_a_success_forgives_the_failures_before_it() -> None:
    failed = GenerationFailed(reason="refused")
    state = fold(failed, failed, *ACCEPT_FIRST, failed, failed)
    assert state.consecutive_failures == 2
    assert isinstance(next_step(state, limits(failures=2)), Generate)


def test_a_duplicate_is_a_failure_that_names_what_it_repeats() -> None:
    compared = Compared(duplicate_of=0, detail="same fact", score=0.9, step="similarity")
    state = fold(*ACCEPT_FIRST, Proposed(candidate=candidate(1)), compared)
    (only,) = state.rejected
    assert (only.reason, only.detail, only.duplicate_of) == (
        RejectionReason.DUPLICATE,
        "same fact",
        "What is fact 0?",
    )
    assert (only.duplicate_score, only.duplicate_step) == (0.9, "similarity")
    assert (state.consecutive_failures, state.compared_count, state.validated_count) == (1, 1, 1)


def test_a_candidate_without_proof_never_reaches_the_validator() -> None:
    state = fold(Proposed(candidate=candidate(0, RejectionReason.EVIDENCE_NOT_FOUND)))
    assert isinstance(next_step(state, limits()), Generate)
    assert (state.validated_count, state.attempts) == (0, 1)
    assert state.rejected[0].detail == "gone"


def test_a_document_that_reached_its_target_is_never_called_exhausted() -> None:
    failed = GenerationFailed(reason="refused")
    step = next_step(fold(failed, failed, *ACCEPT_FIRST), limits(target=1, failures=1, attempts=3))
    assert step == Done(end=DocumentEnd.TARGET_REACHED)


@pytest.mark.parametrize(("failed", "reason"), REASONS.items())
def test_each_check_of_the_validator_has_its_reason(failed: str, reason: RejectionReason) -> None:
    state = fold(Proposed(candidate=candidate(0)), Judged(verdict=verdict(failed)))
    assert [one.reason for one in state.rejected] == [reason]
    assert state.accepted == ()


HISTORIES: dict[str, tuple[Event, ...]] = {
    "start": (),
    "first candidate": (Proposed(candidate=candidate(0)),),
    "one accepted": ACCEPT_FIRST,
    "second candidate": (*ACCEPT_FIRST, Proposed(candidate=candidate(1))),
    "second is unique": (*ACCEPT_FIRST, Proposed(candidate=candidate(1)), Compared(duplicate_of=None)),
    "exhausted": (Exhausted(reason="done"),),
}
FITTING = {
    "start": {"proposed", "generation_failed", "exhausted"},
    "first candidate": {"judged"},
    "one accepted": {"proposed", "generation_failed", "exhausted"},
    "second candidate": {"compared"},
    "second is unique": {"judged"},
    "exhausted": set[str](),
}
EVENTS: tuple[Event, ...] = (
    Proposed(candidate=candidate(9)),
    GenerationFailed(reason="refused"),
    Exhausted(reason="done"),
    Compared(duplicate_of=None),
    PASS,
    Judged(verdict=None, failure="max_turns"),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
@pytest.mark.parametrize("where", HISTORIES)
def test_only_events_that_fit_the_state_are_taken(where: str, event: Event) -> None:
    state = fold(*HISTORIES[where])
    if event.kind in FITTING[where]:
        transition(state, event)
    else:
        with pytest.raises(ValueError, match=event.kind):
            transition(state, event)


@pytest.mark.parametrize("index", [-1, 1, 99])
def test_a_duplicate_of_a_question_that_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match="compared"):
        fold(*HISTORIES["second candidate"], Compared(duplicate_of=index))


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_higher_target_goes_on_where_the_journal_stopped(before: int, after: int) -> None:
    events: list[Event] = list(ACCEPT_FIRST)
    for number in range(1, before):
        events += [Proposed(candidate=candidate(number)), Compared(duplicate_of=None), PASS]
    state, taken = replay(tuple(events), limits(target=after))
    assert len(state.accepted) == min(before, after)
    assert isinstance(next_step(state, limits(target=after)), Generate if after > before else Done)
    assert (taken == len(events)) == (after >= before)


def test_the_reasons_of_a_history_add_up() -> None:
    state = fold(
        GenerationFailed(reason="refused"),
        *ACCEPT_FIRST,
        Proposed(candidate=candidate(1)),
        Compared(duplicate_of=0),
        Proposed(candidate=candidate(2)),
        Compared(duplicate_of=None),
        FAIL,
    )
    assert Counter(one.reason.value for one in state.rejected) == {
        "generation_failed": 1,
        "duplicate": 1,
        "wrong_answer": 1,
    }


TOO_LONG = GenerationFailed(reason="output_limit: cut off at 100 output tokens: raise `max_output_tokens`")
OTHER = GenerationFailed(reason="max_turns: no result after 40 turns")


@pytest.mark.parametrize(
    ("events", "ends"),
    [
        ((TOO_LONG,), True),
        ((OTHER,), False),
        ((*ACCEPT_FIRST, TOO_LONG, TOO_LONG), False),
        ((*ACCEPT_FIRST, TOO_LONG, TOO_LONG, TOO_LONG), True),
        ((*ACCEPT_FIRST, TOO_LONG, OTHER, TOO_LONG), False),
    ],
)
def test_replies_that_do_not_fit_end_a_document_early(events: tuple[Event, ...], ends: bool) -> None:
    step = next_step(fold(*events), limits(failures=50))
    assert isinstance(step, Done) is ends
    assert not isinstance(step, Done) or "raise `max_output_tokens`" in step.detail
