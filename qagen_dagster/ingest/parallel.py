"""Applies a function to the files or documents of a corpus in threads, and ends at once when the run is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int, str], None]  # done, all, name


def apply_to_all(
    work: Callable[[T], R], items: Sequence[T], names: Sequence[str], workers: int, progress: Progress | None
) -> list[R]:
    """The results in the order of the items. An interrupt does not wait for work in progress, and nothing more begins."""
    results: list[R] = []
    threads = ThreadPoolExecutor(max(1, workers), thread_name_prefix="ingest")
    try:
        for name, result in zip(names, threads.map(work, items), strict=True):
            results.append(result)
            if progress is not None:
                progress(len(results), len(items), name)
    except BaseException as error:
        threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    threads.shutdown()
    return results
