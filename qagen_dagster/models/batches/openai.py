"""OpenAI's batches: a file of requests for the Responses API, a job over it, two files of results.

What belongs here: the two endpoints (`files`, `batches`) and the form of their lines. What does not: what a
request or a response means (`openai.py`), who waits (`desk.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, cast

import openai
from pydantic import Field

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.batches.wire import JobStatus, Result, expected, lines
from qagen_dagster.models.messages import Request
from qagen_dagster.models.wires import faults, openai_client
from qagen_dagster.models.wires.openai import request_body

_ENDPOINT: Literal["/v1/responses"] = "/v1/responses"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CROWDED = "token_limit_exceeded"  # "Enqueued token limit reached", said of a batch that was taken at first
_CLOCKS_DIFFER = timedelta(minutes=5)  # by at most so much, the server's and ours
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


class OpenAIBatch:
    """`POST /files`, `POST /batches` and what follows."""

    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        self._spec, self._key = spec, api_key
        self._client = openai_client.make_client(spec, api_key)
        self._uploaded: dict[str, str] = {}  # files by tag, of batches that were not taken yet

    def submit(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        file_id = self._uploaded.get(tag)
        if file_id is None:
            file_id = self._uploaded[tag] = self._upload(tag, requests)
        batches = self._client.batches.with_raw_response
        created = openai_client.call(
            self._spec,
            lambda: batches.create(
                completion_window="24h", endpoint=_ENDPOINT, input_file_id=file_id, metadata={"tag": tag}
            ),
            self._key,
        )
        del self._uploaded[tag]
        return expected(_File, created).id

    def _upload(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        wanted = [
            {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": request_body(request, self._spec)}
            for key, request in requests
        ]
        data = "".join(f"{json.dumps(one)}\n" for one in wanted).encode()
        files = self._client.files.with_raw_response
        file = openai_client.call(
            self._spec,
            lambda: files.create(file=(f"{tag}.jsonl", data, "application/jsonl"), purpose="batch"),
            self._key,
        )
        return expected(_File, file).id

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """Exact: a batch carries its tag."""
        oldest = (since - _CLOCKS_DIFFER).timestamp()
        for batch in self._newest():
            if batch.created_at < oldest:
                break
            if (batch.metadata or {}).get("tag") == tag:
                return [batch.id]
        return []

    def _newest(self) -> Iterator[_Batch]:
        batches = self._client.batches.with_raw_response
        after: str | openai.Omit = openai.omit
        for _ in range(_MOST_PAGES):
            body = openai_client.call(
                self._spec, lambda after=after: batches.list(limit=_PAGE, after=after), self._key
            )
            page = expected(_Page, body)
            yield from page.data
            if not page.has_more or not page.data:
                return
            after = page.data[-1].id

    def poll(self, job_id: str) -> JobStatus:
        batch = self._retrieve(job_id)
        if not batch.id:
            return JobStatus(ended=True, note="the server does not know the batch")
        if batch.status not in _ENDED:
            return JobStatus(ended=False)
        said = [f"{one.code}: {one.message}" for one in (batch.errors and batch.errors.data) or ()]
        well = batch.status == "completed" and not said
        told = "" if well else "; ".join((f"the batch is {batch.status}", *said[:3]))
        crowded = batch.status == "failed" and any(
            one.code == _CROWDED for one in (batch.errors and batch.errors.data) or ()
        )
        return JobStatus(ended=True, note=faults.scrub(told, self._key), crowded=crowded)

    def _retrieve(self, job_id: str) -> _Batch:
        """The batch; one without an id where there is none."""
        batches = self._client.batches.with_raw_response

        def look() -> openai_client.RawResponse:
            try:
                return batches.retrieve(job_id)
            except openai.NotFoundError as error:
                return error.response  # JSON that says no more than that

        return expected(_Batch, openai_client.call(self._spec, look, self._key))

    def results(self, job_id: str) -> dict[str, Result]:
        batch = self._retrieve(job_id)
        found: dict[str, Result] = {}
        for file_id in (batch.error_file_id, batch.output_file_id):
            text = self._file(file_id) if file_id else ""
            for line in lines(_Line, self._spec.name, text, self._key):
                found[line.custom_id] = self._result(line)
        return found

    def _file(self, file_id: str) -> str:
        """The content of a file; nothing where it has expired."""
        files = self._client.files.with_raw_response
        gone = False

        def fetch() -> openai_client.RawResponse:
            nonlocal gone
            try:
                return files.content(file_id)
            except openai.NotFoundError as error:
                gone = True
                return error.response

        text = openai_client.call_text(self._spec, fetch, self._key)
        return "" if gone else text

    def _result(self, line: _Line) -> Result:
        name = self._spec.name
        if line.response is None:  # never worked on, as when the batch expired
            error = line.error or {}
            told = f"{name}: not answered in the batch: {error.get('code')}: {error.get('message')}"
            return TransientModelError(faults.scrub(told, self._key))
        status, body = line.response.status_code, line.response.body
        if status != 200 or not isinstance(body, dict):
            return faults.from_status(name, status or 500, body, {}, self._key)
        answer = cast("dict[str, Any]", body)
        if answer.get("status") == "failed" or answer.get("error"):
            return faults.from_error_body(name, answer.get("error"), self._key)
        return answer
