"""A pool of worker processes for parsers, so that a crash, a hang or excessive memory use costs one document.

The limits protect against accidents, not against an attacker inside the worker. Workers need a POSIX system.
They are started with exec: a bare fork is unsafe because the parent (a Dagster process) has threads, and
`multiprocessing` would import the parent's main module into each worker. The memory limit works on Linux
only, because macOS ignores RLIMIT_AS. On other systems, the system kills a worker that uses too much memory,
and the outcome is `crashed`.

The code of the worker is in `parser_worker`, which imports every parser. The process that uses the pool needs
none of them.
"""

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
from typing import Literal, Self, cast

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import Format, PageImage, ParsedFile, ParseOptions, RenderOptions, Source
from qagen_dagster.records.document import Outcome, Rights, Visual
from qagen_dagster.untrusted_file import open_file

FormatsFactory = Callable[[], Sequence[Format]]
__all__ = ["FileSource", "ParserPool"]
_START_SECONDS = 60.0  # maximum for the start of a worker
_ALIVE = 0.01  # a worker that uses a smaller share of a processor than this counts as idle
_SHORTEST_PAUSE = 0.05  # seconds between two looks at a worker
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from qagen_dagster.formats.parser_worker import main; main(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class FileSource:
    """A document on the local disk. The worker reads it, so that its bytes need not go through the pipe.

    `within` is the path of a folder after its links are resolved, or None. If it is given, the file must be
    in that folder.
    """

    name: str
    path: Path
    within: Path | None = None


@dataclass(frozen=True)
class Job:
    """One call for a worker.

    `row` is the id of one document in a file that has several. `page` (from 1) and `how` are for `render`.
    """

    kind: Literal["parse", "visuals", "rights", "render"]
    source: Source | FileSource
    options: ParseOptions
    row: str | None = None
    page: int = 1
    how: RenderOptions | None = None


@dataclass(frozen=True)
class JobLimits:
    """Limits of one job: seconds of processor time, and bytes of address space that the job may add."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Reply:
    """The result of a job, or the outcome and the detail of its failure.

    `tired` asks the parent to replace the worker.
    """

    value: object = None
    failure: tuple[Outcome, str] | None = None
    tired: bool = False


class ParserPool:
    """Up to `workers` processes that parse. Threads share the pool; each call takes one worker.

    Args:
        workers: how many documents are parsed at once; a process starts when it is first needed.
        seconds: processor time after which a call ends with the outcome `timeout` and its worker is killed.
            Wall time does not count, so that results do not depend on how busy the machine is. The exception
            is a worker that does nothing: it is killed after as many seconds of wall time.
        memory_bytes: address space that one call may take in addition to what the worker had before. A call
            that needs more ends with the outcome `out_of_memory`.
        formats: a module-level function giving the formats, instead of the registry's.

    A worker serves many calls. It ends when the pool is closed, or when the parent ends, even if the parent
    is killed.
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; calls in progress end as `crashed`, later ones raise RuntimeError."""
        with self._lock:
            self._closed = True
            workers = [slot.worker for slot in self._slots if slot.worker]
        for worker in workers:
            worker.kill()  # the thread that uses this worker notices it and closes the connection
        for slot in self._drained():
            if slot.worker:
                slot.worker.end()
            self._free.put(slot)  # threads that wait for a worker see that the pool is closed

    def start(self) -> None:
        """Start a worker ahead of the first call, so that this call waits less.

        Returns before the worker is ready.
        """
        with self._slot() as slot, self._lock:
            if slot.worker is None and not self._closed:
                slot.worker = _start()

    def parse(self, source: Source | FileSource, options: ParseOptions) -> ParsedFile:
        """Parse one file like `registry.parse_file`.

        If the worker dies or exceeds a limit, the result has that outcome. Raises RuntimeError if the pool is
        closed or no worker starts.
        """
        try:
            return cast("ParsedFile", self._call(Job("parse", source, options)))
        except DocumentError as error:
            size, sha256 = _identity(source, options.max_bytes)
            return ParsedFile(source.name, Outcome(error.outcome), error.detail, bytes=size, sha256=sha256)

    def visuals(
        self, source: Source | FileSource, row: str | None, options: ParseOptions
    ) -> tuple[Visual, ...]:
        """The visuals of a document. `row` is the document's id in a file that has several, else None.

        Raises DocumentError, also if the worker dies or exceeds a limit, and RuntimeError as `parse` does.
        """
        return cast("tuple[Visual, ...]", self._call(Job("visuals", source, options, row=row)))

    def rights(self, source: Source | FileSource, options: ParseOptions) -> dict[str | None, Rights]:
        """What each row of a file, or the file (None), states about its use. Raises as `visuals` does."""
        return cast("dict[str | None, Rights]", self._call(Job("rights", source, options)))

    def render(
        self, source: Source | FileSource, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """A picture of a page (from 1); None if the format has no pages to show.

        Raises DocumentError, also if the worker dies or exceeds a limit, and RuntimeError as `parse` does.
        After a timeout, the pool does not render the same page again, but raises the same error at once.
        """
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

    def _drained(self) -> "list[_Slot]":
        slots: list[_Slot] = []
        with contextlib.suppress(queue.Empty):
            while True:
                slots.append(self._free.get_nowait())
        return slots

    @contextlib.contextmanager
    def _slot(self) -> "Generator[_Slot]":
        slot = self._free.get()
        try:
            yield slot
        finally:
            self._free.put(slot)

    def _ready(self, slot: "_Slot") -> "_Worker":
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
    worker: "_Worker | None" = None


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
        """Wait for the reply. `before` is the worker's processor time at the start of the job, in seconds.

        Raises DocumentError `timeout` if the job has used `seconds` of processor time, or if the worker has
        been idle for `seconds` of wall time.
        """
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
        """Kill the worker and its child processes, and wait until the worker has ended.

        Any thread may call this.
        """
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Kill the worker and close its connection. Only the thread that uses the worker may call this."""
        self.kill()
        self.pipe.close()

    def _exit_code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(5)
        return None


def _processor_seconds(pid: int) -> float:
    """Seconds of processor time that a process and its children have used.

    If the system does not tell, these are the seconds of the monotonic clock, so that the limit is one of
    wall time.
    """
    try:
        ticks = _ticks(pid)
    except OSError:
        return time.monotonic()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as running:
        ticks += sum(map(_ticks, map(int, running.read().split())))
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """Clock ticks of processor time that a process and its ended children have used. Raises OSError."""
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
    """Size in bytes and SHA-256 of a document whose worker failed before it could report them.

    A file of more than `max_bytes` has the hash "". A file that cannot be read has the size 0 and the hash
    "".
    """
    if isinstance(source, Source):
        return len(source.data), hashlib.sha256(source.data).hexdigest()
    try:
        with open_file(source.path, source.within) as file:
            size = os.fstat(file.fileno()).st_size
            return size, hashlib.file_digest(file, "sha256").hexdigest() if size <= max_bytes else ""
    except OSError:
        return 0, ""
