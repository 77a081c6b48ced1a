"""Runs tasks in parallel, some of which must wait for earlier tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from heapq import heappop, heappush
from typing import TypeVar

from qagen_dagster.models.base import Model

T = TypeVar("T")

BATCH_THREADS = 200  # number of threads that wait for provider batches


def worker_count(model: Model | None, usual: int, *, unlimited: bool) -> int:
    """The number of requests that wait at once: `usual`, or many for a model with provider batches and unlimited calls."""
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
    error no further part starts. Running parts are awaited, except after an interrupt. Then the error is raised.
    """
    missing = [len(set(needed)) for needed in needs]
    later: list[list[int]] = [[] for _ in needs]
    for index, needed in enumerate(needs):
        for earlier in set(needed):
            later[earlier].append(index)
    ready = [index for index, count in enumerate(missing) if not count]
    results: dict[int, T] = {}
    running: dict[Future[T], int] = {}
    threads = ThreadPoolExecutor(workers, thread_name_prefix="ahead")
    try:
        while ready or running:
            while ready and len(running) < workers:
                index = heappop(ready)
                running[threads.submit(part, index)] = index
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index = running.pop(future)
                results[index] = future.result()
                for one in later[index]:
                    missing[one] -= 1
                    if not missing[one]:
                        heappush(ready, one)
    except BaseException as error:
        threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    threads.shutdown()
    return [results[index] for index in range(len(needs))]
