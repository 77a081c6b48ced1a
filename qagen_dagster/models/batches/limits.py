"""How a batch endpoint is asked: within the pauses that its server wishes, for itself and for the model.

What belongs here: who waits before a call to it. What does not: how long a refused batch is tried again (`desk.py`), the
pauses themselves (`limits.py`). Requests and tokens per minute are of direct calls: servers count batches apart, by
what is enqueued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models import deadline
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.batches.wire import BatchProvider, JobStatus, Result
from qagen_dagster.models.limits.permits import limiter
from qagen_dagster.models.limits.rate import Limits
from qagen_dagster.models.messages import Request

T = TypeVar("T")


class LimitedBatch:
    """A batch endpoint whose calls heed pauses.

    A pause of the model's direct calls holds for them; one of theirs holds for all who use the endpoint on this
    machine, but not for direct calls: a full queue of batches says nothing about those.
    """

    def __init__(
        self, provider: BatchProvider, spec: ModelSpec, key_variable: str | None, folder: Path
    ) -> None:
        self._provider = provider
        self._direct = limiter(spec, key_variable, folder, Limits())
        self._own = limiter(spec, key_variable, folder, Limits(), of="batches")

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        return self._call(lambda: self._provider.submit(tag, requests))

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        return self._call(lambda: self._provider.find(tag, count, since))

    def poll(self, job_id: str) -> JobStatus:
        return self._call(lambda: self._provider.poll(job_id))

    def results(self, job_id: str) -> dict[str, Result]:
        return self._call(lambda: self._provider.results(job_id))

    def _call(self, send: Callable[[], T]) -> T:
        ends = deadline.call_ends()
        with self._direct.permit(0, ends), self._own.permit(0, ends) as permit:
            try:
                return send()
            except TransientModelError as error:
                permit.refused(error)
                raise
