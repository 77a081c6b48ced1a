from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.exams.state_machine import (
    Designed,
    Ended,
    ExamEvent,
    Examined,
    Implemented,
    ItemLimits,
    ItemState,
    Solved,
    Step,
    Styled,
    Verified,
    finding_of,
    next_step,
    replay,
    transition,
    useless_end,
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
from tests.support.exams.play import PASS, PASSING, WEAK, idea, item_limits, made, solved, styled

LIMITS = item_limits()
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


def state_after(*events: ExamEvent, limits: ItemLimits = LIMITS) -> ItemState:
    state = ItemState()
    for event in events:
        assert not isinstance(next_step(state, limits), Ended), event
        state = transition(state, event)
    return state


def after(*events: ExamEvent, limits: ItemLimits = LIMITS) -> Step:
    return next_step(state_after(*events, limits=limits), limits)


def rejected_at(step: Step) -> tuple[Stage, Severity] | None:
    found = step.finding if isinstance(step, Ended) else None
    return None if found is None else (found.stage, found.severity)


def test_the_way_of_a_good_item() -> None:
    way: list[ExamEvent] = [DESIGNED, IMPLEMENTED, CLEAN, RIGHT, PASSES, LIKED]
    assert [after(*way[:count]) for count in range(len(way) + 1)] == [*Stage, Ended()]


def test_designs_are_retried_so_often_and_then_rejected_at_the_designer() -> None:
    assert after(UNUSABLE, UNUSABLE) is Stage.DESIGNER
    lost = (Stage.DESIGNER, Severity.UNKNOWN)
    assert rejected_at(after(UNUSABLE, UNUSABLE, UNUSABLE)) == lost
    assert after(UNUSABLE, UNUSABLE, DESIGNED) is Stage.IMPLEMENTER
    assert rejected_at(after(UNUSABLE, limits=item_limits(designs=0))) == lost


@pytest.mark.parametrize("last", ["filtered: it would not", "refused: I cannot", "no_tool_call: Hm."])
def test_an_item_of_refusals_alone_is_not_finished(last: str) -> None:
    refused = [Designed(failure="filtered: the model would not answer")] * 2
    assert useless_end(state_after(*refused, Designed(failure=last)), LIMITS) == last
    assert useless_end(state_after(*refused, UNUSABLE), LIMITS) == ""


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
        assert rejected_at(first) == (stage, severity)
        return
    assert first is Stage.IMPLEMENTER
    last = state_after(DESIGNED, *failed).last
    found = None if last is None else finding_of(last, LIMITS.thresholds)
    assert found is not None
    assert (found.stage, found.severity) == (stage, severity)
    assert after(DESIGNED, *failed, *failed) is Stage.IMPLEMENTER
    assert rejected_at(after(DESIGNED, *failed, *failed, *failed)) == (stage, severity)


def test_a_solver_that_calls_the_key_alone_right_has_reached_it() -> None:
    way = (DESIGNED, IMPLEMENTED, CLEAN)
    assert after(*way, blind(None, "B")) is Stage.VERIFIER, "it forgot to choose"
    assert after(*way, blind("B", "D")) is Stage.IMPLEMENTER, "it calls another one right as well"


def test_scores_decide_and_not_the_verdict() -> None:
    way = (DESIGNED, IMPLEMENTED, CLEAN, RIGHT, PASSES)
    assert after(*way, style(PASSING, verdict="FAIL", severity="structural_flaw")) == Ended()
    assert after(*way, style(WEAK, verdict="PASS")) is Stage.IMPLEMENTER
    sevens = dict.fromkeys(PASSING, 7)
    assert after(*way, style(sevens | {"elegance": 10, "one_idea": 9})) is Stage.IMPLEMENTER, "mean 7.83"
    assert after(*way, style(sevens | {"elegance": 10, "one_idea": 10})) == Ended(), "mean of exactly 8"
    assert after(*way, style(dict.fromkeys(PASSING, 8))) == Ended(), "mean of exactly 8"


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
    Stage.DESIGNER: [DESIGNED, UNUSABLE],
    Stage.IMPLEMENTER: [IMPLEMENTED, BROKEN],
    Stage.GATES: [CLEAN, faulty(Severity.FIXABLE), faulty(Severity.STRUCTURAL)],
    Stage.BLIND_SOLUTION: [RIGHT, blind("A"), blind(None), Solved(failure="f")],
    Stage.VERIFIER: [PASSES, verdict(verdict="FAIL"), Verified(failure="f")],
    Stage.STYLE_JUDGE: [LIKED, style(WEAK), Styled(failure="f")],
}


@given(st.data(), st.integers(0, 3), st.integers(0, 3))
def test_every_piece_ends_within_its_limits_and_is_replayed_the_same(
    data: st.DataObject, designs: int, retries: int
) -> None:
    limits = item_limits(designs=designs, retries=retries)
    state, events = ItemState(), list[ExamEvent]()
    while not isinstance(step := next_step(state, limits), Ended):
        event = data.draw(st.sampled_from(EVENTS[step]))
        events.append(event)
        state = transition(state, event)
        assert len(state.design_failures) <= designs + 1
        assert len(state.attempts) <= retries + 1
    assert replay(tuple(events), limits) == (state, len(events))
    for count in range(len(events)):
        part, taken = replay(tuple(events[:count]), limits)
        assert taken == count
        assert not isinstance(next_step(part, limits), Ended)
    wider = item_limits(designs=5, retries=5)
    assert replay(tuple(events), wider)[0] == state, "a journal serves wider limits"
    if step == Ended():
        assert state.last is not None
        assert state.last.blind is not None
        assert state.last.blind.chosen_option == "B"
