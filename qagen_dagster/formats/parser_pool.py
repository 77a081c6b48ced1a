"""A pool of worker processes for parsers, so that a crash, a hang or excessive memory use costs one document.

The limits protect against accidents, not against an attacker inside the worker. Workers need a POSIX system. They are
started with exec: a bare fork is unsafe because the parent (a Dagster process) has threads, and `multiprocessing`
would import the parent's main module into each worker. The memory limit works on Linux only (macOS ignores
RLIMIT_AS): elsewhere the system ends a worker that uses too much memory, as `crashed`.

What the worker does is in `parser_worker`, which imports every parser; the process that uses the pool needs none of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, cast

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import Format, PageImage, ParsedFile, ParseOptions, RenderOptions, Source
from qagen_dagster.records.document import Outcome, Visual
from qagen_dagster.untrusted_file import open_file

FormatsFactory = Callable[[], Sequence[Format]]
__all__ = ["FileSource", "ParserPool"]
_START_SECONDS = 60.0
_ALIVE = 0.01  # share of a processor that a worker has used if it was not hanging
_SHORTEST_PAUSE = 0.05
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from qagen_dagster.formats.parser_worker import main; main(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class FileSource:
    """A document on the local disk; the worker reads it, so that its bytes need not go through the pipe.

    With `within`, a folder's path without links, the file is read only from inside that folder.
    """

    name: str
    path: Path
    within: Path | None = None


@dataclass(frozen=True)
class Job:
    """One call for a worker."""

    kind: Literal["parse", "visuals", "render"]
    source: Source | FileSource
    options: ParseOptions
    row: str | None = None
    page: int = 1
    how: RenderOptions | None = None


@dataclass(frozen=True)
class JobLimits:
    """Limits of one job: seconds of wall time, and bytes of address space above the idle worker's."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Reply:
    """The result of a job, or its failure. `tired` asks the parent to replace this worker."""

    value: object = None
    failure: tuple[Outcome, str] | None = None
    tired: bool = False


class ParserPool:
    """Up to `workers` processes that parse. Threads share the pool; each call takes one worker.

    Args:
        workers: how many documents are parsed at once; a process starts when it is first needed.
        seconds: processor time of one call, after which the worker is killed (outcome `timeout`), so that a busy machine changes
            no result. A worker that does nothing for so long is killed, too.
        memory_bytes: address space that one call may take beyond the idle worker's (`out_of_memory`).
        formats: a module-level function giving the formats, instead of the registry's.

    Workers outlive calls. They end with the pool, or with the parent even if it is killed.
    """

    def __init__(
        self,
        workers: int = 2,
        seconds: float = 120.0,
        memory_bytes: int = 2_000_000_000,
        formats: FormatsFactory | None = None,
    ) -> None:
        if workers < 1 or seconds <= 0 or memory_bytes < 1:
            raise ValueError("workers, seconds and memory_bytes must be positive")
        self._limits = JobLimits(seconds, memory_bytes)
        self._factory = formats
        self._slow: dict[tuple[int, int], str] = {}  # by document and page: why it cannot be rendered
        self._lock = threading.Lock()
        self._closed = False
        self._slots = [_Slot() for _ in range(workers)]
        # Last in, first out: a quiet pool reuses the workers that already run.
        self._free: queue.LifoQueue[_Slot] = queue.LifoQueue()
        for slot in self._slots:
            self._free.put(slot)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; calls in progress end as `crashed`, later ones raise RuntimeError."""
        with self._lock:
            self._closed = True
            workers = [slot.worker for slot in self._slots if slot.worker]
        for worker in workers:
            worker.kill()  # the thread that uses it notices and closes it
        for slot in self._drained():
            if slot.worker:
                slot.worker.end()
            self._free.put(slot)  # threads that wait for a worker see that the pool is closed

    def start(self) -> None:
        """Start a worker that is ready sooner than one that the first call starts. Does not wait for it."""
        with self._slot() as slot, self._lock:
            if slot.worker is None and not self._closed:
                slot.worker = _start()

    def parse(self, source: Source | FileSource, options: ParseOptions) -> ParsedFile:
        """Parse one file like `registry.parse_file`; the end of a worker gives an outcome too."""
        try:
            return cast("ParsedFile", self._call(Job("parse", source, options)))
        except DocumentError as error:
            size, sha256 = _identity(source, options.max_bytes)
            return ParsedFile(source.name, Outcome(error.outcome), error.detail, bytes=size, sha256=sha256)

    def visuals(
        self, source: Source | FileSource, row: str | None, options: ParseOptions
    ) -> tuple[Visual, ...]:
        """The visuals of a document. Raises DocumentError, also when the worker ends."""
        return cast("tuple[Visual, ...]", self._call(Job("visuals", source, options, row=row)))

    def render(
        self, source: Source | FileSource, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """A picture of a page. Raises DocumentError, also when the worker ends; a page that took too long is not tried again."""
        key = (hash(source), page)
        if key in self._slow:
            raise DocumentError(Outcome.TIMEOUT, self._slow[key])
        try:
            return cast("PageImage | None", self._call(Job("render", source, options, page=page, how=how)))
        except DocumentError as error:
            if error.outcome == Outcome.TIMEOUT:
                self._slow[key] = error.detail
            raise

    def _call(self, job: Job) -> object:
        with self._slot() as slot:
            worker = self._ready(slot)
            try:
                reply = worker.ask(job, self._limits.seconds)
            except BaseException:
                worker.end()
                raise
            if reply.tired:
                worker.end()
        if reply.failure:
            outcome, detail = reply.failure
            raise DocumentError(outcome, detail)
        return reply.value

    def _drained(self) -> list[_Slot]:
        slots: list[_Slot] = []
        with contextlib.suppress(queue.Empty):
            while True:
                slots.append(self._free.get_nowait())
        return slots

    @contextlib.contextmanager
    def _slot(self) -> Generator[_Slot]:
        slot = self._free.get()
        try:
            yield slot
        finally:
            self._free.put(slot)

    def _ready(self, slot: _Slot) -> _Worker:
        if slot.worker is None or not slot.worker.alive():
            if slot.worker:
                slot.worker.end()
            worker = _start()
            with self._lock:
                slot.worker = worker
        with self._lock:
            closed = self._closed
        if closed:
            slot.worker.end()
            raise RuntimeError("the parser pool is closed")
        slot.worker.greet(self._limits, self._factory)
        return slot.worker


@dataclass
class _Slot:
    worker: _Worker | None = None


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    greeted: bool = False

    def alive(self) -> bool:
        return not self.pipe.closed and self.process.poll() is None

    def greet(self, limits: JobLimits, factory: FormatsFactory | None) -> None:
        """Tell a new worker its limits and formats. Raises RuntimeError when it does not start."""
        if self.greeted:
            return
        place = (factory.__module__, factory.__name__) if factory else ("", "")
        try:
            self.pipe.send((limits, *place))
            trouble = self.pipe.recv() if self.pipe.poll(_START_SECONDS) else "it did not answer"
        except (EOFError, OSError):
            trouble = f"it ended with {_exit_words(self._exit_code())}"
        if trouble is not None:
            self.end()
            raise RuntimeError(f"a parser process did not start: {trouble}")
        self.greeted = True

    def ask(self, job: Job, seconds: float) -> Reply:
        """The worker's reply. Raises DocumentError `timeout` or `crashed`, after which the worker is unusable."""
        try:
            before = _processor_seconds(self.process.pid)
            self.pipe.send(job)
            self._wait(before, seconds)
            return cast("Reply", self.pipe.recv())
        except (EOFError, OSError):
            words = _exit_words(self._exit_code())
            raise DocumentError("crashed", f"the parser process ended with {words}") from None

    def _wait(self, before: float, seconds: float) -> None:
        """Wait for the reply until the worker has used so much processor time since `before`. Raises DocumentError."""
        used, quiet, pause = 0.0, 0.0, seconds
        while not self.pipe.poll(pause):
            last, used = used, _processor_seconds(self.process.pid) - before
            quiet = quiet + pause if used - last < _ALIVE * pause else 0.0
            if used >= seconds:
                raise DocumentError("timeout", f"not done within {seconds:g} seconds of processor time")
            if quiet >= seconds:
                raise DocumentError("timeout", f"nothing was done for {seconds:g} seconds")
            pause = max(_SHORTEST_PAUSE, seconds - used)

    def kill(self) -> None:
        """Kill the worker and its child processes, and wait for it; any thread may call this."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Kill the worker and close its connection; only the thread that uses the worker may call this."""
        self.kill()
        self.pipe.close()

    def _exit_code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(5)
        return None


def _processor_seconds(pid: int) -> float:
    """Processor time of a process and of its children; where the system does not tell it, the time that has passed."""
    try:
        ticks = _ticks(pid)
    except OSError:
        return time.monotonic()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as running:
        ticks += sum(map(_ticks, map(int, running.read().split())))
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """Processor time of a process and of its children that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


def _start() -> _Worker:
    ours, theirs = Pipe()
    number = theirs.fileno()
    process = subprocess.Popen(  # noqa: S603 (our own interpreter and code, no shell)
        [sys.executable, "-c", _BOOT, str(number), json.dumps(sys.path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(number,),
        process_group=0,  # killed together with what it starts
    )
    theirs.close()
    return _Worker(process, cast("Connection", ours))


def _exit_words(code: int | None) -> str:
    if code is None:
        return "a closed connection"
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def _identity(source: Source | FileSource, max_bytes: int) -> tuple[int, str]:
    """Size and SHA-256 of a document, for when the worker failed before it could report them.

    A file of more than `max_bytes` is not hashed.
    """
    if isinstance(source, Source):
        return len(source.data), hashlib.sha256(source.data).hexdigest()
    try:
        with open_file(source.path, source.within) as file:
            size = os.fstat(file.fileno()).st_size
            return size, hashlib.file_digest(file, "sha256").hexdigest() if size <= max_bytes else ""
    except OSError:
        return 0, ""
