"""Does the jobs of the parser pool in a worker process, within limits."""

import contextlib
import resource
import signal
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from itertools import count

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import Format, ParseOptions, RenderOptions, Source
from qagen_dagster.formats.parser_pool import FileSource, FormatsFactory, Job, JobLimits, Reply
from qagen_dagster.formats.registry import FORMATS, choose, failure_of, format_of, parse_file
from qagen_dagster.records.document import Outcome
from qagen_dagster.untrusted_file import read_file
from qagen_dagster.worker_process import address_space

_MAX_JOBS = 1_000  # then the worker is replaced, because native libraries leak and fragment memory
_GRACE = 10.0  # seconds after the limit at which a worker ends itself if it still lives


def prepare(hello: tuple[JobLimits, FormatsFactory | None]) -> Callable[[Job], Reply]:
    """The function that does jobs within the limits and with the formats that `hello` names."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    limits, factory = hello
    formats = factory() if factory else FORMATS
    start, jobs = address_space(), count(1)

    def answer(job: Job) -> Reply:
        try:
            format_of(job.source.name, formats)  # loads the format's libraries, without the limits of the job
        except ImportError as error:
            return Reply(failure=(None, f"{type(error).__name__}: {error}"))
        reply = _run(job, limits, formats)
        grown = address_space() - start > limits.memory_bytes // 2
        return replace(reply, tired=reply.tired or grown or next(jobs) >= _MAX_JOBS)

    return answer


def _run(job: Job, limits: JobLimits, formats: Iterable[Format]) -> Reply:
    try:
        with _limited(limits):
            return Reply(_call(job, formats))
    except Exception as error:  # any exception of a parser becomes this document's outcome
        failure = failure_of(error)
        return Reply(failure=failure, tired=failure[0] is Outcome.OUT_OF_MEMORY)


def _call(job: Job, formats: Iterable[Format]) -> object:
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
    used = address_space()
    if used:
        wanted = used + limits.memory_bytes
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
