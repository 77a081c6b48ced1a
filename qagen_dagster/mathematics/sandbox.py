"""A sandbox that computes checkable forms in a separate process, so that a harmful form fails alone.

There are three defences: the allow-list of `evaluator.py`; limits on time, memory, files, sockets and processes that the computing process
cannot lift; a wall clock on this side that kills the whole session. Limits need a POSIX system; the memory limit needs Linux.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Any, Self, cast

from qagen_dagster.mathematics.evaluator import FormError, FormFailure, parse_form
from qagen_dagster.mathematics.sandbox_worker import MOST_BYTES

SECONDS = 2.0  # with process start-up still well under five seconds
MEMORY_BYTES = 300_000_000
_START_SECONDS = 60.0
GRACE = 0.5  # seconds after the child's own time limit until the whole session is killed
_COMPUTE = "qagen_dagster.mathematics.sandbox_worker:compute_forms"
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from qagen_dagster.mathematics.sandbox_worker import main; main()"
)


@dataclass(frozen=True)
class Task:
    """An expression with its givens; the names in `free` are positive symbols."""

    expression: str
    givens: Mapping[str, str] = field(default_factory=dict[str, str])
    free: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Computed:
    """The exact value as text, and its decimals at points of its symbols; None where it is not real."""

    exact: str
    numbers: tuple[str | None, ...]


Outcome = Computed | FormError


class Sandbox:
    """One warm process that starts with the first job; threads take turns.

    Args:
        seconds: processor and wall time of one job.
        memory_bytes: memory that a job may take beyond the warm process.
        compute: `module:function` that does the jobs, instead of computing forms.
    """

    def __init__(
        self, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES, compute: str = _COMPUTE
    ) -> None:
        if seconds <= 0 or memory_bytes < 1:
            raise ValueError("seconds and memory_bytes must be positive")
        self._hello = {"seconds": seconds, "memory_bytes": memory_bytes, "compute": compute}
        self._seconds = seconds
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process. The next job starts a new process."""
        with self._lock:
            self._end()

    def compute(self, tasks: Sequence[Task]) -> list[Outcome]:
        """One outcome for each task, in order; no task raises. The tasks share one process and its limits: if
        one of them breaks it, the others of the call fail too."""
        refused = {place: error for place, task in enumerate(tasks) if (error := _refusal(task))}
        sent = [task for place, task in enumerate(tasks) if place not in refused]
        answers = iter(self._ask(sent) if sent else [])
        return [refused.get(place) or next(answers) for place in range(len(tasks))]

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Run one job without the allow-list: its `values`, or a `failure` with `detail`."""
        with self._lock:
            try:
                worker = self._worker if self._worker and self._worker.alive() else self._start()
                reply = worker.talk(job, self._seconds + GRACE)
            except BaseException:
                self._end()
                raise
            if reply is None or "failure" in reply:
                self._end()  # ends anything that the job left running
            return reply or {"failure": FormFailure.TIMEOUT.value, "detail": "not done in time"}

    def _ask(self, tasks: Sequence[Task]) -> list[Outcome]:
        forms = [
            {"expression": task.expression, "givens": dict(task.givens), "free": sorted(task.free)}
            for task in tasks
        ]
        reply = self.ask({"forms": forms})
        values = cast("list[dict[str, Any]]", reply.get("values", []))
        if len(values) == len(tasks):
            return [_outcome(value) for value in values]
        failed = reply if "failure" in reply else (values[0] if values else {})
        return [_failure(failed) for _ in tasks]

    def _start(self) -> "_Worker":
        self._end()
        worker = _Worker()
        self._worker = worker
        if worker.talk(self._hello, _START_SECONDS) != {"ready": True}:
            raise RuntimeError("the process that computes forms did not start")
        return worker

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
        self._worker = None


@lru_cache(maxsize=1)
def shared() -> Sandbox:
    """The sandbox shared within this process; it ends with the process."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox


class _Worker:
    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and code, no shell)
            [sys.executable, "-c", _BOOT, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # killed together with what it starts
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},  # no variable of this process is passed on
            cwd="/",
        )

    def alive(self) -> bool:
        return self._process.poll() is None

    def talk(self, message: object, seconds: float) -> dict[str, Any] | None:
        """The reply; None if there is none in time or the process ended."""
        given, taken = self._process.stdin, self._process.stdout
        if given is None or taken is None:
            return None
        try:
            given.write(json.dumps(message).encode() + b"\n")
            given.flush()
            line = _line(taken.fileno(), time.monotonic() + seconds)
            return cast("dict[str, Any]", json.loads(line)) if line else None
        except (OSError, ValueError):
            return None

    def kill(self) -> None:
        """Kill the session: the process and its computing child."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _line(descriptor: int, deadline: float) -> bytes | None:
    """One line; None if it is late, too long or incomplete."""
    data = b""
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([descriptor], [], [], left)
        piece = os.read(descriptor, 65_536) if ready else b""
        data += piece
        if data.endswith(b"\n"):
            return data
        if not piece or len(data) > 2 * MOST_BYTES:
            return None
    return None


def _refusal(task: Task) -> FormError | None:
    """The error of the allow-list, found without starting a process."""
    try:
        parse_form(task.expression, task.givens, task.free)
    except FormError as error:
        return error
    return None


def _outcome(value: Mapping[str, Any]) -> Outcome:
    if "failure" in value:
        return _failure(value)
    return Computed(str(value["exact"]), tuple(value["numbers"]))


def _failure(value: Mapping[str, Any]) -> FormError:
    known = set(FormFailure)
    failure = value.get("failure", "")
    return FormError(
        FormFailure(failure) if failure in known else FormFailure.CRASHED, str(value.get("detail", ""))[:300]
    )
