"""Notices interrupts that Dagster drops: it catches them during a run, and forgets those that come after the last step."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def noticed_interrupts() -> Generator[Callable[[], bool]]:
    """A function that tells whether the process was asked to stop since the context began, whatever handled the signal."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield lambda: False
        return
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)

    def noticed() -> bool:
        try:
            return not {signal.SIGINT, signal.SIGTERM}.isdisjoint(os.read(reader, 4096))
        except BlockingIOError:
            return False

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield noticed
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
