"""OpenAI's own wire, the Responses API.

The server stores nothing: it returns reasoning items with encrypted content, and the next turn sends them
back. Pictures are part of `function_call_output`.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, ConfigDict

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models import capabilities, json_reply
from qagen_dagster.models.base import ModelSpec
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
    UserMessage,
)
from qagen_dagster.models.wires import faults, openai_client
from qagen_dagster.models.wires.openai_client import OpenAIClient
from qagen_dagster.records.ids import digest

_WIRE = "openai"
_SEALED = "reasoning.encrypted_content"
# These find a prefix in their cache only where a request has marked its end; older models refuse the mark.
_MARKS = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)(?!\d)")
_REASONING = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*-chat)")


class _Piece(faults.Shape):
    type: str = ""
    text: str = ""
    refusal: str = ""


class _Item(faults.Shape):
    model_config = ConfigDict(extra="allow", frozen=True)  # a reasoning item goes back with all its fields

    type: str
    call_id: str = ""
    name: str = ""
    arguments: str | dict[str, Any] | None = None
    content: tuple[dict[str, Any], ...] | None = None
    summary: tuple[_Piece, ...] = ()
    encrypted_content: str | None = None

    @property
    def pieces(self) -> tuple[_Piece, ...]:
        return tuple(faults.shaped(_Piece, piece) for piece in self.content or ())


class _Details(faults.Shape):
    reason: str | None = None


class _Reply(faults.Shape):
    output: tuple[_Item, ...]
    status: Literal["completed", "incomplete"] = "completed"
    incomplete_details: Annotated[_Details, BeforeValidator(lambda value: value or {})] = _Details()
    model: str = ""


class OpenAIProvider(OpenAIClient):
    """`POST /responses`."""

    def send(self, request: Request) -> dict[str, Any]:
        body = request_body(request, self._spec)
        responses = self.client.responses.with_raw_response
        answer = self.call(lambda: responses.create(extra_body=body).text)
        if failed(answer):
            raise self.failure(answer.get("error"))
        return answer

    def read(self, body: dict[str, Any]) -> Response:
        reply = faults.shaped(_Reply, body)
        stop = _stop(reply)
        parts = [part for item in reply.output for part in _parts(item)]
        if not parts and stop is Stop.END:
            raise MalformedResponseError("the response is complete but has no output")
        usage = openai_client.usage(body, "input", "output")
        return capabilities.response(parts, stop, usage, reply.model)


def failed(body: dict[str, Any]) -> bool:
    """Whether `body`, sent under status 200, reports a failure."""
    return body.get("status") == "failed" or bool(body.get("error"))


def _stop(reply: _Reply) -> Stop:
    if reply.status == "incomplete":
        return Stop.FILTER if reply.incomplete_details.reason == "content_filter" else Stop.LENGTH
    refused = any(piece.type == "refusal" for item in reply.output for piece in item.pieces)
    return Stop.REFUSAL if refused else Stop.END


def request_body(request: Request, spec: ModelSpec) -> dict[str, Any]:
    """The JSON that is sent for `request`."""
    messages = capabilities.fit(request, spec, capabilities.ResultImages.INLINE, error_flag=False)
    shared = capabilities.shared_text(request)
    prefix = messages[:1] if shared is None else (shared,)
    body: dict[str, Any] = {
        "model": spec.model,
        "instructions": capabilities.system_text(request, spec),
        "input": [item for message in messages for item in _items(message)],
        "max_output_tokens": spec.max_output_tokens,
        "store": False,
        # Requests with the same prefix go to the same machine, which has it in its cache.
        "prompt_cache_key": digest(request.system, *(part.model_dump_json() for part in prefix))[:32],
    }
    if shared is not None and spec.base_url is None and _MARKS.match(spec.model):
        body["input"][0]["content"][0]["prompt_cache_breakpoint"] = {"mode": "explicit"}
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,  # strict refuses optional arguments
            }
            for tool in request.tools
        ]
        body["tool_choice"] = request.tool_choice.value
    form = _format(request, spec)
    body |= spec.options
    if form is not None:
        body["text"] = {"format": form, **spec.options.get("text", {})}
    if _reasons(spec):
        body["include"] = sorted({_SEALED, *spec.options.get("include", ())})
    return body


def _reasons(spec: ModelSpec) -> bool:
    """Whether to ask for reasoning: models without it refuse that, and other models send none unless asked."""
    reasoning = cast("dict[str, Any]", spec.options.get("reasoning") or {})
    return reasoning.get("effort") != "none" if reasoning else bool(_REASONING.match(spec.model))


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
                "output": capabilities.joined(result.content)
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
                "name": capabilities.wire_name(part.name),
                "arguments": json.dumps(part.arguments, ensure_ascii=False),
            }
        ]
    if isinstance(part, Text):
        # The long form of an assistant's text, because llama.cpp's server accepts no other.
        words: dict[str, Any] = {"type": "output_text", "text": part.text, "annotations": []}
        return [{"type": "message", "role": "assistant", "content": [words]}] if part.text.strip() else []
    return [part.payload] if part.wire == _WIRE and part.payload else []


def _content(part: Content) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "detail": "auto", "image_url": part.data_url}


def _parts(item: _Item) -> list[AssistantPart]:
    """The parts of one output item; none for kinds of items that we never ask for."""
    if item.type == "function_call":
        arguments, fault = json_reply.read_arguments(item.arguments)
        return [ToolCall(id=item.call_id, name=item.name, arguments=arguments, fault=fault)]
    if item.type == "reasoning":
        told = "\n\n".join(piece.text for piece in (*item.summary, *item.pieces))
        return [Thinking(text=told, wire=_WIRE, payload=_returnable(item))]
    if item.type == "message":
        return [Text(text=piece.text or piece.refusal) for piece in item.pieces]
    return []


def _returnable(item: _Item) -> dict[str, Any]:
    """A reasoning item to send back; empty if it has no content, because the server would not know it."""
    fields = item.model_dump(exclude_none=True, exclude={"status"}, exclude_unset=True)
    return fields if item.encrypted_content or item.content else {}
