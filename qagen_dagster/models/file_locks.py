"""Locks between the threads and processes of one machine, made of files: a lock, and a semaphore of several locked files.

When a process ends, its locks are released. Each permit of the semaphore is a file, and the holder of the file's lock holds the permit.
Threads of one process queue in order, and the first of them looks for a free permit. While other processes wait, a newcomer does not
take a permit at once, but polls like them, so that nobody starves. Rate limits are in `rate_limits.py`.
"""

import fcntl
import os
import random
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path


def lock(path: Path, how: int) -> int:
    """Open and lock a file, and make it if it is missing. `how` is an operation of `fcntl.flock`. Returns the file descriptor.
    Raises OSError, which is a BlockingIOError if the file is locked and `how` forbids waiting."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        try:
            fcntl.flock(file, how)
            if _is_at(path, file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the file was deleted meanwhile, so the next round locks a new file


def unlock(file: int) -> None:
    """Release a lock. Closing the file is not enough, because a forked child may hold a copy open."""
    fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


_POLL = (0.005, 0.025)  # seconds between two searches for a free permit, chosen at random
_CHANCE = random.SystemRandom()


class FairLock:
    """A lock for the threads of this process, which get it in the order of their requests."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()  # the first one holds the lock

    def acquire(self, seconds: float) -> bool:
        """Wait for the lock. Returns False if it was not free within `seconds`."""
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            if self._changed.wait_for(lambda: self._waiting[0] is turn, min(seconds, threading.TIMEOUT_MAX)):
                return True
            self._waiting.remove(turn)
            return False

    def release(self) -> None:
        with self._changed:
            self._waiting.popleft()
            self._changed.notify_all()


@cache
def _fair_lock(path: Path) -> FairLock:
    return FairLock()


class Semaphore:
    """A semaphore for threads and processes. Its files are named after `path`."""

    def __init__(self, path: Path, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._path, self._clock, self._sleep = path, clock, sleep
        self._fair_lock = _fair_lock(path)

    def acquire(self, allowed: Callable[[], int], deadline: float) -> int:
        """Wait for one of `allowed()` permits and return it. The caller must release it. Raises TimeoutError at `deadline`, and OSError."""
        if not self._fair_lock.acquire(deadline - self._clock()):
            raise TimeoutError
        try:
            found = self._at_once(allowed)
            return self._wait(allowed, deadline) if found is None else found
        finally:
            self._fair_lock.release()

    @staticmethod
    def release(permit: int) -> None:
        unlock(permit)

    def _at_once(self, allowed: Callable[[], int]) -> int | None:
        """A free permit; None if no permit is free or another process waits for one."""
        queue = self._try(".queue")
        if queue is None:
            return None
        try:
            return self._free(allowed())
        finally:
            unlock(queue)

    def _wait(self, allowed: Callable[[], int], deadline: float) -> int:
        queue = lock(self._path.with_suffix(".queue"), fcntl.LOCK_SH)
        try:
            while True:
                nap = _CHANCE.uniform(*_POLL)
                if self._clock() + nap > deadline:
                    raise TimeoutError
                self._sleep(nap)
                found = self._free(allowed())
                if found is not None:
                    return found
        finally:
            unlock(queue)

    def _free(self, allowed: int) -> int | None:
        first = _CHANCE.randrange(allowed)
        for number in range(allowed):
            permit = self._try(f".place-{(first + number) % allowed}")
            if permit is not None:
                return permit
        return None

    def _try(self, suffix: str) -> int | None:
        try:
            return lock(self._path.with_suffix(suffix), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
