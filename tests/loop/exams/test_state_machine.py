from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.exams.state_machine import (
    Accepted,
    Design,
    Designed,
    ExamEvent,
    Examine,
    Examined,
    GivenUp,
    Implement,
    Implemented,
    ItemLimits,
    ItemState,
    JudgeStyle,
    Solve,
    Solved,
    Step,
    Styled,
    Verified,
    Verify,
    next_step,
    replay,
    transition,
)
from qagen_dagster.records.exams.bank import Examination, Fault, Stage
from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    IdeaPlan,
    QuestionPackage,
    Severity,
    StyleReport,
    VerifierReport,
)
from tests.support.exams.play import PASS, PASSING, WEAK, idea, made, solved, styled

LIMITS = ItemLimits()
DESIGNED = Designed(plan=IdeaPlan.model_validate(idea()))
UNUSABLE = Designed(failure="no yaml")
IMPLEMENTED = Implemented(package=QuestionPackage.model_validate(made(3, 4)))
BROKEN = Implemented(failure="max_turns: hm")
CLEAN = Examined(examination=Examination())


def faulty(*severities: Severity) -> Examined:
    faults = tuple(Fault(name=f"f{n}", severity=one, detail="d") for n, one in enumerate(severities))
    return Examined(examination=Examination(faults=faults))


def blind(letter: str | None, *right: str) -> Solved:
    return Solved(blind=BlindSolution.model_validate(solved(letter, *right)))


def verdict(**fields: Any) -> Verified:
    return Verified(report=VerifierReport.model_validate(fields))


def style(scores: dict[str, int], **fields: Any) -> Styled:
    return Styled(report=StyleReport.model_validate(styled(scores, **fields)))


RIGHT, PASSES, LIKED = blind("B"), verdict(**PASS), style(PASSING)


def after(*events: ExamEvent, limits: ItemLimits = LIMITS) -> Step:
    state = ItemState()
    for event in events:
        assert not isinstance(next_step(state, limits), (Accepted, GivenUp)), event
        state = transition(state, event)
    return next_step(state, limits)


def test_the_way_of_a_good_item() -> None:
    way: list[ExamEvent] = [DESIGNED, IMPLEMENTED, CLEAN, RIGHT, PASSES, LIKED]
    steps = [type(after(*way[:count])) for count in range(len(way) + 1)]
    assert steps == [Design, Implement, Examine, Solve, Verify, JudgeStyle, Accepted]


def test_designs_are_retried_so_often_and_then_rejected_at_the_designer() -> None:
    assert isinstance(after(UNUSABLE, UNUSABLE), Design)
    over = after(UNUSABLE, UNUSABLE, UNUSABLE)
    assert isinstance(over, GivenUp)
    assert over.finding.stage is Stage.DESIGNER
    assert isinstance(after(UNUSABLE, UNUSABLE, DESIGNED), Implement)
    assert isinstance(after(UNUSABLE, limits=ItemLimits(max_designer_retries=0)), GivenUp)


FAILURES: dict[str, tuple[list[ExamEvent], Stage, Severity]] = {
    "no question": ([BROKEN], Stage.IMPLEMENTER, Severity.FIXABLE),
    "a gate": ([IMPLEMENTED, faulty(Severity.FIXABLE)], Stage.GATES, Severity.FIXABLE),
    "a structural gate": (
        [IMPLEMENTED, faulty(Severity.FIXABLE, Severity.STRUCTURAL)],
        Stage.GATES,
        Severity.STRUCTURAL,
    ),
    "another option": ([IMPLEMENTED, CLEAN, blind("C")], Stage.BLIND_SOLUTION, Severity.FIXABLE),
    "no option": ([IMPLEMENTED, CLEAN, blind(None)], Stage.BLIND_SOLUTION, Severity.FIXABLE),
    "two options": ([IMPLEMENTED, CLEAN, blind("B", "B", "D")], Stage.BLIND_SOLUTION, Severity.FIXABLE),
    "no solution": ([IMPLEMENTED, CLEAN, Solved(failure="f")], Stage.BLIND_SOLUTION, Severity.FIXABLE),
    "a verdict": (
        [IMPLEMENTED, CLEAN, RIGHT, verdict(verdict="FAIL", severity="fixable_with_regeneration")],
        Stage.VERIFIER,
        Severity.FIXABLE,
    ),
    "a structural verdict": (
        [IMPLEMENTED, CLEAN, RIGHT, verdict(verdict="fail", severity="Structural flaw")],
        Stage.VERIFIER,
        Severity.STRUCTURAL,
    ),
    "a verdict of unknown severity": (
        [IMPLEMENTED, CLEAN, RIGHT, verdict(verdict="FAIL", severity="catastrophic")],
        Stage.VERIFIER,
        Severity.UNKNOWN,
    ),
    "no verdict": ([IMPLEMENTED, CLEAN, RIGHT, Verified(failure="f")], Stage.VERIFIER, Severity.FIXABLE),
    "style": (
        [IMPLEMENTED, CLEAN, RIGHT, PASSES, style(WEAK, severity="fixable_with_regeneration")],
        Stage.STYLE_JUDGE,
        Severity.FIXABLE,
    ),
    "style without a severity": (
        [IMPLEMENTED, CLEAN, RIGHT, PASSES, style(WEAK)],
        Stage.STYLE_JUDGE,
        Severity.UNKNOWN,
    ),
    "structural style": (
        [IMPLEMENTED, CLEAN, RIGHT, PASSES, style(WEAK, severity="structural_flaw")],
        Stage.STYLE_JUDGE,
        Severity.STRUCTURAL,
    ),
    "no judgement": (
        [IMPLEMENTED, CLEAN, RIGHT, PASSES, Styled(failure="f")],
        Stage.STYLE_JUDGE,
        Severity.FIXABLE,
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_attempt_is_made_again_or_given_up_by_severity(name: str) -> None:
    failed, stage, severity = FAILURES[name]
    first = after(DESIGNED, *failed)
    if severity is Severity.STRUCTURAL:
        assert isinstance(first, GivenUp)
        assert (first.finding.stage, first.finding.severity) == (stage, severity)
        return
    assert isinstance(first, Implement)
    assert first.finding is not None
    assert (first.number, first.finding.stage, first.finding.severity) == (2, stage, severity)
    second = after(DESIGNED, *failed, *failed)
    assert isinstance(second, Implement)
    last = after(DESIGNED, *failed, *failed, *failed)
    assert isinstance(last, GivenUp)
    assert last.finding.stage is stage


def test_a_solver_that_calls_the_key_alone_right_has_reached_it() -> None:
    way = (DESIGNED, IMPLEMENTED, CLEAN)
    assert isinstance(after(*way, blind(None, "B")), Verify), "it forgot to choose"
    assert isinstance(after(*way, blind("B", "D")), Implement), "it calls another one right as well"


def test_scores_decide_and_not_the_verdict() -> None:
    way = (DESIGNED, IMPLEMENTED, CLEAN, RIGHT, PASSES)
    assert isinstance(after(*way, style(PASSING, verdict="FAIL", severity="structural_flaw")), Accepted)
    assert isinstance(after(*way, style(WEAK, verdict="PASS")), Implement)
    sevens = dict.fromkeys(PASSING, 7)
    assert isinstance(after(*way, style(sevens | {"elegance": 10, "one_idea": 9})), Implement), "mean 7.83"
    assert isinstance(after(*way, style(sevens | {"elegance": 10, "one_idea": 10})), Accepted), (
        "mean of exactly 8"
    )
    assert isinstance(after(*way, style(dict.fromkeys(PASSING, 8))), Accepted), "mean of exactly 8"


def test_an_event_that_does_not_fit_is_refused() -> None:
    for events in (
        [IMPLEMENTED],
        [DESIGNED, DESIGNED],
        [DESIGNED, CLEAN],
        [DESIGNED, BROKEN, CLEAN],
        [DESIGNED, IMPLEMENTED, RIGHT],
        [DESIGNED, IMPLEMENTED, CLEAN, CLEAN],
        [DESIGNED, IMPLEMENTED, CLEAN, PASSES],
        [DESIGNED, IMPLEMENTED, CLEAN, RIGHT, LIKED],
    ):
        with pytest.raises(ValueError, match="does not fit"):
            reduce(transition, events, ItemState())


EVENTS = {
    Design: [DESIGNED, UNUSABLE],
    Implement: [IMPLEMENTED, BROKEN],
    Examine: [CLEAN, faulty(Severity.FIXABLE), faulty(Severity.STRUCTURAL)],
    Solve: [RIGHT, blind("A"), blind(None), Solved(failure="f")],
    Verify: [PASSES, verdict(verdict="FAIL"), Verified(failure="f")],
    JudgeStyle: [LIKED, style(WEAK), Styled(failure="f")],
}


@given(st.data(), st.integers(0, 3), st.integers(0, 3))
def test_every_piece_ends_within_its_limits_and_is_replayed_the_same(
    data: st.DataObject, designs: int, retries: int
) -> None:
    limits = ItemLimits(max_designer_retries=designs, max_implementer_retries=retries)
    state, events = ItemState(), list[ExamEvent]()
    while not isinstance(step := next_step(state, limits), (Accepted, GivenUp)):
        event = data.draw(st.sampled_from(EVENTS[type(step)]))
        events.append(event)
        state = transition(state, event)
        assert len(state.design_failures) <= designs + 1
        assert len(state.attempts) <= retries + 1
    assert replay(tuple(events), limits) == (state, len(events))
    for count in range(len(events)):
        part, taken = replay(tuple(events[:count]), limits)
        assert taken == count
        assert not isinstance(next_step(part, limits), (Accepted, GivenUp))
    wider = ItemLimits(max_designer_retries=5, max_implementer_retries=5)
    assert replay(tuple(events), wider)[0] == state, "a journal serves wider limits"
    if isinstance(step, Accepted):
        assert step.attempt.blind is not None
        assert step.attempt.blind.chosen_option == step.package.question.correct_option
