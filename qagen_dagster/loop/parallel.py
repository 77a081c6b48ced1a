"""Work whose parts wait for some of their forerunners, done side by side.

What belongs here: the order and the pool. What does not: what a part is (`loop/questions/validated_set.py` compares questions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from heapq import heappop, heappush
from typing import TypeVar

from qagen_dagster.models.base import Model

T = TypeVar("T")

BATCH_WORKERS = 200  # threads that wait for one batch


def workers_for(model: Model | None, usual: int, *, unlimited: bool) -> int:
    """How many requests wait at once: all that can for a model asked in batches, unless a budget wants few under way."""
    wide = model is not None and model.spec.execution == "batch" and unlimited
    return BATCH_WORKERS if wide else usual


def side_by_side(needs: Sequence[Sequence[int]], part: Callable[[int], T], *, workers: int) -> list[T]:
    """The results of `part(0)`, `part(1)`, ...; part n begins when all of `needs[n]`, which are smaller, have ended.

    Of those that may begin the first goes first, so that one worker does them in order. The first error ends
    the work and is raised: no part begins after it; those under way are waited for, unless somebody interrupted.
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
