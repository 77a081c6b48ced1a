"""Worker processes for work that may crash, hang or take too much memory: a failure costs only one job.

Workers need a POSIX system. They are started with exec: a bare fork is unsafe because the parent (a Dagster
process) has threads, and `multiprocessing` would import the parent's main module into each worker. A worker
ends when its parent closes the connection or ends, even if the parent is killed.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

Answer = Callable[[Any], object]
_START_SECONDS = 60.0  # maximum for the start of a worker
_ALIVE = 0.01  # a worker that uses a smaller share of a processor than this counts as idle
_SHORTEST_PAUSE = 0.05  # seconds between two looks at a worker
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from qagen_dagster.worker_process import serve; serve(int(sys.argv[2]), sys.argv[3])"
)


class WorkerError(Exception):
    """A worker did not do its job. It used up its time or was idle for too long (`late`), or its process ended."""

    def __init__(self, detail: str, *, late: bool = False) -> None:
        self.late = late
        super().__init__(detail)


class Worker:
    """A process that does one job at a time. It starts with the first job. If it has ended, it starts again with the next job.

    One thread at a time may use a worker, but any thread may call `kill`.

    Args:
        name: what messages call the process.
        place: `module:function`. The process calls this function with `hello`. The function returns the
            function that does the jobs.
        hello: what the process must know before the first job, such as limits.
        bare: whether the process gets neither the environment variables nor the working folder of this process.
    """

    _pipe: Connection

    def __init__(self, name: str, place: str, hello: object, *, bare: bool = False) -> None:
        self._name, self._place, self._hello, self._bare = name, place, hello, bare
        self._process: subprocess.Popen[bytes] | None = None
        self._greeted = False

    def ask(self, job: object, seconds: float, *, wall: bool = False) -> object:
        """The reply to a job. The job may use `seconds` of processor time, or of wall time if `wall` is True.

        Processor time is limited so that results do not depend on how busy the machine is. A worker that is
        idle for `seconds` of wall time fails as well. Raises WorkerError, and RuntimeError if the process does
        not start. After an error, the next job has a new process.
        """
        self._start()
        try:
            self._greet()
            spent = time.monotonic if wall else self._processor_seconds
            before = spent()
            self._pipe.send(job)
            self._wait(spent, before, seconds)
            return self._pipe.recv()
        except (EOFError, OSError):
            words = self._exit_words()
            self.end()
            raise WorkerError(f"{self._name} ended with {words}") from None
        except BaseException:
            self.end()
            raise

    def kill(self) -> None:
        """Kill the process and what it started, and wait until it has ended."""
        if self._process is None:
            return
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Kill the process and close the connection."""
        if self._process is not None:
            self.kill()
            self._pipe.close()

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.end()
        ours, theirs = Pipe()
        number = theirs.fileno()
        self._pipe, self._greeted = cast("Connection", ours), False
        self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and code, no shell)
            [sys.executable, "-c", _BOOT, json.dumps(sys.path), str(number), self._place],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(number,),
            start_new_session=True,  # killed together with what it starts
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"} if self._bare else None,
            cwd="/" if self._bare else None,
        )
        theirs.close()

    def _greet(self) -> None:
        if self._greeted:
            return
        try:
            self._pipe.send(self._hello)
            answered = self._pipe.poll(_START_SECONDS)
            trouble = self._pipe.recv() if answered else "it did not answer"
        except (EOFError, OSError):
            trouble = f"it ended with {self._exit_words()}"
        if trouble is not None:
            raise RuntimeError(f"{self._name} did not start: {trouble}")
        self._greeted = True

    def _wait(self, spent: Callable[[], float], before: float, seconds: float) -> None:
        """Wait for the reply. `before` is the value of `spent()` at the start of the job, in seconds. Raises WorkerError."""
        used, quiet, pause = 0.0, 0.0, seconds
        while not self._pipe.poll(pause):
            last, used = used, spent() - before
            quiet = quiet + pause if used - last < _ALIVE * pause else 0.0
            if used >= seconds:
                what = " of processor time" if spent == self._processor_seconds else ""
                raise WorkerError(f"not done within {seconds:g} seconds{what}", late=True)
            if quiet >= seconds:
                raise WorkerError(f"nothing was done for {seconds:g} seconds", late=True)
            pause = max(_SHORTEST_PAUSE, seconds - used)

    def _processor_seconds(self) -> float:
        """Seconds of processor time that the process and its children have used.

        If the system does not report it, the result is the time of the monotonic clock, so that wall time is limited instead.
        """
        pid = self._process.pid if self._process else 0
        try:
            ticks = _ticks(pid)
        except OSError:
            return time.monotonic()
        with contextlib.suppress(OSError):
            running = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
            ticks += sum(map(_ticks, map(int, running.split())))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _exit_words(self) -> str:
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(5) if self._process else None
        if code is None:
            return "a closed connection"
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"


def _ticks(pid: int) -> int:
    """Clock ticks of processor time that a process and its ended children have used. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


def serve(descriptor: int, place: str) -> None:
    """Do the jobs from the connection `descriptor` in this process, until the parent closes it or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    module, _, name = place.partition(":")
    with Connection(descriptor) as parent, contextlib.suppress(EOFError, BrokenPipeError):
        try:
            prepare = cast("Callable[[object], Answer]", getattr(importlib.import_module(module), name))
            answer = prepare(parent.recv())
        except Exception as error:  # reported to the parent, which has the log
            parent.send(f"{type(error).__name__}: {error}")
            return
        parent.send(None)
        while True:
            parent.send(answer(parent.recv()))


def address_space() -> int:
    """Bytes of virtual memory that this process uses; 0 on systems other than Linux, where no memory limit is set."""
    if not sys.platform.startswith("linux"):
        return 0
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
