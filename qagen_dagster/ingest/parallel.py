"""Applies a function to the files or documents of a corpus in threads, and ends at once when the run is interrupted."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 1_000  # maximum finished items after the oldest unfinished item
Progress = Callable[[int, int, str], None]  # done, all, name


@contextmanager
def interruptible(workers: int, name: str) -> Generator[ThreadPoolExecutor]:
    """Threads for a block of work. After an interrupt no further work begins, and the block does not wait for work in progress."""
    threads = ThreadPoolExecutor(max(1, workers), thread_name_prefix=name)
    try:
        yield threads
    except BaseException as error:
        threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    threads.shutdown()


def apply_to_all(
    work: Callable[[T], R], items: Sequence[T], names: Sequence[str], workers: int, progress: Progress | None
) -> list[R]:
    """The results in the order of the items. The work is done by `interruptible` threads."""
    results: list[R] = []
    pending: deque[Future[R]] = deque()  # a limited number: a future takes more memory than a small result
    with interruptible(workers, "ingest") as threads:
        for number in range(len(items) + _AHEAD):
            if number < len(items):
                pending.append(threads.submit(work, items[number]))
            if number >= _AHEAD:
                name = names[len(results)]
                results.append(pending.popleft().result())
                if progress is not None:
                    progress(len(results), len(items), name)
    return results
