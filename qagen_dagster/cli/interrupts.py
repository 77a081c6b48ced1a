"""Ends a command that was interrupted, even if Dagster drops the interrupt."""

import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from qagen_dagster.cli.echo import echo

INTERRUPTED = 130  # as shells report a process that SIGINT ended
_GRACE = 2.0  # seconds in which the run can still be recorded as interrupted


def leave() -> NoReturn:
    """End the process without waiting for model calls in flight. This is safe, because files are written atomically."""
    echo("qagen: error: interrupted; finished work is kept, run the same command again to resume", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


@contextmanager
def interrupts_are_final() -> Generator[None]:
    """End the process soon after an interrupt, even if other code has caught the KeyboardInterrupt.

    Dagster catches interrupts during a run, and forgets interrupts that come between two steps.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_leave_after_signal, args=(reader,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)


def _leave_after_signal(reader: int) -> None:
    """End the process after a signal to interrupt or terminate it. The end of the pipe means that no signal came."""
    with os.fdopen(reader, "rb", buffering=0) as signals:
        while number := signals.read(1):
            if number[0] in (signal.SIGINT, signal.SIGTERM):
                time.sleep(_GRACE)
                leave()
