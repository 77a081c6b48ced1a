"""A pool of worker processes for parsers, so that a crash, a hang or excessive memory use costs one document.

The limits, which are in `settings.py`, protect against accidents, not against an attacker inside the worker. The memory limit works on
Linux only, because macOS ignores RLIMIT_AS. On other systems, the system kills a worker that uses too much memory, and the outcome is
`crashed`.

The code of the worker is in `parser_worker`, which imports a parser with the first document that needs it. The
process that uses the pool imports no parser.
"""

import hashlib
import os
import queue
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, cast

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import Format, PageImage, ParsedFile, ParseOptions, RenderOptions, Source
from qagen_dagster.records.document import Outcome, Rights, Visual
from qagen_dagster.settings import PARSER_MEMORY_MB, PARSER_SECONDS
from qagen_dagster.untrusted_file import open_file
from qagen_dagster.worker_process import Worker, WorkerError

FormatsFactory = Callable[[], Iterable[Format]]
__all__ = ["FileSource", "ParserPool"]


@dataclass(frozen=True)
class FileSource:
    """A document on the local disk. The worker reads the file, so that its bytes need not go through the pipe.

    `within` is the path of a folder after its links are resolved, or None. If it is given, the file must be in that folder.
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

    `tired` asks the parent to replace the worker. A failure without an outcome is a fault of the installation.
    """

    value: object = None
    failure: tuple[Outcome | None, str] | None = None
    tired: bool = False


class ParserPool:
    """Up to `workers` processes that parse. Threads share the pool; each call takes one worker.

    Args:
        workers: the number of documents that are parsed at once. A process starts when it is first needed.
        seconds: processor time after which a call ends with the outcome `timeout` and its worker is killed.
            Wall time does not count, so that results do not depend on how busy the machine is. The exception
            is a worker that does nothing: it is killed after as many seconds of wall time.
        memory_bytes: address space that one call may take in addition to what the worker had before. A call
            that needs more ends with the outcome `out_of_memory`.
        formats: a module-level function that returns the formats; None for the formats of the registry.

    A worker serves many calls. It ends when the pool is closed, or when the parent ends, even if the parent is killed.
    """

    def __init__(
        self,
        workers: int = 2,
        seconds: float = PARSER_SECONDS,
        memory_bytes: int = PARSER_MEMORY_MB * 1_000_000,
        formats: FormatsFactory | None = None,
    ) -> None:
        if workers < 1 or seconds <= 0 or memory_bytes < 1:
            raise ValueError("workers, seconds and memory_bytes must be positive")
        self._limits = JobLimits(seconds, memory_bytes)
        self._slow: dict[tuple[int, int], str] = {}  # by document and page, the reason why rendering fails
        self._closed = False
        place = "qagen_dagster.formats.parser_worker:prepare"
        self._workers = [Worker("the parser process", place, (self._limits, formats)) for _ in range(workers)]
        # The order is last in, first out, so that a quiet pool reuses the workers that already run.
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; calls in progress end as `crashed`, later ones raise RuntimeError."""
        self._closed = True
        for worker in self._workers:
            worker.kill()  # the thread that uses this worker notices it and closes the connection

    def parse(self, source: Source | FileSource, options: ParseOptions) -> ParsedFile:
        """Parse one file like `registry.parse_file`.

        If the worker dies or exceeds a limit, the result has that outcome. Raises RuntimeError if the pool is
        closed, no worker starts, or a library of the format is missing.
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

        Raises DocumentError, including for a worker that dies or exceeds a limit, and RuntimeError as `parse` does.
        """
        return cast("tuple[Visual, ...]", self._call(Job("visuals", source, options, row=row)))

    def rights(self, source: Source | FileSource, options: ParseOptions) -> dict[str | None, Rights]:
        """The terms of use that a file states, by row, as `Format.rights`. Raises as `visuals` does."""
        return cast("dict[str | None, Rights]", self._call(Job("rights", source, options)))

    def render(
        self, source: Source | FileSource, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """A picture of a page (from 1); None if the format has no pages to show.

        Raises DocumentError, including for a worker that dies or exceeds a limit, and RuntimeError as `parse` does.
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
        worker = self._free.get()
        try:
            if self._closed:
                raise RuntimeError("the parser pool is closed")
            reply = cast("Reply", worker.ask(job, self._limits.seconds))
            if reply.tired:
                worker.end()
        except WorkerError as error:
            raise DocumentError("timeout" if error.late else "crashed", str(error)) from None
        finally:
            if self._closed:
                worker.end()
            self._free.put(worker)
        if reply.failure:
            outcome, detail = reply.failure
            if outcome is None:
                raise RuntimeError(f"the parser process cannot read this format: {detail}")
            raise DocumentError(outcome, detail)
        return reply.value


def _identity(source: Source | FileSource, max_bytes: int) -> tuple[int, str]:
    """Size in bytes and SHA-256 of a document whose worker failed before it could report them.

    A file of more than `max_bytes` has the hash "". A file that cannot be read has the size 0 and the hash "".
    """
    if isinstance(source, Source):
        return len(source.data), hashlib.sha256(source.data).hexdigest()
    try:
        with open_file(source.path, source.within) as file:
            size = os.fstat(file.fileno()).st_size
            return size, hashlib.file_digest(file, "sha256").hexdigest() if size <= max_bytes else ""
    except OSError:
        return 0, ""
