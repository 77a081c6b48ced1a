"""Work one physics problem: perform each task of its machine, durable before the next; known results are taken again.

Effects only; what happens when is decided in `states.py`, how a task is done in `task.py`. The result of a task lies
under a key that names everything it depends on: that is journal and resume in one, and branches may be worked by different
processes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.problems.states import Absent, Ended, ProblemState, Step, next_step, transition
from qagen_dagster.loop.problems.task import perform
from qagen_dagster.loop.problems.work import ProblemWork, task_fingerprint
from qagen_dagster.records.problems.result import ProblemEnd, Stage, Task, TaskResult
from qagen_dagster.store import Store


@dataclass(frozen=True)
class Shelf:
    """Where the results of one problem lie."""

    store: Store
    problem_set: str
    problem_id: str

    def key(self, task: Task, fingerprint: str) -> str:
        return TaskResult.key(self.problem_set, self.problem_id, task.key, fingerprint)

    def find(self, task: Task, fingerprint: str) -> TaskResult | None:
        return self.store.find_valid(self.key(task, fingerprint), TaskResult)

    def keep(self, result: TaskResult) -> None:
        self.store.write(self.key(result.task, result.fingerprint), result)


@dataclass(frozen=True)
class Worked:
    """How far a problem has come; `asked` counts the tasks done in this run, `stopped` says which budget has ended."""

    state: ProblemState
    step: Step
    asked: int = 0
    stopped: str = ""

    @property
    def ended(self) -> Ended:
        if isinstance(self.step, Ended):
            return self.step
        return Ended(end=ProblemEnd.UNFINISHED, detail=self.stopped or f"{self.step.task.key} waits")


def work_problem(work: ProblemWork, shelf: Shelf, stages: Collection[Stage]) -> Worked:
    """Do the tasks of `stages` that are not done yet, in order; those of other stages are only looked up.

    Raises ModelError; what was done before is kept.
    """
    state, asked = ProblemState(), 0
    step = next_step(state, work.tasks)
    while not isinstance(step, Ended):
        fingerprint = task_fingerprint(step.task, work, state)
        found = shelf.find(step.task, fingerprint)
        if found is None and step.task.stage in stages:
            try:
                found = perform(step.task, work, state).model_copy(update={"fingerprint": fingerprint})
            except BudgetExhaustedError as error:
                return Worked(state, step, asked, str(error))
            shelf.keep(found)
            asked += 1
        state = transition(state, found or Absent(task=step.task), work.tasks)
        step = next_step(state, work.tasks)
    return Worked(state, step, asked)
