"""Anthropic's message batches: requests in one body, a job, one file of results.

What belongs here: the endpoint and the form of its lines. What does not: what a request or a response means
(`anthropic.py`), who waits (`desk.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import quote

import anthropic
from anthropic.types.messages import batch_create_params
from pydantic import AwareDatetime, Field

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.batches.wire import JobStatus, Result, expected, lines
from qagen_dagster.models.messages import Request
from qagen_dagster.models.wires import anthropic_client, faults
from qagen_dagster.models.wires.anthropic import request_body

_CLOCKS_DIFFER = timedelta(minutes=5)  # by at most so much, the server's and ours
_ONE_SENDING = timedelta(hours=1)  # a batch that was sent later than this was another
_PAGE = 1000


class _Counts(faults.Shape):
    canceled: int = 0
    errored: int = 0
    expired: int = 0
    processing: int = 0
    succeeded: int = 0

    @property
    def total(self) -> int:
        return self.canceled + self.errored + self.expired + self.processing + self.succeeded


class _Batch(faults.Shape):
    id: str = ""
    processing_status: str = ""
    created_at: AwareDatetime | None = None
    archived_at: AwareDatetime | None = None
    request_counts: _Counts = _Counts()


class _Created(faults.Shape):
    id: str = Field(min_length=1)


class _Page(faults.Shape):
    data: tuple[_Batch, ...] = ()


class _Outcome(faults.Shape):
    type: str
    message: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class _Line(faults.Shape):
    custom_id: str
    result: _Outcome


class AnthropicBatch:
    """`POST /v1/messages/batches` and what follows."""

    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        self._spec, self._key = spec, api_key
        self._client = anthropic_client.make_client(spec, api_key)

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        """A batch takes no name: `tag` is not sent."""
        wanted = [
            batch_create_params.Request(custom_id=key, params=cast("Any", request_body(request, self._spec)))
            for key, request in requests
        ]
        create = self._client.messages.batches.with_raw_response.create
        body = self._call(lambda: create(requests=wanted).http_response.text)
        return expected(_Created, body).id

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """By size and time alone; whether it is the right one, its keys will tell."""
        listed = self._client.messages.batches.with_raw_response.list
        page = expected(_Page, self._call(lambda: listed(limit=_PAGE).http_response.text))
        earliest, latest = since - _CLOCKS_DIFFER, since + _ONE_SENDING
        fitting = [
            (abs(batch.created_at - since), batch.id)
            for batch in page.data
            if batch.created_at is not None
            and earliest <= batch.created_at <= latest
            and batch.request_counts.total == count
        ]
        return [job_id for _, job_id in sorted(fitting)]

    def poll(self, job_id: str) -> JobStatus:
        batches = self._client.messages.batches.with_raw_response

        def look() -> str:
            try:
                return batches.retrieve(job_id).http_response.text
            except anthropic.NotFoundError as error:
                return error.response.text  # JSON that says no more than that

        batch = expected(_Batch, self._call(look))
        if not batch.id:
            return JobStatus(ended=True, note="the server does not know the batch")
        if batch.archived_at is not None:
            return JobStatus(ended=True, note="the batch is archived, its results are gone")
        return JobStatus(ended=batch.processing_status == "ended")

    def results(self, job_id: str) -> dict[str, Result]:
        """Asked for at our own address: what the server names as theirs would be given the key, wherever it is."""

        def fetch() -> str:
            try:
                path = f"/v1/messages/batches/{quote(job_id, safe='')}/results"
                return self._client.get(path, cast_to=str)
            except anthropic.NotFoundError:
                return ""

        text = anthropic_client.call_text(self._spec, fetch, self._key)
        found = lines(_Line, self._spec.name, text, self._key)
        return {line.custom_id: self._result(line.result) for line in found}

    def _result(self, outcome: _Outcome) -> Result:
        if outcome.type == "succeeded" and outcome.message is not None:
            return outcome.message
        if outcome.type == "errored" and outcome.error is not None:
            return faults.from_error_body(
                self._spec.name, outcome.error.get("error", outcome.error), self._key
            )
        told = f"{self._spec.name}: not answered in the batch: {outcome.type}"
        return TransientModelError(faults.scrub(told, self._key))

    def _call(self, send: Callable[[], str]) -> dict[str, Any]:
        return anthropic_client.call(self._spec, send, self._key)
