from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.problems.state_machine import (
    BASE,
    DECISIVE,
    FULL,
    Ended,
    ProblemState,
    Wishes,
    earlier,
    next_step,
    tasks_of,
    transition,
)
from qagen_dagster.records.problems.result import ProblemEnd, Stage, Task, TaskEnd, TaskResult
from qagen_dagster.records.problems.submissions import Breach, Format, ProblemInput, VariantKind
from tests.support.problems.play import photo, typed

WISHES = st.builds(
    Wishes,
    stages=st.sets(st.sampled_from(Stage)).map(lambda some: tuple(one for one in FULL if one in some)),
    alternates=st.integers(0, 2),
    variants=st.sets(st.sampled_from(VariantKind)).map(lambda some: tuple(sorted(some))),
    variants_each=st.integers(0, 2),
    conversions=st.sets(st.sampled_from(Format)).map(lambda some: tuple(sorted(some))),
)


def ended(task: Task, end: TaskEnd) -> TaskResult:
    broken = (Breach(property=3, detail="broken"),) if end is TaskEnd.REJECTED else ()
    return TaskResult(task=task, end=end, breaches=broken)


@given(wishes=WISHES, data=st.data())
def test_every_way_of_events_ends_once_and_for_a_reason(wishes: Wishes, data: st.DataObject) -> None:
    tasks = tasks_of(photo(), wishes)
    state, done = ProblemState(), 0
    step = next_step(state, tasks)
    while not isinstance(step, Ended):
        assert step in tasks
        assert state.of(step) is None
        end = data.draw(st.sampled_from([*TaskEnd, None]))
        event = step if end is None else ended(step, end)
        state = transition(state, event, tasks)
        done += 1
        assert done <= len(tasks)
        step = next_step(state, tasks)
    lost = [one for one in state.results if one.task.stage in DECISIVE and not one.end.ok]
    if lost:
        assert step.end is (ProblemEnd.REJECTED if lost[0].breaches else ProblemEnd.FAILED)
        assert state.results[-1] == lost[0], "nothing is done for a problem that is lost"
    elif state.absent:
        assert step.end is ProblemEnd.UNFINISHED
        assert all(one.stage not in BASE for one in state.absent[:-1]), (
            "nothing is made from what is not there"
        )
    else:
        assert step.end is ProblemEnd.ACCEPTED
        assert tuple(one.task for one in state.results) == tasks
    with pytest.raises(ValueError, match="does not fit"):
        transition(state, ended(Task(stage=Stage.SCAN, number=9), TaskEnd.DONE), tasks)


@given(wishes=WISHES)
def test_tasks_have_different_names_and_the_order_of_stages(wishes: Wishes) -> None:
    tasks = tasks_of(typed("x"), wishes)
    assert len({one.key for one in tasks}) == len(tasks)
    order = [FULL.index(one.stage) for one in tasks]
    assert order == sorted(order)
    assert {one.stage for one in tasks} <= set(wishes.stages)


def test_a_description_is_drawn_and_several_problems_are_combined() -> None:
    described = typed("a spring", input=ProblemInput.DESCRIPTION)
    assert [one.key for one in tasks_of(described, Wishes())] == ["diagram"]
    combined = typed("", input=ProblemInput.COMBINED, parts=("x", "y"))
    assert [one.key for one in tasks_of(combined, Wishes(variants_each=2))] == [
        "variant-multi-1",
        "variant-multi-2",
    ]


@pytest.mark.parametrize(
    ("ends", "end"),
    [
        ((TaskEnd.DONE, TaskEnd.DONE), ProblemEnd.ACCEPTED),
        ((TaskEnd.DECLINED, TaskEnd.DONE), ProblemEnd.ACCEPTED),
        ((TaskEnd.DECLINED, TaskEnd.REJECTED), ProblemEnd.FAILED),
    ],
)
def test_a_combination_of_which_nothing_came_is_none(ends: tuple[TaskEnd, ...], end: ProblemEnd) -> None:
    tasks = tasks_of(typed("", input=ProblemInput.COMBINED, parts=("x", "y")), Wishes(variants_each=2))
    state = ProblemState(results=tuple(ended(task, one) for task, one in zip(tasks, ends, strict=True)))
    found = next_step(state, tasks)
    assert isinstance(found, Ended)
    assert found.end is end


def test_only_good_results_of_the_same_sort_are_earlier_ones() -> None:
    first = Task(stage=Stage.VARIANT, variant=VariantKind.CONTEXT, number=1)
    other = Task(stage=Stage.VARIANT, variant=VariantKind.NUMERICAL, number=1)
    bad = first.model_copy(update={"number": 2})
    state = ProblemState(
        results=(ended(first, TaskEnd.DONE), ended(other, TaskEnd.DONE), ended(bad, TaskEnd.REJECTED))
    )
    third = first.model_copy(update={"number": 3})
    assert [one.task for one in earlier(state, third)] == [first]
