"""Anthropic's wire, the Messages API.

All results of a turn go into one user message, in call order, with pictures inside their result. Thinking blocks go
back unchanged. Cache markers are at the end of this turn's prefix, at the end of the previous turn's prefix, and at the end of a text that many
conversations begin with.
"""

from __future__ import annotations

import re
from typing import Any, cast

import anthropic
from pydantic import ConfigDict

from qagen_dagster.models import capabilities, json_reply
from qagen_dagster.models.base import ModelSpec
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
from qagen_dagster.models.wires import faults
from qagen_dagster.models.wires.anthropic_client import AnthropicClient

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


class _Block(faults.Shape):
    model_config = ConfigDict(extra="allow", frozen=True)  # a thinking block goes back with all its fields

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: str | dict[str, Any] | None = None


class _Reply(faults.Shape):
    content: tuple[_Block, ...]
    stop_reason: str | None = None
    model: str | None = None


class AnthropicProvider(AnthropicClient):
    """`POST /v1/messages`."""

    def send(self, request: Request) -> dict[str, Any]:
        body = request_body(request, self._spec)
        create = self.client.messages.with_raw_response.create
        # What is in extra_body is sent as it is. The SDK spends half of its CPU time on converting other arguments.
        answer = self.call(
            lambda: (
                create(
                    model=self._spec.model,
                    max_tokens=body["max_tokens"],
                    messages=[],
                    extra_body=body,
                    timeout=self._spec.timeout_seconds,
                ).http_response.text
            )
        )
        if answer.get("type") == "error":
            raise self.failure(answer.get("error"))
        return answer

    def read(self, body: dict[str, Any]) -> Response:
        reply = faults.shaped(_Reply, body)
        stop = _STOPS.get(reply.stop_reason or "", Stop.END)
        parts = [part for block in reply.content for part in _part(block)]
        return capabilities.response(parts, stop, _usage(body), reply.model, partial=True)


def request_body(request: Request, spec: ModelSpec) -> dict[str, Any]:
    """The JSON that is sent for `request`."""
    fitted = capabilities.fit(request, spec, capabilities.ResultImages.INLINE, error_flag=True)
    system = capabilities.system_text(request, spec)
    body: dict[str, Any] = {
        "model": spec.model,
        "max_tokens": spec.max_output_tokens,
        "messages": _turns(
            fitted, mark=bool(request.tools), shared=capabilities.shared_text(request) is not None
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
    """The server refuses to force a tool call on a model that thinks."""
    thinking = cast("dict[str, Any]", spec.options.get("thinking") or {})
    kind = thinking.get("type") or ("adaptive" if _THINKS.match(spec.model) else "disabled")
    forced = request.tool_choice is ToolChoice.REQUIRED and kind in ("enabled", "adaptive")
    return "auto" if forced else _CHOICES[request.tool_choice]


def _turns(messages: tuple[Message, ...], *, mark: bool, shared: bool) -> list[dict[str, Any]]:
    """Alternating turns: a user message after tool results joins theirs. `mark`: more turns follow.
    `shared`: other conversations begin with the same first block.

    From a marker, the server looks about twenty blocks back for a prefix in its cache, and a turn with many calls is
    longer than that. So the marker of the previous turn stays as well.
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
        name = capabilities.wire_name(part.name)
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
    """The part of one content block; none for kinds of blocks that we never ask for."""
    if block.type == "text":
        return [Text(text=block.text)]
    if block.type in ("thinking", "redacted_thinking"):
        return [Thinking(text=block.thinking, wire=_WIRE, payload=block.model_dump(exclude_unset=True))]
    if block.type == "tool_use":
        arguments, fault = json_reply.read_arguments(block.input)
        return [ToolCall(id=block.id, name=block.name, arguments=arguments, fault=fault)]
    return []


def _usage(body: dict[str, Any]) -> Usage:
    """The server counts cached input separately; our count of input includes it."""
    read = faults.count(body, "usage", "cache_read_input_tokens")
    written = faults.count(body, "usage", "cache_creation_input_tokens")
    return Usage(
        input_tokens=faults.count(body, "usage", "input_tokens") + read + written,
        output_tokens=faults.count(body, "usage", "output_tokens"),
        cached_tokens=read,
        reasoning_tokens=faults.count(body, "usage", "output_tokens_details", "thinking_tokens"),
        cache_write_tokens=written,
    )
