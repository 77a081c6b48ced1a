"""Locks as they are when another thread forks the process while they are held: the child keeps the files open."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable

import pytest


class ForkedChild:
    """Keeps a copy of every file that is locked from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0  # locks that were asked for
        self._copies: list[int] = []
        self._flock = fcntl.flock
        monkeypatch.setattr(fcntl, "flock", self._keep)

    def wait_until_asked(self, times: int) -> None:
        """Wait until somebody has asked for a lock that many times, and waits for it."""
        _until(lambda: self.begun >= times)
        time.sleep(0.05)

    def end(self) -> None:
        for copy in self._copies:
            os.close(copy)

    def _keep(self, file: int, how: int) -> None:
        if how == fcntl.LOCK_UN:
            self._flock(file, how)
            return
        self.begun += 1
        self._flock(file, how)
        self._copies.append(os.dup(file))


def _until(done: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("nobody asked for the lock")
