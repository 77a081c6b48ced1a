"""Chat Completions, the wire of vLLM, llama.cpp, Ollama, Gemini's compatible endpoint and many more.

Tool results are text here, and their pictures follow in one user message after the last result of the turn.
Servers put reasoning in different places. It is separated from the answer in each of these places.
"""

import json
import re
from typing import Annotated, Any

from pydantic import Field, JsonValue

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models import structured_output
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
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires import sdk_client, workarounds
from qagen_dagster.models.wires.openai import OpenAIClient, usage_of
from qagen_dagster.records.ids import digest

_WIRE = "openai_compatible"
_STOPS = {"length": Stop.LENGTH, "content_filter": Stop.FILTER}
_USUAL = frozenset(
    {"", "stop", "length", "content_filter", "tool_calls", "function_call", "eos", "eos_token"}
)
# A tag after a quotation mark does not match, because an answer may mention the tags.
_TAG = re.compile(r"(?<![`\"'])<(/?)(?:think|thinking|thought)>", re.IGNORECASE)
# The start of JSON or of a code block, in which tags are plain text
_FORMED = re.compile(r"\s*(?:[{\[]|```)")
# Fields of a message that the next turn sends back unchanged. `reasoning` is not sent back, because servers that use
# that name refuse it in requests.
_RETURNED = {"reasoning_content", "reasoning_details"}


class _Function(sdk_client.Shape):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(sdk_client.Shape):
    id: str | None = None
    function: _Function
    extra_content: dict[str, Any] | None = None


class _Piece(sdk_client.Shape):
    text: str | None = None


class _ReplyMessage(sdk_client.Shape):
    content: str | tuple[_Piece, ...] | None = None
    refusal: str | None = None
    tool_calls: tuple[_Call, ...] | None = None
    reasoning_content: str | None = None
    reasoning: JsonValue = None
    reasoning_details: JsonValue = None

    @property
    def text(self) -> str:
        if isinstance(self.content, tuple):
            return "".join(piece.text or "" for piece in self.content)
        return self.content or ""


class _Choice(sdk_client.Shape):
    message: _ReplyMessage
    finish_reason: str | None = None


class _Reply(sdk_client.Shape):
    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    model: str | None = None


class OpenAICompatibleProvider(OpenAIClient):
    """`POST /chat/completions` at `spec.base_url`; the key is optional."""

    def send(self, request: Request) -> dict[str, Any]:
        body = request_body(request, self._spec)
        completions = self.client.chat.completions.with_raw_response
        # `extra_body` is sent unchanged. Converting other arguments would take half of the SDK's CPU time.
        return self.finished(
            self.call(lambda: completions.create(messages=[], model=self._spec.model, extra_body=body).text)
        )

    def read(self, body: dict[str, Any]) -> Response:
        reply = self.checked(_Reply, body)
        choice = reply.choices[0]
        message = choice.message
        calls = _calls(message, digest(json.dumps(body, sort_keys=True)))
        reasoning, text = split_thinking(message.text)
        text = message.refusal or text
        parts: list[AssistantPart] = [*_thinking(message, reasoning, calls)]
        parts += [Text(text=text)] if text else []
        ended = choice.finish_reason or ""
        if not parts and not calls and ended not in _USUAL:
            raise MalformedResponseError(f"the reply is empty, and its finish_reason is {ended[:60]!r}")
        stop = Stop.REFUSAL if message.refusal else _STOPS.get(ended, Stop.END)
        usage = usage_of(body, "prompt", "completion")
        return workarounds.response((*parts, *calls), stop, usage, reply.model)


def request_body(request: Request, spec: ModelSpec) -> dict[str, Any]:
    """The JSON that is sent for `request`."""
    fitted = workarounds.fit(request, spec, workarounds.ResultImages.DEFERRED, error_flag=False)
    system = workarounds.system_text(request, spec)
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    messages += [item for message in fitted for item in _messages(message)]
    body: dict[str, Any] = {"model": spec.model, "messages": messages}
    if "max_completion_tokens" not in spec.options:  # the newer name, which few servers accept
        body["max_tokens"] = spec.max_output_tokens
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in request.tools]
        body["tool_choice"] = request.tool_choice.value
    if request.output_schema is not None and spec.structured_output != "none":
        form: dict[str, Any] = {"type": spec.structured_output}
        if spec.structured_output == "json_schema":
            form["json_schema"] = {"name": "reply", "schema": request.output_schema}
        body["response_format"] = form
    return {**body, **spec.options}


def split_thinking(text: str) -> tuple[str, str]:
    """The reasoning and the answer in a text with `<think>` blocks.

    The first block may have no opening tag, because chat templates may put that tag into the prompt. If the text ends inside a block whose
    opening tag begins a line, the rest is reasoning; otherwise the tag and the rest are part of the answer. If the text begins as JSON or
    as a code block, the whole text is the answer.
    """
    thoughts: list[str] = []
    answer: list[str] = []
    start, opened, untouched = 0, None, True
    for tag in _TAG.finditer(text):
        piece = text[start : tag.start()].strip()
        if opened is None and not answer and not (tag[1] and untouched) and _FORMED.match(text, start):
            break
        if tag[1] and (opened or not answer):
            thoughts += [piece] if piece else []
            start, opened, untouched = tag.end(), None, False
        elif opened is None and not tag[1]:
            answer += [piece] if piece else []
            start, opened, untouched = tag.end(), tag, False
    cut = opened is not None and not text[text.rfind("\n", 0, opened.start()) + 1 : opened.start()].strip()
    (thoughts if cut else answer).append(text[opened.start() if opened and not cut else start :].strip())
    return "\n\n".join(filter(None, thoughts)), text if untouched else " ".join(filter(None, answer))


def _messages(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": _content(message.content)}]
    if isinstance(message, ToolMessage):
        return [
            {"role": "tool", "tool_call_id": result.call_id, "content": workarounds.joined(result.content)}
            for result in message.results
        ]
    returned: dict[str, Any] = {}
    for part in message.content:
        if isinstance(part, Thinking) and part.wire == _WIRE:
            returned |= part.payload
    extras: dict[str, Any] = returned.pop("tool_calls", {})
    turn: dict[str, Any] = {"role": "assistant", "content": message.text or None, **returned}
    if message.tool_calls:
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": workarounds.wire_name(call.name),
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
                **extras.get(call.id, {}),
            }
            for call in message.tool_calls
        ]
    return [turn]


def _content(content: tuple[Content, ...]) -> str | list[dict[str, Any]]:
    """The list of parts; a plain string if there are no pictures, because some chat templates accept nothing else."""
    if all(isinstance(part, Text) for part in content):
        return workarounds.joined(content)
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image_url", "image_url": {"url": part.data_url}}
        for part in content
    ]


def _calls(message: _ReplyMessage, body_digest: str) -> list[ToolCall]:
    """The tool calls. A call without an id of its own gets an id that is made from the digest of the body."""
    calls: list[ToolCall] = []
    for number, item in enumerate(message.tool_calls or ()):
        arguments, fault = structured_output.read_arguments(item.function.arguments)
        call_id = item.id or ""
        if not call_id or any(call.id == call_id for call in calls):
            call_id = f"call_{body_digest[:16]}_{number}"
        name = (item.function.name or "").rpartition(".")[2]  # some servers write "functions.submit_qa"
        calls.append(ToolCall(id=call_id, name=name, arguments=arguments, fault=fault))
    return calls


def _thinking(message: _ReplyMessage, in_text: str, calls: list[ToolCall]) -> list[Thinking]:
    payload = message.model_dump(include=_RETURNED, exclude_none=True)
    # Gemini puts a signature next to the function and refuses the next turn without this signature.
    signed = {
        call.id: {"extra_content": item.extra_content}
        for call, item in zip(calls, message.tool_calls or (), strict=True)
        if item.extra_content
    }
    payload |= {"tool_calls": signed} if signed else {}
    reasoning = message.reasoning_content or message.reasoning or in_text
    text = reasoning if isinstance(reasoning, str) else in_text
    return [Thinking(text=text, wire=_WIRE, payload=payload)] if text or payload else []
