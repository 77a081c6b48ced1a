"""Work for a sandbox whose first wall, the allow-list, is taken away: what is left must still hold."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def run(job: Any) -> object:
    """Do what the job names; the call that every sandbox makes first is a list of forms."""
    name = "warm" if isinstance(job, list) else job["do"]
    return {
        "warm": _warm,
        "import os": lambda: os.getpid(),
        "infinite loop": _loop,
        "memory bomb": lambda: len(bytearray(10**10)),
        "many small objects": _objects,
        "read a file": lambda: Path("/etc/hostname").read_text(),
        "write a file": lambda: Path(job["path"]).write_text("written"),
        "append to a file": lambda: Path(job["path"]).open("a").write("more"),
        "open a socket": lambda: socket.socket().connect(("127.0.0.1", 9)),
        "start a process": lambda: subprocess.run(["touch", job["path"]], check=True),
        "raise its limits": _raise_limits,
        "lie to the parent": _lie,
        "exit": lambda: os._exit(3),
        "crash": lambda: os.abort(),
        "recursion": _recursion,
        "threads": lambda: [threading.Thread(target=_loop).start() for _ in range(50)],
        "environment": lambda: sorted(os.environ),
        "flood": lambda: "x" * 5_000_000,
        "leave a child": _child,
    }[name]()


def _warm() -> object:
    return "warm"


def _loop() -> None:
    while True:
        pass


def _objects() -> int:
    kept: list[object] = []
    while True:
        kept.append([0] * 1000)


def _raise_limits() -> str:
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    return Path("/etc/hostname").read_text()


def _lie() -> None:
    for descriptor in range(1, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, b'{"values": [{"exact": "1", "numbers": ["1"]}]}\n')
            return
    raise OSError("every descriptor is closed")


def _recursion() -> int:
    sys.setrecursionlimit(10**9)
    return _deeper(0)


def _deeper(depth: int) -> int:
    return _deeper(depth + 1) + 1


def _child() -> None:
    if os.fork() == 0:
        _loop()
