"""Anthropic's wire: the Messages API and its batches.

The results of a turn go into one user message in call order, and each picture stays inside its result. Thinking blocks are sent back
unchanged. Cache markers are at the end of the system prompt and, if there are tools, at the end of the last two user turns and of a first
text that conversations share. A batch is one body with all requests, and one file of results. `batcher.py` collects requests and waits.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import quote

import anthropic
from anthropic.types.messages import batch_create_params
from pydantic import AwareDatetime, ConfigDict

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models import structured_output
from qagen_dagster.models.base import CLOCKS_DIFFER, UNKNOWN_JOB, BatchResult, JobStatus
from qagen_dagster.models.messages import (
    AssistantMessage,
    AssistantPart,
    Content,
    Message,
    Request,
    Response,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolMessage,
    Usage,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires import sdk_client, workarounds
from qagen_dagster.models.wires.sdk_client import SdkClient, SdkErrors, expected, result_lines
from qagen_dagster.models.wires.server_errors import failure_in

_ERRORS = SdkErrors(
    anthropic.APIStatusError,
    anthropic.APITimeoutError,
    anthropic.APIConnectionError,
    anthropic.AnthropicError,
)


class AnthropicClient(SdkClient[anthropic.Anthropic]):
    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        super().__init__(spec, api_key, anthropic.Anthropic, "https://api.anthropic.com", _ERRORS)


_WIRE = "anthropic"
_CACHE = {"cache_control": {"type": "ephemeral"}}
_CHOICES = {ToolChoice.AUTO: "auto", ToolChoice.REQUIRED: "any", ToolChoice.NONE: "none"}
_THINKS = re.compile(r"claude-[a-z]+-(?:[5-9]|\d\d)(?!\d)")  # model families that think by default
_STOPS = {
    "tool_use": Stop.TOOLS,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSAL,
}


class _Block(sdk_client.Shape):
    model_config = ConfigDict(extra="allow", frozen=True)  # a thinking block is sent back with all its fields

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: str | dict[str, Any] | None = None


class _Reply(sdk_client.Shape):
    content: tuple[_Block, ...]
    stop_reason: str | None = None
    model: str | None = None


class AnthropicProvider(AnthropicClient):
    """`POST /v1/messages`."""

    def send(self, request: Request) -> dict[str, Any]:
        body = request_body(request, self._spec)
        create = self.client.messages.with_raw_response.create
        model, most, seconds = self._spec.model, body["max_tokens"], self._spec.timeout_seconds

        def sent() -> str:
            # `extra_body` is sent unchanged. Converting other arguments would take half of the SDK's CPU time.
            reply = create(model=model, max_tokens=most, messages=[], extra_body=body, timeout=seconds)
            return reply.http_response.text

        return self.finished(self.call(sent))

    def read(self, body: dict[str, Any]) -> Response:
        reply = self.checked(_Reply, body)
        stop = _STOPS.get(reply.stop_reason or "", Stop.END)
        parts = [part for block in reply.content for part in _part(block)]
        return workarounds.response(parts, stop, _usage(body), reply.model, partial=True)


def request_body(request: Request, spec: ModelSpec) -> dict[str, Any]:
    """The JSON that is sent for `request`."""
    fitted = workarounds.fit(request, spec, workarounds.ResultImages.INLINE, error_flag=True)
    system = workarounds.system_text(request, spec)
    body: dict[str, Any] = {
        "model": spec.model,
        "max_tokens": spec.max_output_tokens,
        "messages": _turns(
            fitted, mark=bool(request.tools), shared=workarounds.shared_text(request) is not None
        ),
    }
    if system:
        body["system"] = [{"type": "text", "text": system, **_CACHE}]
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        body["tool_choice"] = {"type": _choice(request, spec)}
    body |= spec.options
    if request.output_schema is not None and spec.structured_output == "json_schema":
        schema = anthropic.transform_schema(request.output_schema)
        form = {"format": {"type": "json_schema", "schema": schema}}
        body["output_config"] = {**body.get("output_config", {}), **form}
    return body


def _choice(request: Request, spec: ModelSpec) -> str:
    """The type for `tool_choice`. A forced call becomes "auto" if the model thinks, because the server refuses a forced call of a thinking
    model."""
    thinking = cast("dict[str, Any]", spec.options.get("thinking") or {})
    kind = thinking.get("type") or ("adaptive" if _THINKS.match(spec.model) else "disabled")
    forced = request.tool_choice is ToolChoice.REQUIRED and kind in ("enabled", "adaptive")
    return "auto" if forced else _CHOICES[request.tool_choice]


def _turns(messages: tuple[Message, ...], *, mark: bool, shared: bool) -> list[dict[str, Any]]:
    """User and assistant turns in alternation. A user message after tool results is part of the turn with the results.

    `mark` sets cache markers on the last two user turns, because more turns will follow. With `mark`, `shared` also marks
    the first block, because other conversations begin with it. From a marker, the server looks about twenty blocks back for
    a prefix in its cache. A turn with many calls has more blocks, so the previous turn keeps its marker.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    users = [turn for turn in turns if turn["role"] == "user"]
    for turn in users[-2:] if mark else ():
        turn["content"][-1] |= _CACHE
    if mark and shared:
        turns[0]["content"][0] |= _CACHE
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, UserMessage):
        return [_content(part) for part in message.content]
    if isinstance(message, ToolMessage):
        return [
            {
                "type": "tool_result",
                "tool_use_id": result.call_id,
                "content": [_content(part) for part in result.content],
                **({"is_error": True} if result.is_error else {}),
            }
            for result in message.results
        ]
    return [block for part in message.content for block in _assistant_blocks(part)]


def _assistant_blocks(part: AssistantPart) -> list[dict[str, Any]]:
    if isinstance(part, ToolCall):
        name = workarounds.wire_name(part.name)
        return [{"type": "tool_use", "id": part.id, "name": name, "input": part.arguments}]
    if isinstance(part, Text):
        return [{"type": "text", "text": part.text}] if part.text.strip() else []
    return [part.payload] if part.wire == _WIRE and part.payload else []


def _content(part: Content) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": part.media_type, "data": part.encoded},
    }


def _part(block: _Block) -> list[AssistantPart]:
    """The part for one content block, or an empty list for a kind of block that is never requested."""
    if block.type == "text":
        return [Text(text=block.text)]
    if block.type in ("thinking", "redacted_thinking"):
        return [Thinking(text=block.thinking, wire=_WIRE, payload=block.model_dump(exclude_unset=True))]
    if block.type == "tool_use":
        arguments, fault = structured_output.read_arguments(block.input)
        return [ToolCall(id=block.id, name=block.name, arguments=arguments, fault=fault)]
    return []


def _usage(body: dict[str, Any]) -> Usage:
    """The token counts. The server's `input_tokens` excludes cached input, but the input of `Usage` includes it."""
    cache_read = sdk_client.count(body, "usage", "cache_read_input_tokens")
    cache_write = sdk_client.count(body, "usage", "cache_creation_input_tokens")
    return Usage(
        input_tokens=sdk_client.count(body, "usage", "input_tokens") + cache_read + cache_write,
        output_tokens=sdk_client.count(body, "usage", "output_tokens"),
        cached_tokens=cache_read,
        reasoning_tokens=sdk_client.count(body, "usage", "output_tokens_details", "thinking_tokens"),
        cache_write_tokens=cache_write,
    )


_ONE_SENDING = timedelta(hours=1)  # a batch created more than this after a sending belongs to another sending
_PAGE = 1000  # batches in one list: the maximum of the server


class _Counts(sdk_client.Shape):
    canceled: int = 0
    errored: int = 0
    expired: int = 0
    processing: int = 0
    succeeded: int = 0


class _Batch(sdk_client.Shape):
    id: str = ""
    processing_status: str = ""
    created_at: AwareDatetime | None = None
    archived_at: AwareDatetime | None = None
    request_counts: _Counts = _Counts()


class _Page(sdk_client.Shape):
    data: tuple[_Batch, ...] = ()


class _Outcome(sdk_client.Shape):
    type: str
    message: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class _Line(sdk_client.Shape):
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
        made = self.call(lambda: create(requests=wanted).http_response.text)
        return expected(sdk_client.Created, made).id

    def find(self, tag: str, count: int, since: datetime) -> list[str]:
        """Finds batches by size and time, because they carry no tag. The keys in the results later show which batch is the right one."""
        listed = self.client.messages.batches.with_raw_response.list
        page = expected(_Page, self.call(lambda: listed(limit=_PAGE).http_response.text))
        earliest, latest = since - CLOCKS_DIFFER, since + _ONE_SENDING
        fitting = [
            (abs(batch.created_at - since), batch.id)
            for batch in page.data
            if batch.created_at is not None
            and earliest <= batch.created_at <= latest
            and sum(batch.request_counts.model_dump().values()) == count
        ]
        return [job_id for _, job_id in sorted(fitting)]

    def poll(self, job_id: str) -> JobStatus:
        batches = self.client.messages.batches.with_raw_response
        body = self.call(lambda: batches.retrieve(job_id).http_response.text, absent=str)
        batch = expected(_Batch, body)
        if not batch.id:
            return UNKNOWN_JOB
        if batch.archived_at is not None:
            return JobStatus(ended=True, note="the batch is archived, its results are gone")
        return JobStatus(ended=batch.processing_status == "ended")

    def results(self, job_id: str) -> dict[str, BatchResult]:
        """Builds the address here, because the client would send the API key to any address that the server names."""
        path = f"/v1/messages/batches/{quote(job_id, safe='')}/results"
        text = self.call_text(lambda: self.client.get(path, cast_to=str), absent=lambda _: "")
        lines = result_lines(_Line, self._spec.name, text, self._key)
        return {line.custom_id: self._result(line.result) for line in lines}

    def _result(self, outcome: _Outcome) -> BatchResult:
        if outcome.type == "succeeded" and outcome.message is not None:
            return failure_in(self._spec.name, outcome.message, self._key) or outcome.message
        if outcome.type == "errored" and outcome.error is not None:
            return self.failure(outcome.error.get("error", outcome.error))
        return TransientModelError(
            self.scrub(f"{self._spec.name}: not answered in the batch: {outcome.type}")
        )
