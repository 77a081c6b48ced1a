"""Anthropic's message batches: one body with all requests, a batch at the server, one file of results.

What belongs here: the endpoint and the format of its lines. What does not: the meaning of a request or a response
(`wires/anthropic.py`), waiting (`batcher.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import quote

import anthropic
from anthropic.types.messages import batch_create_params
from pydantic import AwareDatetime, Field

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models.batches.wire import CLOCKS_DIFFER, UNKNOWN, JobStatus, Result, expected, lines
from qagen_dagster.models.messages import Request
from qagen_dagster.models.wires import faults
from qagen_dagster.models.wires.anthropic import request_body
from qagen_dagster.models.wires.anthropic_client import AnthropicClient

_ONE_SENDING = timedelta(hours=1)  # a batch that was created later than this is another one
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


class AnthropicBatch(AnthropicClient):
    """`POST /v1/messages/batches` and the calls that follow it."""

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        """The endpoint takes no name for a batch, so `tag` is not sent."""
        wanted = [
            batch_create_params.Request(custom_id=key, params=cast("Any", request_body(request, self._spec)))
            for key, request in requests
        ]
        create = self.client.messages.batches.with_raw_response.create
        return expected(_Created, self.call(lambda: create(requests=wanted).http_response.text)).id

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """By size and time alone; the keys of its results show whether it is the right one."""
        listed = self.client.messages.batches.with_raw_response.list
        page = expected(_Page, self.call(lambda: listed(limit=_PAGE).http_response.text))
        earliest, latest = since - CLOCKS_DIFFER, since + _ONE_SENDING
        fitting = [
            (abs(batch.created_at - since), batch.id)
            for batch in page.data
            if batch.created_at is not None
            and earliest <= batch.created_at <= latest
            and batch.request_counts.total == count
        ]
        return [job_id for _, job_id in sorted(fitting)]

    def poll(self, job_id: str) -> JobStatus:
        batches = self.client.messages.batches.with_raw_response

        def look() -> str:
            try:
                return batches.retrieve(job_id).http_response.text
            except anthropic.NotFoundError as error:
                return error.response.text  # JSON without an id

        batch = expected(_Batch, self.call(look))
        if not batch.id:
            return UNKNOWN
        if batch.archived_at is not None:
            return JobStatus(ended=True, note="the batch is archived, its results are gone")
        return JobStatus(ended=batch.processing_status == "ended")

    def results(self, job_id: str) -> dict[str, Result]:
        """From an address built here: the one that the server names could be anywhere, and would get the key."""
        path = f"/v1/messages/batches/{quote(job_id, safe='')}/results"
        text = self.call_text(lambda: self.client.get(path, cast_to=str), absent="")
        found = lines(_Line, self._spec.name, text, self._key)
        return {line.custom_id: self._result(line.result) for line in found}

    def _result(self, outcome: _Outcome) -> Result:
        if outcome.type == "succeeded" and outcome.message is not None:
            return outcome.message
        if outcome.type == "errored" and outcome.error is not None:
            return self.failure(outcome.error.get("error", outcome.error))
        return TransientModelError(
            self.scrub(f"{self._spec.name}: not answered in the batch: {outcome.type}")
        )
