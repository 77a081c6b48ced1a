"""OpenAI's batches: a file of requests for the Responses API, a batch over it, two files of results.

What belongs here: the two endpoints (`files`, `batches`) and the format of their lines. What does not: the meaning
of a request or a response (`wires/openai.py`), waiting (`batcher.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, cast

import openai
from pydantic import Field

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.batches.wire import CLOCKS_DIFFER, UNKNOWN, JobStatus, Result, expected, lines
from qagen_dagster.models.messages import Request
from qagen_dagster.models.wires import faults
from qagen_dagster.models.wires.openai import failed, request_body
from qagen_dagster.models.wires.openai_client import OpenAIClient

_ENDPOINT: Literal["/v1/responses"] = "/v1/responses"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CROWDED = "token_limit_exceeded"  # "Enqueued token limit reached", said of a batch that was taken at first
_PAGE, _MOST_PAGES = 100, 10


class _Error(faults.Shape):
    code: str | None = None
    message: str | None = None


class _Errors(faults.Shape):
    data: tuple[_Error, ...] | None = None


class _Batch(faults.Shape):
    id: str = ""
    status: str = ""
    created_at: int = 0
    metadata: dict[str, str] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Errors | None = None


class _Page(faults.Shape):
    data: tuple[_Batch, ...] = ()
    has_more: bool = False


class _Answer(faults.Shape):
    status_code: int = 0
    body: Any = None


class _Line(faults.Shape):
    custom_id: str
    response: _Answer | None = None
    error: dict[str, Any] | None = None


class _File(faults.Shape):
    id: str = Field(min_length=1)


class OpenAIBatch(OpenAIClient):
    """`POST /files`, `POST /batches` and the calls that follow them."""

    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        super().__init__(spec, api_key)
        self._uploaded: dict[str, str] = {}  # files by tag, of batches that the server has not accepted yet

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        file_id = self._uploaded.get(tag)
        if file_id is None:
            file_id = self._uploaded[tag] = self._upload(tag, requests)
        batches = self.client.batches.with_raw_response
        created = self.call(
            lambda: (
                batches.create(
                    completion_window="24h", endpoint=_ENDPOINT, input_file_id=file_id, metadata={"tag": tag}
                ).text
            )
        )
        del self._uploaded[tag]
        return expected(_File, created).id

    def _upload(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        wanted = [
            {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": request_body(request, self._spec)}
            for key, request in requests
        ]
        data = "".join(f"{json.dumps(one)}\n" for one in wanted).encode()
        files, named = self.client.files.with_raw_response, (f"{tag}.jsonl", data, "application/jsonl")
        return expected(_File, self.call(lambda: files.create(file=named, purpose="batch").text)).id

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """At most one, because a batch carries its tag."""
        oldest = (since - CLOCKS_DIFFER).timestamp()
        for batch in self._newest():
            if batch.created_at < oldest:
                break
            if (batch.metadata or {}).get("tag") == tag:
                return [batch.id]
        return []

    def _newest(self) -> Iterator[_Batch]:
        batches = self.client.batches.with_raw_response
        after: str | openai.Omit = openai.omit
        for _ in range(_MOST_PAGES):
            body = self.call(lambda after=after: batches.list(limit=_PAGE, after=after).text)
            page = expected(_Page, body)
            yield from page.data
            if not page.has_more or not page.data:
                return
            after = page.data[-1].id

    def poll(self, job_id: str) -> JobStatus:
        batch = self._retrieve(job_id)
        if not batch.id:
            return UNKNOWN
        if batch.status not in _ENDED:
            return JobStatus(ended=False)
        errors = (batch.errors and batch.errors.data) or ()
        said = [f"{one.code}: {one.message}" for one in errors]
        well = batch.status == "completed" and not said
        told = "" if well else "; ".join((f"the batch is {batch.status}", *said[:3]))
        crowded = batch.status == "failed" and any(one.code == _CROWDED for one in errors)
        return JobStatus(ended=True, note=self.scrub(told), crowded=crowded)

    def _retrieve(self, job_id: str) -> _Batch:
        """The batch; it has no id if the server does not know it."""
        batches = self.client.batches.with_raw_response

        def look() -> str:
            try:
                return batches.retrieve(job_id).text
            except openai.NotFoundError as error:
                return error.response.text  # JSON without an id

        return expected(_Batch, self.call(look))

    def results(self, job_id: str) -> dict[str, Result]:
        batch, files = self._retrieve(job_id), self.client.files.with_raw_response
        found: dict[str, Result] = {}
        for file_id in (batch.error_file_id, batch.output_file_id):
            if file_id is None:
                continue
            # A file that has expired counts as empty.
            text = self.call_text(lambda file_id=file_id: files.content(file_id).text, absent="")
            for line in lines(_Line, self._spec.name, text, self._key):
                found[line.custom_id] = self._result(line)
        return found

    def _result(self, line: _Line) -> Result:
        name = self._spec.name
        if line.response is None:  # the server never worked on it, for example because the batch expired
            error = line.error or {}
            told = f"{name}: not answered in the batch: {error.get('code')}: {error.get('message')}"
            return TransientModelError(self.scrub(told))
        status, body = line.response.status_code, line.response.body
        if status != 200 or not isinstance(body, dict):
            return faults.from_status(name, status or 500, body, {}, self._key)
        answer = cast("dict[str, Any]", body)
        return self.failure(answer.get("error")) if failed(answer) else answer
