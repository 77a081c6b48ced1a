"""Locks between machines, for a store that can create an object on the condition that the object is missing.

A lock is an object that its holder makes, renews while it works, and removes. A holder that dies stops renewing it. Waiting
processes see this by their own clocks, so the clocks of the machines need not agree. Each of them then tries to make the next
lock, whose name contains the name of the dead holder. Only one of them succeeds.
"""

import logging
import threading
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

SECONDS = 30.0  # a holder that has not renewed its lock for this time counts as dead
_LOG = logging.getLogger(__name__)


class Objects(Protocol):
    """The part of the store that locks need."""

    def create(self, key: str, data: bytes) -> bool: ...

    def get(self, key: str) -> bytes | None: ...

    def write_bytes(self, key: str, data: bytes) -> None: ...

    def remove(self, key: str) -> None: ...


@contextmanager
def lease(objects: Objects, key: str, seconds: float = SECONDS) -> Generator[None]:
    """Hold the lock `key`, which counts as free when its holder has not renewed it for `seconds`.

    A holder that was only suspended for that long does not know that it has lost the lock.
    """
    owner = uuid.uuid4().hex
    name = _take(objects, key, owner, seconds)
    done = threading.Event()
    renewing = threading.Thread(target=_renew, args=(objects, name, owner, done, seconds / 3), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        done.set()
        renewing.join()
        objects.remove(key)  # first, because the maker of a later lock checks that this lock is unchanged
        if name != key:
            objects.remove(name)


def _take(objects: Objects, key: str, owner: str, seconds: float) -> str:
    """Wait until the lock is free or its holder is dead, then make the lock or the next lock. Returns the name of the made lock."""
    name, seen, since, first = key, b"", 0.0, b""
    while True:
        if objects.create(name, owner.encode()):
            if name == key or _holder(objects.get(key)) == first:
                return name
            objects.remove(name)  # the earlier locks were released meanwhile
            name = key
            continue
        found = objects.get(name)
        if found is None:
            name, seen = key, b""
        elif found != seen:
            seen, since = found, time.monotonic()
            first = _holder(found) if name == key else first
        elif time.monotonic() - since > seconds:
            name, seen = f"{key}-{_holder(found).decode()}", b""
            continue
        time.sleep(seconds / 60)


def _renew(objects: Objects, name: str, owner: str, done: threading.Event, seconds: float) -> None:
    number = 0
    while not done.wait(seconds):
        number += 1
        try:
            objects.write_bytes(name, f"{owner} {number}".encode())
        except Exception as error:  # each kind of store has its own errors; the next renewal may succeed
            _LOG.warning("the lock %s could not be renewed: %s", name, error)


def _holder(lock: bytes | None) -> bytes:
    return (lock or b"").partition(b" ")[0]
