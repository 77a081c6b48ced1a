"""The worker process of the parser pool: it parses within limits, replies, and ends when the parent ends."""

import contextlib
import importlib
import resource
import signal
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import Format, ParseOptions, RenderOptions, Source
from qagen_dagster.formats.parser_pool import FileSource, Job, JobLimits, Reply
from qagen_dagster.formats.registry import FORMATS, choose, failure_of, parse_file
from qagen_dagster.records.document import Outcome
from qagen_dagster.untrusted_file import read_file

_MAX_JOBS = 1_000  # after which the worker is replaced, because native libraries leak and fragment memory
_GRACE = 10.0  # seconds after the limit at which a worker ends itself if nobody has killed it


def main(descriptor: int) -> None:
    """Serve jobs from the connection `descriptor` until the parent closes it or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Connection(descriptor) as parent, contextlib.suppress(EOFError, BrokenPipeError):
        try:
            limits, module, name = parent.recv()
            formats = getattr(importlib.import_module(module), name)() if module else FORMATS
        except Exception as error:  # reported to the parent, which has the log
            parent.send(f"{type(error).__name__}: {error}")
            return
        parent.send(None)
        _serve(parent, limits, formats)


def _serve(parent: Connection, limits: JobLimits, formats: Sequence[Format]) -> None:
    start = _address_space()
    for count in range(1, _MAX_JOBS + 1):
        job: Job = parent.recv()
        reply = _run(job, limits, formats)
        grown = _address_space() - start > limits.memory_bytes // 2
        tired = reply.tired or grown or count == _MAX_JOBS
        parent.send(replace(reply, tired=tired))
        if tired:
            return


def _run(job: Job, limits: JobLimits, formats: Sequence[Format]) -> Reply:
    try:
        with _limited(limits):
            return Reply(_call(job, formats))
    except Exception as error:  # whatever a parser raises becomes this document's outcome
        failure = failure_of(error)
        return Reply(failure=failure, tired=failure[0] is Outcome.OUT_OF_MEMORY)


def _call(job: Job, formats: Sequence[Format]) -> object:
    source = _read(job.source, job.options)
    if job.kind == "parse":
        parsed = parse_file(source, job.options, formats)
        if parsed.outcome is Outcome.OUT_OF_MEMORY:
            raise MemoryError(parsed.detail)
        return parsed
    chosen = choose(source, formats)
    if job.kind == "visuals":
        return chosen.visuals(source, job.row, job.options)
    if job.kind == "rights":
        return chosen.rights(source, job.options)
    return chosen.render(source, job.page, job.options, job.how or RenderOptions())


def _read(source: Source | FileSource, options: ParseOptions) -> Source:
    if isinstance(source, Source):
        return source
    try:
        return Source(source.name, read_file(source.path, options.max_bytes, source.within))
    except OSError as error:
        raise DocumentError("corrupt", f"the file cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def _limited(limits: JobLimits) -> Generator[None]:
    # The timer of processor time ends a worker whose parent died during the job, even inside native code.
    signal.setitimer(signal.ITIMER_PROF, limits.seconds + _GRACE)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = _address_space()
    if used:
        wanted = used + limits.memory_bytes
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)


def _address_space() -> int:
    """Bytes of virtual memory in use; 0 on systems other than Linux, which do not limit it."""
    if not sys.platform.startswith("linux"):
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
