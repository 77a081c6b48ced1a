"""Commands of `qagen` that start at once: forked from one process that has loaded everything (`warm_process`)."""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
LENGTH = 8  # bytes that say how long an order is; the descriptors of its output and status come with them


class Command:
    """A command that runs; the part of `subprocess.Popen` that tests use."""

    def __init__(
        self, orders: _Orders, words: Sequence[str], folder: Path, environ: Mapping[str, str]
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._said = [Path(self._folder.name, stream) for stream in ("out", "err")]
        status, theirs = os.pipe()
        self._status = os.fdopen(status, "rb", buffering=0)
        given = [*(os.open(path, os.O_WRONLY | os.O_CREAT) for path in self._said), theirs]
        orders.send({"words": words, "folder": str(folder), "environ": dict(environ)}, given)
        for descriptor in given:
            os.close(descriptor)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, if it has ended; below zero the signal that ended it."""
        return self._wait(0)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float) -> tuple[str, str]:
        """What it said on both streams once it has ended. Raises subprocess.TimeoutExpired."""
        if self._wait(timeout) is None:
            raise subprocess.TimeoutExpired("qagen", timeout)
        with self._status, self._folder:
            out, err = (path.read_text() for path in self._said)
        return out, err

    def _wait(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(self._status.readline())
        return self.returncode


class _Orders:
    """The way to the process to fork, which all processes of one test run share; the first that needs it starts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        place = Path(tempfile.gettempdir(), f"warm-{run}")
        self._socket = socket.socket(socket.AF_UNIX)
        with FileLock(f"{place}.lock"):
            try:
                self._socket.connect(str(place))
            except OSError:
                self._process = _listening(place)
                self._socket.connect(str(place))

    def send(self, order: object, descriptors: list[int]) -> None:
        data = json.dumps(order).encode()
        with self._lock:
            socket.send_fds(self._socket, [len(data).to_bytes(LENGTH)], descriptors)
            self._socket.sendall(data)

    def close(self) -> None:
        self._socket.close()
        if self._process is not None:
            self._process.wait()  # it ends with the last connection


def _listening(place: Path) -> subprocess.Popen[bytes]:
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_process", str(listener.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )


@cache
def _orders() -> _Orders:
    orders = _Orders()
    atexit.register(orders.close)
    return orders


def start(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Command:
    """Begin `qagen` with these words; the caller waits for it."""
    return Command(_orders(), words, folder, environ)
