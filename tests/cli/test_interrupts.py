from __future__ import annotations

import signal
import subprocess
import sys
import threading

from qagen_dagster.cli.interrupts import INTERRUPTED, interrupts_are_final

DROPS = """
import time
from contextlib import suppress
from qagen_dagster.cli import interrupts
interrupts._GRACE = 0.1
with interrupts.interrupts_are_final():
    with suppress(KeyboardInterrupt):
        print("ready", flush=True)
        time.sleep(60)
    time.sleep(60)
"""


def test_a_dropped_interrupt_ends_the_command() -> None:
    command = [sys.executable, "-c", DROPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=30)[1]
    assert process.returncode == INTERRUPTED
    assert err.splitlines()[-1].startswith("qagen: error: interrupted; finished work is kept")


def test_without_an_interrupt_nothing_is_left() -> None:
    before = threading.active_count()
    with interrupts_are_final():
        assert threading.active_count() == before + 1
    for thread in threading.enumerate():
        if thread.daemon and "_leave_after_signal" in thread.name:
            thread.join(10)
    assert threading.active_count() == before
    assert signal.set_wakeup_fd(-1) == -1
