"""Places for requests in flight, shared by all threads and processes of one machine.

A place is a file; who holds its lock holds the place, so a killed process gives back what it held. What
does not belong here: rates (`rate.py`).

Threads of one process stand in line, and the first looks for a free place. Where others wait already, a newcomer
does not take one in passing: it waits and looks like them, so that nobody starves.
"""

from __future__ import annotations

import fcntl
import os
import random
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path

from qagen_dagster.models.limits.file_lock import lock

_LOOK = (0.005, 0.025)  # seconds between two looks for a free place, at random
_CHANCE = random.SystemRandom()


class Line:
    """First come, first served, for the threads of this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    def enter(self, seconds: float) -> bool:
        """Wait to be first; False when that was not within `seconds`."""
        turn = threading.Event()
        with self._guard:
            self._waiting.append(turn)
            if len(self._waiting) == 1:
                turn.set()
        if turn.wait(max(0.0, min(seconds, threading.TIMEOUT_MAX))):
            return True
        with self._guard:
            if turn.is_set():
                return True
            self._waiting.remove(turn)
            return False

    def leave(self) -> None:
        """Let the next one be first."""
        with self._guard:
            self._waiting.popleft()
            if self._waiting:
                self._waiting[0].set()


@cache
def _line(path: Path) -> Line:
    return Line()


class Slots:
    """The places named after `path`."""

    def __init__(self, path: Path, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._path, self._clock, self._sleep = path, clock, sleep
        self._line = _line(path)

    def take(self, allowed: Callable[[], int], deadline: float) -> int:
        """Wait for one of the first `allowed()` places; it must be given back. Raises TimeoutError at `deadline`, and OSError."""
        if not self._line.enter(deadline - self._clock()):
            raise TimeoutError
        try:
            found = self._in_passing(allowed)
            return self._wait(allowed, deadline) if found is None else found
        finally:
            self._line.leave()

    @staticmethod
    def give_back(place: int) -> None:
        fcntl.flock(place, fcntl.LOCK_UN)  # a child made by fork may hold a copy open
        os.close(place)

    def _in_passing(self, allowed: Callable[[], int]) -> int | None:
        """A free place, unless somebody in another process waits for one."""
        queue = self._try(".queue")
        if queue is None:
            return None
        try:
            return self._free(allowed())
        finally:
            os.close(queue)

    def _wait(self, allowed: Callable[[], int], deadline: float) -> int:
        queue = lock(self._path.with_suffix(".queue"), fcntl.LOCK_SH)
        try:
            while True:
                nap = _CHANCE.uniform(*_LOOK)
                if self._clock() + nap > deadline:
                    raise TimeoutError
                self._sleep(nap)
                found = self._free(allowed())
                if found is not None:
                    return found
        finally:
            os.close(queue)

    def _free(self, allowed: int) -> int | None:
        first = _CHANCE.randrange(allowed)
        for number in range(allowed):
            place = self._try(f".place-{(first + number) % allowed}")
            if place is not None:
                return place
        return None

    def _try(self, suffix: str) -> int | None:
        try:
            return lock(self._path.with_suffix(suffix), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
