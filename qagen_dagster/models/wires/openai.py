"""OpenAI's own wire: the Responses API, its batches, and the client of OpenAI's SDK, which the other wires with OpenAI's SDK share.

Responses are not stored on the server: it returns reasoning items with encrypted content, and the next turn sends them back. Pictures
of tool results are part of `function_call_output`. A batch is a file of requests, a job over this file, and two files of results.
`batcher.py` collects requests and waits.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, cast

import openai
from pydantic import BeforeValidator, ConfigDict

from qagen_dagster.errors import MalformedResponseError, TransientModelError
from qagen_dagster.models import structured_output
from qagen_dagster.models.base import CLOCKS_DIFFER, UNKNOWN_JOB, BatchResult, JobStatus
from qagen_dagster.models.messages import (
    AssistantPart,
    Content,
    Message,
    Request,
    Response,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires import sdk_client, workarounds
from qagen_dagster.models.wires.sdk_client import SdkClient, SdkErrors, expected, result_lines
from qagen_dagster.models.wires.server_errors import failure_in, from_status
from qagen_dagster.records.ids import digest

_ERRORS = SdkErrors(
    openai.APIStatusError, openai.APITimeoutError, openai.APIConnectionError, openai.OpenAIError
)


class OpenAIClient(SdkClient[openai.OpenAI]):
    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        super().__init__(spec, api_key, openai.OpenAI, "https://api.openai.com/v1", _ERRORS)
        if spec.base_url is not None:  # other servers must not see an OpenAI account's names or its admin key
            self.client.organization = self.client.project = self.client.admin_api_key = None


def usage_of(body: dict[str, Any], read: str, written: str) -> Usage:
    """The token counts of `body`. The server names the counts `{read}_tokens` for input and `{written}_tokens` for output."""
    return Usage(
        input_tokens=sdk_client.count(body, "usage", f"{read}_tokens"),
        output_tokens=sdk_client.count(body, "usage", f"{written}_tokens"),
        cached_tokens=sdk_client.count(body, "usage", f"{read}_tokens_details", "cached_tokens"),
        reasoning_tokens=sdk_client.count(body, "usage", f"{written}_tokens_details", "reasoning_tokens"),
        cache_write_tokens=sdk_client.count(body, "usage", f"{read}_tokens_details", "cache_write_tokens"),
    )


_WIRE = "openai"
_SEALED = "reasoning.encrypted_content"
# Models that find a prefix in their cache only if the request marks where the prefix ends. Older models refuse the mark.
_MARKS = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)(?!\d)")
_REASONING = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*-chat)")


class _Piece(sdk_client.Shape):
    type: str = ""
    text: str = ""
    refusal: str = ""


class _Item(sdk_client.Shape):
    model_config = ConfigDict(extra="allow", frozen=True)  # a reasoning item is sent back with all its fields

    type: str
    call_id: str = ""
    name: str = ""
    arguments: str | dict[str, Any] | None = None
    content: tuple[dict[str, Any], ...] | None = None
    summary: tuple[_Piece, ...] = ()
    encrypted_content: str | None = None

    @property
    def pieces(self) -> tuple[_Piece, ...]:
        return tuple(sdk_client.shaped(_Piece, piece) for piece in self.content or ())


class _Details(sdk_client.Shape):
    reason: str | None = None


class _Reply(sdk_client.Shape):
    output: tuple[_Item, ...]
    status: Literal["completed", "incomplete"] = "completed"
    incomplete_details: Annotated[_Details, BeforeValidator(lambda value: value or {})] = _Details()
    model: str = ""


class OpenAIProvider(OpenAIClient):
    """`POST /responses`."""

    def send(self, request: Request) -> dict[str, Any]:
        body = request_body(request, self._spec)
        responses = self.client.responses.with_raw_response
        return self.finished(self.call(lambda: responses.create(extra_body=body).text))

    def read(self, body: dict[str, Any]) -> Response:
        reply = self.checked(_Reply, body)
        stop = _stop(reply)
        parts = [part for item in reply.output for part in _parts(item)]
        if not parts and stop is Stop.END:
            raise MalformedResponseError("the response is complete but has no output")
        usage = usage_of(body, "input", "output")
        return workarounds.response(parts, stop, usage, reply.model)


def _stop(reply: _Reply) -> Stop:
    if reply.status == "incomplete":
        return Stop.FILTER if reply.incomplete_details.reason == "content_filter" else Stop.LENGTH
    refused = any(piece.type == "refusal" for item in reply.output for piece in item.pieces)
    return Stop.REFUSAL if refused else Stop.END


def request_body(request: Request, spec: ModelSpec) -> dict[str, Any]:
    """The JSON that is sent for `request`."""
    messages = workarounds.fit(request, spec, workarounds.ResultImages.INLINE, error_flag=False)
    shared = workarounds.shared_text(request)
    prefix = messages[:1] if shared is None else (shared,)
    body: dict[str, Any] = {
        "model": spec.model,
        "instructions": workarounds.system_text(request, spec),
        "input": [item for message in messages for item in _items(message)],
        "max_output_tokens": spec.max_output_tokens,
        "store": False,
        # Requests with the same key go to the machine that has their prefix in its cache.
        "prompt_cache_key": digest(request.system, *(part.model_dump_json() for part in prefix))[:32],
    }
    if shared is not None and spec.base_url is None and _MARKS.match(spec.model):
        body["input"][0]["content"][0]["prompt_cache_breakpoint"] = {"mode": "explicit"}
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if request.tools:
        # Strict mode accepts no optional arguments.
        body["tools"] = [{"type": "function", **tool.model_dump(), "strict": False} for tool in request.tools]
        body["tool_choice"] = request.tool_choice.value
    form = _format(request, spec)
    body |= spec.options
    if form is not None:
        body["text"] = {"format": form, **spec.options.get("text", {})}
    # Models without reasoning refuse a request for reasoning, and other models send reasoning only on request.
    reasoning = cast("dict[str, Any]", spec.options.get("reasoning") or {})
    if reasoning.get("effort") != "none" if reasoning else _REASONING.match(spec.model):
        body["include"] = sorted({_SEALED, *spec.options.get("include", ())})
    return body


def _format(request: Request, spec: ModelSpec) -> dict[str, Any] | None:
    if request.output_schema is None or spec.structured_output == "none":
        return None
    if spec.structured_output == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "name": "reply", "schema": request.output_schema, "strict": False}


def _items(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": [_content(part) for part in message.content]}]
    if isinstance(message, ToolMessage):
        return [
            {
                "type": "function_call_output",
                "call_id": result.call_id,
                "output": workarounds.joined(result.content)
                if all(isinstance(part, Text) for part in result.content)
                else [_content(part) for part in result.content],
            }
            for result in message.results
        ]
    return [item for part in message.content for item in _assistant_items(part)]


def _assistant_items(part: AssistantPart) -> list[dict[str, Any]]:
    if isinstance(part, ToolCall):
        return [
            {
                "type": "function_call",
                "call_id": part.id,
                "name": workarounds.wire_name(part.name),
                "arguments": json.dumps(part.arguments, ensure_ascii=False),
            }
        ]
    if isinstance(part, Text):
        # This is the long form of an assistant's text, because llama.cpp's server accepts no other form.
        content: dict[str, Any] = {"type": "output_text", "text": part.text, "annotations": []}
        return [{"type": "message", "role": "assistant", "content": [content]}] if part.text.strip() else []
    return [part.payload] if part.wire == _WIRE and part.payload else []


def _content(part: Content) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "detail": "auto", "image_url": part.data_url}


def _parts(item: _Item) -> list[AssistantPart]:
    """The parts of one output item, or an empty list for a kind of item that is never requested."""
    if item.type == "function_call":
        arguments, fault = structured_output.read_arguments(item.arguments)
        return [ToolCall(id=item.call_id, name=item.name, arguments=arguments, fault=fault)]
    if item.type == "reasoning":
        text = "\n\n".join(piece.text for piece in (*item.summary, *item.pieces))
        fields = item.model_dump(exclude_none=True, exclude={"status"}, exclude_unset=True)
        # The next turn sends the item back. An item without content is not sent back, because the server would not know it.
        sent_back = fields if item.encrypted_content or item.content else {}
        return [Thinking(text=text, wire=_WIRE, payload=sent_back)]
    if item.type == "message":
        return [Text(text=piece.text or piece.refusal) for piece in item.pieces]
    return []


_ENDPOINT: Literal["/v1/responses"] = "/v1/responses"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CROWDED = "token_limit_exceeded"  # "Enqueued token limit reached": the server first accepts such a batch, and then fails it
_PAGE, _MOST_PAGES = 100, 10  # batches in a list (maximum of the server); lists to search


class _Error(sdk_client.Shape):
    code: str | None = None
    message: str | None = None


class _Errors(sdk_client.Shape):
    data: tuple[_Error, ...] | None = None


class _Batch(sdk_client.Shape):
    id: str = ""
    status: str = ""
    created_at: int = 0
    metadata: dict[str, str] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Errors | None = None


class _Page(sdk_client.Shape):
    data: tuple[_Batch, ...] = ()
    has_more: bool = False


class _Answer(sdk_client.Shape):
    status_code: int = 0
    body: Any = None


class _Line(sdk_client.Shape):
    custom_id: str
    response: _Answer | None = None
    error: dict[str, Any] | None = None


class OpenAIBatch(OpenAIClient):
    """`POST /files`, `POST /batches` and the calls that follow them."""

    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        super().__init__(spec, api_key)
        self._uploaded: dict[str, str] = {}  # files by tag, for batches that are not accepted yet

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
        return expected(sdk_client.Created, created).id

    def _upload(self, tag: str, requests: Sequence[tuple[str, Request]]) -> str:
        lines = [
            {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": request_body(request, self._spec)}
            for key, request in requests
        ]
        data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        files, upload = self.client.files.with_raw_response, (f"{tag}.jsonl", data, "application/jsonl")
        made = self.call(lambda: files.create(file=upload, purpose="batch").text)
        return expected(sdk_client.Created, made).id

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """Returns at most one id, because every batch carries its tag."""
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
            return UNKNOWN_JOB
        if batch.status not in _ENDED:
            return JobStatus(ended=False)
        errors = (batch.errors and batch.errors.data) or ()
        reasons = [f"{error.code}: {error.message}" for error in errors]
        ended_well = batch.status == "completed" and not reasons
        note = "" if ended_well else "; ".join((f"the batch is {batch.status}", *reasons[:3]))
        crowded = batch.status == "failed" and any(error.code == _CROWDED for error in errors)
        return JobStatus(ended=True, note=self.scrub(note), crowded=crowded)

    def _retrieve(self, job_id: str) -> _Batch:
        """The batch, without an id if the server does not know the batch."""
        batches = self.client.batches.with_raw_response
        return expected(_Batch, self.call(lambda: batches.retrieve(job_id).text, absent=str))

    def results(self, job_id: str) -> dict[str, BatchResult]:
        batch, files = self._retrieve(job_id), self.client.files.with_raw_response
        found: dict[str, BatchResult] = {}
        for file_id in (batch.error_file_id, batch.output_file_id):
            if file_id is None:
                continue
            # A file that has expired counts as empty.
            text = self.call_text(lambda file_id=file_id: files.content(file_id).text, absent=lambda _: "")
            for line in result_lines(_Line, self._spec.name, text, self._key):
                found[line.custom_id] = self._result(line)
        return found

    def _result(self, line: _Line) -> BatchResult:
        name = self._spec.name
        if line.response is None:  # the server did not work on the request: the batch may have expired
            error = line.error or {}
            reason = f"{name}: not answered in the batch: {error.get('code')}: {error.get('message')}"
            return TransientModelError(self.scrub(reason))
        status, body = line.response.status_code, line.response.body
        if status != 200 or not isinstance(body, dict):
            return from_status(name, status or 500, body, {}, self._key)
        answer = cast("dict[str, Any]", body)
        return failure_in(name, answer, self._key) or answer
