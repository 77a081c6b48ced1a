"""Memory and open files of processes, from Linux; 0 elsewhere and for a process that has ended."""

from __future__ import annotations

import re
from pathlib import Path

import psutil


def peak_mb(process: int) -> int:
    """The most memory that a process has had."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) // 1000 if found else 0


def resident_mb(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss // 1_000_000
    except psutil.Error:
        return 0


def open_files(process: psutil.Process) -> int:
    try:
        return process.num_fds()
    except psutil.Error:
        return 0
