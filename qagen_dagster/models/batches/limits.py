"""A batch endpoint that backs off when its server asks for a pause, of the endpoint or of the model.

What belongs here: waiting before a call to the endpoint. What does not: how long a refused batch is retried
(`batcher.py`), the pauses themselves (`limits/`). Limits of requests and tokens per minute are for direct calls:
servers count batches separately, by what is enqueued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from qagen_dagster.models import deadline
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.batches.wire import BatchProvider, JobStatus, Result
from qagen_dagster.models.limits.limiter import shared_limiter
from qagen_dagster.models.limits.rate import Limits
from qagen_dagster.models.messages import Request

T = TypeVar("T")


class LimitedBatch:
    """A batch endpoint whose calls wait for pauses.

    A pause of the model's direct calls holds for batches too. A pause of the batch endpoint holds for all who use the
    endpoint on this machine, but not for direct calls: a full queue of batches says nothing about those.
    """

    def __init__(
        self, provider: BatchProvider, spec: ModelSpec, key_variable: str | None, folder: Path
    ) -> None:
        self._provider = provider
        self._direct = shared_limiter(spec, key_variable, folder, Limits())
        self._own = shared_limiter(spec, key_variable, folder, Limits(), of="batches")

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        return self._call(lambda: self._provider.submit(tag, requests))

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        return self._call(lambda: self._provider.find(tag, count, since))

    def poll(self, job_id: str) -> JobStatus:
        return self._call(lambda: self._provider.poll(job_id))

    def results(self, job_id: str) -> dict[str, Result]:
        return self._call(lambda: self._provider.results(job_id))

    def _call(self, send: Callable[[], T]) -> T:
        with self._direct.attempt(0, deadline.call_ends()):
            return self._own.call(send)
