from __future__ import annotations

import os
import signal
import threading

from dagster._utils.interrupts import capture_interrupts

from qagen_dagster.defs.interrupts import noticed_interrupts


def test_an_interrupt_that_dagster_drops_is_noticed() -> None:
    with noticed_interrupts() as interrupted:
        assert not interrupted()
        with capture_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
        assert interrupted()
    with noticed_interrupts() as interrupted:
        assert not interrupted()


def test_other_threads_get_no_signals() -> None:
    told: list[bool] = []

    def work() -> None:
        with noticed_interrupts() as interrupted:
            told.append(interrupted())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert told == [False]
