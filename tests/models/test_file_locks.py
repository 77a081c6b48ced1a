from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models.file_locks import lock, unlock
from qagen_dagster.models.rate_limits import Limiter, RateLimits
from tests.support.forked import ForkedChild

NEVER = float("inf")


def use(limiter: Limiter, ends: float) -> None:
    with limiter.attempt(1, ends):
        pass


def test_never_more_than_the_places_are_held_and_everybody_gets_one(tmp_path: Path) -> None:
    limiters = [Limiter("m", RateLimits(concurrency=3), tmp_path / "shared") for _ in range(4)]
    guard, held, most = threading.Lock(), 0, 0

    def work(number: int) -> int:
        nonlocal held, most
        with limiters[number % 4].attempt(1, time.monotonic() + 60):
            with guard:
                held += 1
                most = max(most, held)
            time.sleep(0.002)
            with guard:
                held -= 1
        return number

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(work, range(60))) == list(range(60))
    assert most == 3


def _hold(path: Path, ready: Any) -> None:
    with Limiter("m", RateLimits(concurrency=2), path).attempt(1, NEVER):
        ready.set()
        time.sleep(600)


def test_a_killed_process_gives_its_places_back(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    limiter = Limiter("m", RateLimits(concurrency=2), tmp_path / "shared")
    holders = []
    for _ in range(2):
        ready = spawn.Event()
        holder = spawn.Process(target=_hold, args=(tmp_path / "shared", ready))
        holder.start()
        assert ready.wait(60)
        holders.append(holder)
    with pytest.raises(TransientModelError, match="all 2 concurrent calls"):
        use(limiter, ends=time.monotonic() + 0.1)
    for holder in holders:
        os.kill(holder.pid, signal.SIGKILL)
        holder.join()
    with limiter.attempt(1, time.monotonic() + 60):
        use(limiter, ends=time.monotonic() + 60)


def test_who_waits_does_not_starve_beside_a_busy_neighbour(tmp_path: Path) -> None:
    """One process that takes a place again as soon as it has given it back, and one that waits."""
    spawn = multiprocessing.get_context("spawn")
    ready, stop = spawn.Event(), spawn.Event()
    busy = spawn.Process(target=_again_and_again, args=(tmp_path / "shared", ready, stop))
    busy.start()
    try:
        assert ready.wait(60)
        limiter = Limiter("m", RateLimits(concurrency=1), tmp_path / "shared")
        for _ in range(5):
            use(limiter, ends=time.monotonic() + 60)
    finally:
        stop.set()
        busy.join()
    assert busy.exitcode == 0


def _again_and_again(path: Path, ready: Any, stop: Any) -> None:
    limiter = Limiter("m", RateLimits(concurrency=1), path)
    while not stop.is_set():
        with limiter.attempt(1, NEVER):
            ready.set()
            time.sleep(0.01)


def test_a_forked_child_keeps_no_place_and_no_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = ForkedChild(monkeypatch)
    limiter = Limiter("m", RateLimits(requests=600_000, concurrency=1), tmp_path / "shared")
    user = threading.Thread(
        target=lambda: [use(limiter, time.monotonic() + 5) for _ in range(3)], daemon=True
    )
    user.start()
    user.join(20)
    child.end()
    assert not user.is_alive()
    queue = lock(tmp_path / "shared.queue", fcntl.LOCK_EX | fcntl.LOCK_NB)
    unlock(queue)
