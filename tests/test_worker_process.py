"""A worker that used up its time is reported with the kind of time that was limited."""

from __future__ import annotations

import time

import pytest

from qagen_dagster.worker_process import Answer, Worker, WorkerError


def prepare(hello: object) -> Answer:
    """In the worker: a job is a number of seconds to sleep."""
    return time.sleep


def test_a_limit_of_wall_time_is_not_called_processor_time() -> None:
    worker = Worker("sleeper", "tests.test_worker_process:prepare", None)
    try:
        with pytest.raises(WorkerError) as raised:
            worker.ask(30, 0.3, wall=True)
    finally:
        worker.end()
    assert str(raised.value) == "not done within 0.3 seconds"
