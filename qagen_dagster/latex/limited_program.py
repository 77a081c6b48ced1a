"""Runs a program on untrusted input in a folder of its own, under limits on processor time, memory, files, processes and wall time, and
without network access if the system can block it.

The program cannot lift the limits, and every process that it starts is killed with it. Limits need a POSIX system.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_LOOK = 0.05  # seconds between two checks of a running program
_MOST_OUTPUT = 200_000
_PROBE_SECONDS = 10  # processor time of the check whether the network can be closed
# Runs in a separate interpreter before exec of the program, so that this multi-threaded process never forks.
_LAUNCH = """
import ctypes, json, os, resource, sys
limits = json.loads(sys.argv[1])
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
try:
    closed = ctypes.CDLL(None, use_errno=True).unshare(NEW_USER | NEW_NETWORK) == 0
except (OSError, AttributeError):
    closed = False
for name, value in limits.items():
    if value is None:
        continue
    kind = getattr(resource, "RLIMIT_" + name)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        pass
if sys.argv[2] == "":
    sys.exit(0 if closed else 1)
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class ProgramLimits:
    """Limits of one program. The wall time may be twice `seconds`."""

    seconds: int  # of processor time
    memory_bytes: int = 1_000_000_000
    file_bytes: int = 20_000_000
    folder_bytes: int = 100_000_000
    processes: int | None = 0  # child processes; None: no limit


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code (negative: the signal), its output, and why it was stopped, if it was."""

    code: int
    output: str
    stopped: str = ""


def run_limited(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limits: ProgramLimits
) -> Ended:
    """Run `command` (its first part a path) in `folder` with only that environment, and wait for its end."""
    with tempfile.TemporaryFile() as written:
        process = subprocess.Popen(  # noqa: S603 (a program that was looked up, no shell)
            [*_launcher(limits), *command],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # killed together with what it starts
        )
        try:
            stopped = _watch(process, folder, limits)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        size = written.seek(0, os.SEEK_END)
        written.seek(max(0, size - _MOST_OUTPUT))
        output = written.read().decode("utf-8", "replace")
    return Ended(code, output, stopped or _signalled(code))


@lru_cache(maxsize=1)
def network_closed() -> bool:
    """Whether this system can start a program without network access."""
    ended = subprocess.run(  # noqa: S603 (our own interpreter and code)
        [*_launcher(ProgramLimits(seconds=_PROBE_SECONDS)), ""],
        check=False,
        capture_output=True,
        timeout=60,
        cwd="/",
    )
    return ended.returncode == 0


def _launcher(limits: ProgramLimits) -> list[str]:
    values = {
        "CPU": limits.seconds,
        "AS": limits.memory_bytes,
        "FSIZE": limits.file_bytes,
        "NOFILE": 256,
        "CORE": 0,
        "NPROC": limits.processes,
    }
    return [sys.executable, "-I", "-S", "-c", _LAUNCH, json.dumps(values)]


def _watch(process: subprocess.Popen[bytes], folder: Path, limits: ProgramLimits) -> str:
    """Wait for the end of the program. Returns the reason why it must be stopped, or an empty string."""
    deadline = time.monotonic() + 2 * limits.seconds
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
            return ""
        if time.monotonic() > deadline:
            return f"it was not done in {2 * limits.seconds} s"
        if sum(_sizes(folder)) > limits.folder_bytes:
            return f"it wrote more than {limits.folder_bytes // 1_000_000} MB"


def _sizes(folder: Path) -> Iterator[int]:
    for place in folder.rglob("*"):
        with contextlib.suppress(OSError):  # deleted since it was listed
            yield place.lstat().st_size


def _signalled(code: int) -> str:
    if code >= 0:
        return ""
    name = signal.Signals(-code).name
    return {
        "SIGXCPU": "its processor time ran out",
        "SIGKILL": "its processor time ran out",
        "SIGXFSZ": "it wrote too large a file",
        "SIGSEGV": "it broke down, out of memory or otherwise",
    }.get(name, f"it ended with {name}")
