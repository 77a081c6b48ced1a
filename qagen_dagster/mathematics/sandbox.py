"""A sandbox that computes checkable forms in a separate process, so that a harmful form fails alone.

There are three defences: the allow-list of `evaluator.py`; limits on time, memory, files, sockets and processes that the computing process
cannot lift; a wall clock on this side (`worker_process.py`) that kills the whole session. Limits need a POSIX system; the memory limit
needs Linux.
"""

import atexit
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, cast

from qagen_dagster.mathematics.evaluator import FormError, FormFailure, parse_form
from qagen_dagster.mathematics.sandbox_worker import Compute, Task, compute_forms
from qagen_dagster.worker_process import Worker, WorkerError

SECONDS = 2.0  # for one job; a job for which the process must start takes well under five seconds
MEMORY_BYTES = 300_000_000  # for one job, in addition to the warm process
GRACE = 0.5  # seconds after the child's own time limit until the whole session is killed


@dataclass(frozen=True)
class Computed:
    """The exact value as text, and its decimals at points of its symbols, with None for a point at which it is not real."""

    exact: str
    numbers: tuple[str | None, ...]


Outcome = Computed | FormError


class Sandbox:
    """One warm process that starts with the first job; threads take turns.

    Args:
        seconds: processor and wall time of one job.
        memory_bytes: memory that a job may take beyond the warm process.
        compute: a module-level function that does the jobs, instead of computing forms.
    """

    def __init__(
        self, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES, compute: Compute = compute_forms
    ) -> None:
        if seconds <= 0 or memory_bytes < 1:
            raise ValueError("seconds and memory_bytes must be positive")
        place = "qagen_dagster.mathematics.sandbox_worker:prepare"
        self._worker = Worker(
            "the process that computes forms", place, (seconds, memory_bytes, compute), bare=True
        )
        self._seconds = seconds
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process. The next job starts a new process."""
        with self._lock:
            self._worker.end()

    def compute(self, tasks: Sequence[Task]) -> list[Outcome]:
        """One outcome for each task, in order; no task raises. The tasks share one process and its limits: if
        one of them breaks the process, all tasks of the call fail."""
        refused = {place: error for place, task in enumerate(tasks) if (error := _refusal(task))}
        sent = [task for place, task in enumerate(tasks) if place not in refused]
        answers = iter(self._ask(sent) if sent else [])
        return [refused.get(place) or next(answers) for place in range(len(tasks))]

    def ask(self, job: object) -> dict[str, Any]:
        """Run one job without checking the allow-list. Returns its `values`, or a `failure` with its `detail`."""
        with self._lock:
            try:
                sent = self._worker.ask(job, self._seconds + GRACE, wall=True)
            except WorkerError:
                return {"failure": FormFailure.TIMEOUT.value, "detail": "not done in time"}
            reply = cast("dict[str, Any]", sent)
            if "failure" in reply:
                self._worker.end()  # ends anything that the job left running
            return reply

    def _ask(self, tasks: Sequence[Task]) -> list[Outcome]:
        reply = self.ask(tasks)
        values = cast("list[dict[str, Any]]", reply.get("values")) or [reply]
        if len(values) != len(tasks):  # the process failed, and its one reply is about all tasks
            values = values[:1] * len(tasks)
        return [_outcome(value) for value in values]


@lru_cache(maxsize=1)
def shared() -> Sandbox:
    """The sandbox shared within this process; it ends with the process."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox


def _refusal(task: Task) -> FormError | None:
    """The error of a task that the allow-list refuses, found without starting a process; None if the task is allowed."""
    try:
        parse_form(task.expression, task.givens, task.free)
    except FormError as error:
        return error
    return None


def _outcome(value: Mapping[str, Any]) -> Outcome:
    if "exact" in value:
        return Computed(str(value["exact"]), tuple(value["numbers"]))
    failure = value.get("failure", "")
    known = FormFailure(failure) if failure in set(FormFailure) else FormFailure.CRASHED
    return FormError(known, str(value.get("detail", ""))[:300])
