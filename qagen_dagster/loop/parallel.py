"""Runs tasks in parallel, lets tasks wait for earlier tasks, and ends a run early if its models fail for good."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic, TypeVar

from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.ingest.parallel import Progress, interruptible
from qagen_dagster.models.base import Model

T = TypeVar("T")
ItemT = TypeVar("ItemT")
NameT = TypeVar("NameT")

NOT_TRIED = "not tried: the model failed for good before"

BATCH_THREADS = 200  # number of threads that wait for provider batches


def worker_count(model: Model | None, usual: int, *, unlimited: bool) -> int:
    """The number of requests that wait at once: `usual`, or BATCH_THREADS for a model with provider batches and an unlimited budget."""
    wide = model is not None and model.spec.execution == "batch" and unlimited
    return BATCH_THREADS if wide else usual


def in_background(part: Callable[[], T]) -> Future[T]:
    """Start `part` on its own thread."""
    threads = ThreadPoolExecutor(1, thread_name_prefix="background")
    future = threads.submit(part)
    threads.shutdown(wait=False)
    return future


def run_in_parallel(needs: Sequence[Sequence[int]], part: Callable[[int], T], *, workers: int) -> list[T]:
    """The results of `part(0)`, `part(1)`, ... Part n starts when all parts in `needs[n]`, which have smaller numbers, are done.

    Of the parts that can start, the one with the lowest number starts first, so a single worker runs them in order. After the first
    error no further part starts. Running parts are awaited, except after an interrupt. At the end, the error is raised.
    """
    missing = [len(set(needed)) for needed in needs]
    later: list[list[int]] = [[] for _ in needs]
    for index, needed in enumerate(needs):
        for earlier in set(needed):
            later[earlier].append(index)
    ready = [index for index, count in enumerate(missing) if not count]
    results: dict[int, T] = {}
    running: dict[Future[T], int] = {}
    with interruptible(workers, "ahead") as threads:
        while ready or running:
            while ready and len(running) < workers:
                index = heappop(ready)
                running[threads.submit(part, index)] = index
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index = running.pop(future)
                results[index] = future.result()
                for waiting in later[index]:
                    missing[waiting] -= 1
                    if not missing[waiting]:
                        heappush(ready, waiting)
    return [results[index] for index in range(len(needs))]


def map_in_parallel(work: Callable[[ItemT], T], items: Sequence[ItemT], *, workers: int) -> list[T]:
    """The results of `work` for the items, in order. Errors end the work as in `run_in_parallel`."""
    return run_in_parallel([()] * len(items), lambda at: work(items[at]), workers=workers)


def work_on_each(
    items: Sequence[ItemT],
    work: Callable[[ItemT], T],
    done: Callable[[ItemT, T | ModelError], None],
    *,
    workers: int,
) -> None:
    """Work on the items in parallel. `done` gets each item with its result or its ModelError, in this thread, as soon as it is known.

    After any other error no further work starts. Running work is awaited, except after an interrupt. At the end, the error is raised.
    """
    with interruptible(min(workers, len(items)), "work") as threads:
        futures = {threads.submit(work, item): item for item in items}
        for future in as_completed(futures):
            try:
                result: T | ModelError = future.result()
            except ModelError as error:
                result = error
            done(futures[future], result)


@dataclass
class WorkOutcome(Generic[NameT]):
    """The work of a run, grouped by its end. The names are ids of documents or problems, or numbers of slots."""

    finished: list[NameT] = field(default_factory=list[NameT])
    reused: list[NameT] = field(default_factory=list[NameT])  # an earlier run finished it
    stopped: list[NameT] = field(default_factory=list[NameT])  # a budget was exhausted; a later run resumes
    failed: dict[NameT, str] = field(default_factory=dict[NameT, str])  # with the reasons

    def missed(self, name: NameT, error: ModelError | None) -> str:
        """Record that a model failed, or without an error, that nothing was tried. Returns a description."""
        self.failed[name] = NOT_TRIED if error is None else str(error)
        return "not tried" if error is None else "failed"


class EarlyStop:
    """Ends a run early: after `most` permanent model failures without any success, no further work starts."""

    def __init__(self, most: int) -> None:
        self.failures = 0
        self._most, self._succeeded = most, False
        self._guard, self._stopped = threading.Lock(), threading.Event()

    def stop(self) -> None:
        """Start no further work."""
        self._stopped.set()

    def run(self, work: Callable[[], T]) -> T | None:
        """The result of `work`; None, without starting it, if the run was stopped. Raises what `work` raises."""
        if self._stopped.is_set():
            return None
        try:
            result = work()
        except PermanentModelError:
            with self._guard:
                self.failures += 1
            if self.failures >= self._most and not self._succeeded:
                self.stop()
            raise
        self._succeeded = True
        return result


class FailuresInARow:
    """Counts consecutive model failures. After `most` of them the model counts as broken, and `fault` is the last error."""

    def __init__(self, most: int) -> None:
        self.fault: ModelError | None = None
        self._most, self._count, self._guard = most, 0, threading.Lock()

    def failed(self, error: ModelError) -> None:
        with self._guard:
            self._count += 1
            if self._count >= self._most:
                self.fault = error

    def succeeded(self) -> None:
        with self._guard:
            self._count = 0

    def check(self, what: str) -> None:
        """Raise PermanentModelError if there is a fault. `what` continues the message after the number of failures."""
        if self.fault is not None:
            raise PermanentModelError(f"{self._most} {what}, the last: {self.fault}")


def counter(progress: Progress | None, total: int) -> Callable[[str], None]:
    """A function that counts finished work. Each call, from any thread, calls `progress` with the count, `total` and its argument."""
    guard = threading.Lock()
    done = 0

    def count(name: str) -> None:
        nonlocal done
        with guard:
            done += 1
            if progress is not None:
                progress(done, total, name)

    return count
