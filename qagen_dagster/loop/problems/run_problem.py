"""Works one physics problem: performs each task of its state machine and stores its result before the next. Stored results are reused.

The key of a result names everything that it depends on, so the stored results replace a journal. Several processes can work on
different branches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.problems.fingerprint import task_fingerprint
from qagen_dagster.loop.problems.inputs import ProblemWork
from qagen_dagster.loop.problems.run_task import perform
from qagen_dagster.loop.problems.state_machine import Absent, Ended, ProblemState, Step, next_step, transition
from qagen_dagster.records.problems.result import (
    ProblemEnd,
    Stage,
    Task,
    TaskResult,
)
from qagen_dagster.store import Store


@dataclass(frozen=True)
class TaskResults:
    """Stores the results of one problem. `kept` are those that the bank has: key of a task to its fingerprint."""

    store: Store
    problem_set: str
    problem_id: str
    kept: Mapping[str, str] = field(default_factory=dict[str, str])

    def key(self, task: Task, fingerprint: str) -> str:
        return TaskResult.key(self.problem_set, self.problem_id, task.key, fingerprint)

    def find(self, task: Task, fingerprint: str) -> TaskResult | None:
        kept = self.kept.get(task.key, fingerprint)
        found = self.store.find_valid(self.key(task, kept), TaskResult)
        return found or (
            self.store.find_valid(self.key(task, fingerprint), TaskResult) if kept != fingerprint else None
        )

    def keep(self, result: TaskResult) -> None:
        self.store.write(self.key(result.task, result.fingerprint), result)


@dataclass(frozen=True)
class Worked:
    """The progress of a problem. `asked` counts the tasks done in this run, `stopped` says which budget ended."""

    state: ProblemState
    step: Step
    asked: int = 0
    stopped: str = ""

    @property
    def ended(self) -> Ended:
        if isinstance(self.step, Ended):
            return self.step
        return Ended(end=ProblemEnd.UNFINISHED, detail=self.stopped or f"{self.step.task.key} waits")


def work_problem(work: ProblemWork, results: TaskResults, stages: Collection[Stage]) -> Worked:
    """Do the missing tasks of `stages` in order. Results of other stages are only looked up.

    Raises ModelError. Finished tasks are kept.
    """
    state, asked = ProblemState(), 0
    step = next_step(state, work.tasks)
    while not isinstance(step, Ended):
        fingerprint = task_fingerprint(step.task, work, state)
        found = results.find(step.task, fingerprint)
        if found is None and step.task.stage in stages:
            try:
                found = perform(step.task, work, state).model_copy(update={"fingerprint": fingerprint})
            except BudgetExhaustedError as error:
                return Worked(state, step, asked, str(error))
            results.keep(found)
            asked += 1
        state = transition(state, found or Absent(task=step.task), work.tasks)
        step = next_step(state, work.tasks)
    return Worked(state, step, asked)
