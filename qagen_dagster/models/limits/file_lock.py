"""A file as a lock between processes and threads. `unlock`, or the end of the process, releases it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def lock(path: Path, how: int) -> int:
    """Open and lock a file, and make it if it is missing. Raises OSError; BlockingIOError if `how` forbids waiting."""
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
        os.close(file)  # somebody deleted the file meanwhile: lock the new one


def unlock(file: int) -> None:
    """Release a lock. To close the file is not enough, because a forked child may hold a copy open."""
    fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def _is_at(path: Path, file: int) -> bool:
    try:
        there, ours = path.stat(), os.fstat(file)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
