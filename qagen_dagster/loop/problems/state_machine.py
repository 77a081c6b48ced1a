"""The state machine of one physics problem: its tasks, the next task, and when the problem is finished.

The design sets the order: classify, scan, draw, read the ideas; then alternates, variants and conversions, which do not
depend on each other. The code is pure.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.problems.config import MOST_VARIANTS
from qagen_dagster.records.problems.result import ProblemEnd, Stage, Task, TaskEnd, TaskResult
from qagen_dagster.records.problems.submissions import Format, Problem, ProblemInput, VariantKind

FULL = tuple(stage for stage in Stage if stage is not Stage.FIND)
DECISIVE = (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM)  # if one of these fails, the problem is lost
BASE = (*DECISIVE, Stage.IDEA)  # everything else is made from these
_Count = Annotated[int, Field(ge=0, le=MOST_VARIANTS)]


class Wishes(Record):
    """The tasks that are wanted for every problem. Stages that are not in `stages` are left out."""

    stages: tuple[Stage, ...] = FULL
    alternates: _Count = 0
    variants: tuple[VariantKind, ...] = ()
    variants_each: _Count = 1
    conversions: tuple[Format, ...] = ()


class ProblemState(Record):
    """The state of the work on a problem."""

    results: tuple[TaskResult, ...] = ()
    absent: tuple[Task, ...] = ()

    def of(self, task: Task) -> TaskResult | None:
        """The result of a task; None if there is none."""
        return next((result for result in self.results if result.task == task), None)

    def first(self, stage: Stage) -> TaskResult | None:
        """The result of the first task of a stage; None if there is none."""
        return next((result for result in self.results if result.task.stage is stage), None)


class Ended(Record):
    """Nothing is left to do, or nothing more can be done."""

    end: ProblemEnd
    detail: str = ""


Step = Task | Ended  # the task to do next, or the end


def tasks_of(problem: Problem, wishes: Wishes) -> tuple[Task, ...]:
    """All tasks of a problem, in order."""
    if problem.input is ProblemInput.COMBINED:
        return tuple(
            Task(stage=Stage.VARIANT, variant=VariantKind.MULTI, number=number)
            for number in range(1, wishes.variants_each + 1)
        )
    allowed = (Stage.DIAGRAM,) if problem.input is ProblemInput.DESCRIPTION else FULL
    return tuple(
        task
        for stage in FULL
        if stage in wishes.stages and stage in allowed
        for task in _of_stage(stage, wishes)
    )


def next_step(state: ProblemState, tasks: tuple[Task, ...]) -> Step:
    """The step after `state`: the first task without a result, or the end."""
    for task in tasks:
        if task in state.absent:
            if task.stage in BASE:
                return Ended(end=ProblemEnd.UNFINISHED, detail=f"{task.key} is not done yet")
            continue
        result = state.of(task)
        if result is None:
            return task
        if task.stage in DECISIVE and not result.end.ok:
            return Ended(end=_lost(result), detail=f"{task.key}: {result.detail}")
    if state.absent:
        return Ended(end=ProblemEnd.UNFINISHED, detail=f"{state.absent[0].key} is not done yet")
    made = [one for one in state.results if one.task.variant is VariantKind.MULTI]
    if made and not any(one.end.ok for one in made):  # a combination has only its variants
        return Ended(end=_lost(made[0]), detail=f"{made[0].task.key}: {made[0].detail}")
    return Ended(end=ProblemEnd.ACCEPTED)


def transition(state: ProblemState, event: TaskResult | Task, tasks: tuple[Task, ...]) -> ProblemState:
    """The state after `event`: a result, or a task without a result that this run does not do.

    Raises ValueError if `event` does not belong to the next task.
    """
    task = event if isinstance(event, Task) else event.task
    if next_step(state, tasks) != task:
        raise ValueError(f"{task.key} does not fit the current state")
    if isinstance(event, Task):
        return state.model_copy(update={"absent": (*state.absent, event)})
    return state.model_copy(update={"results": (*state.results, event)})


def earlier(state: ProblemState, task: Task) -> tuple[TaskResult, ...]:
    """The successful results of the same kind of task with lower numbers. The result of `task` must differ from them."""
    return tuple(
        result
        for result in state.results
        if result.task.stage is task.stage
        and result.task.variant is task.variant
        and result.task.number < task.number
        and result.end is TaskEnd.DONE
    )


def _of_stage(stage: Stage, wishes: Wishes) -> Iterator[Task]:
    if stage is Stage.ALTERNATE:
        yield from (Task(stage=stage, number=number) for number in range(1, wishes.alternates + 1))
    elif stage is Stage.VARIANT:
        for kind in wishes.variants:
            if kind is not VariantKind.MULTI:
                numbers = range(1, wishes.variants_each + 1)
                yield from (Task(stage=stage, variant=kind, number=number) for number in numbers)
    elif stage is Stage.CONVERT:
        yield from (Task(stage=stage, target=target) for target in wishes.conversions)
    else:
        yield Task(stage=stage)


def _lost(result: TaskResult) -> ProblemEnd:
    return ProblemEnd.REJECTED if result.breaches else ProblemEnd.FAILED
