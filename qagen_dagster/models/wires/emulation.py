"""Tool calls for models that have no native tool calls: the prompt asks for one JSON action, and results are sent as text.

`EmulatedTools` wraps the provider of a wire. This module writes tools, calls and results as text, and reads the actions in
replies. It does not know the wire, or what a tool does. `structured_output.py` reads the JSON.
"""

import json
import re
from typing import Any, cast

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models import structured_output
from qagen_dagster.models.base import Wrapper
from qagen_dagster.models.messages import (
    AssistantMessage,
    AssistantPart,
    Content,
    Image,
    Message,
    Request,
    Response,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.records.ids import digest

_RULES = (
    "Act with exactly one tool per reply. Reply with one JSON object and nothing else:\n"
    '{{"tool": "<name>", "arguments": {{...}}}}, '
    "for example {example}. "
    "Its result comes in the next message. `?` marks arguments that may be left out. Tools:"
)
_NAME_KEYS = ("tool", "name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_NAMED = re.compile(r'"(?:tool|name|function|action)"\s{0,9}:\s{0,9}"(\w{1,64})"')
_KEPT_OF_FAULT = 400  # characters of an unreadable reply that the model sees again and may imitate


class EmulatedTools(Wrapper):
    """A provider whose callers use native tool calls, while the wrapped provider sends and receives plain text."""

    def send(self, request: Request) -> dict[str, Any]:
        """As `Provider.send`. The returned body holds the body of the wire and the names of the offered tools."""
        offered = bool(request.tools) and request.tool_choice is not ToolChoice.NONE
        plain = in_words(request, self.spec.structured_output)
        names = [tool.name for tool in request.tools] if offered else []
        return {"tools": names, "body": self._provider.send(plain)}

    def read(self, body: dict[str, Any]) -> Response:
        inner, names = body.get("body"), body.get("tools")
        if not isinstance(inner, dict) or not isinstance(names, list):
            raise MalformedResponseError("the stored body is not one of emulated tools")
        response = self._provider.read(cast("dict[str, Any]", inner))
        done = response.stop in (Stop.REFUSAL, Stop.FILTER) or response.message.tool_calls
        text = response.message.text
        if done or not names or "{" not in text:
            return response
        thinking = tuple(part for part in response.message.content if isinstance(part, Thinking))
        call_id = "call_" + digest(json.dumps(inner, sort_keys=True))[:16]
        action = _action(text, call_id, cast("list[str]", names))
        message = AssistantMessage(content=(*thinking, *action))
        cut = response.stop is Stop.LENGTH and message.tool_calls[-1].fault is not None
        return response.model_copy(update={"message": message, "stop": Stop.LENGTH if cut else Stop.TOOLS})


def in_words(request: Request, output_mode: str) -> Request:
    """The same conversation without tools: calls as JSON text, results as user messages."""
    messages: list[Message] = []
    for message in request.messages:
        plain_message = _plain_message(message)
        last = messages[-1] if messages else None
        if isinstance(plain_message, UserMessage) and isinstance(last, UserMessage):
            messages[-1] = UserMessage(content=last.content + plain_message.content)
        else:
            messages.append(plain_message)
    plain = {"messages": tuple(messages), "tools": (), "tool_choice": ToolChoice.AUTO}
    if not request.tools or request.tool_choice is ToolChoice.NONE:
        return request.model_copy(update=plain)
    # The signature and the purpose of a tool take a fraction of the tokens of its JSON schema.
    tools = "\n".join(
        f"- {tool.name}{_shape(tool.parameters)}: {' '.join(tool.description.split())}"
        for tool in request.tools
    )
    schema = {"json_schema": _union(request.tools), "json_object": {"type": "object"}}.get(output_mode)
    system = f"{request.system}\n\n{_RULES.format(example=_example(request.tools[0]))}\n{tools}"
    return request.model_copy(update={**plain, "system": system, "output_schema": schema})


def _plain_message(message: Message) -> Message:
    """The message with tool results as a user's text, and tool calls as an assistant's JSON text."""
    if isinstance(message, ToolMessage):
        content: list[Content] = []
        for result in message.results:
            words = "\n".join(part.text for part in result.content if isinstance(part, Text))
            head = "Error from" if result.is_error else "Result of"
            content.append(Text(text=f"{head} {result.name}:\n{words}"))
            content += [part for part in result.content if isinstance(part, Image)]
        return UserMessage(content=tuple(content))
    if isinstance(message, AssistantMessage):
        thinking = [part for part in message.content if isinstance(part, Thinking)]
        words = [message.text] if message.text else []
        for call in message.tool_calls:
            if call.fault is None:  # the message already contains the text of an unreadable call
                action = {"tool": call.name, "arguments": call.arguments}
                words.append(json.dumps(action, ensure_ascii=False))
        return AssistantMessage(content=(*thinking, Text(text="\n".join(words))))
    return message


def _action(text: str, call_id: str, names: list[str]) -> tuple[AssistantPart, ...]:
    """The tool call of a reply. For an unreadable reply, the parts are the beginning of its text and a call that has a fault."""
    try:
        name, arguments = _name_and_arguments(structured_output.read_object(text), names)
    except ValueError as error:
        named = _NAMED.search(text)
        fault = f'{error}. Reply with one JSON object: {{"tool": "<name>", "arguments": {{...}}}}'
        whole = _arguments({"arguments": structured_output.whole_items(text).get("arguments", {})})
        call = ToolCall(id=call_id, name=named[1] if named else "unreadable", arguments=whole, fault=fault)
        return Text(text=text[:_KEPT_OF_FAULT]), call
    return (ToolCall(id=call_id, name=name, arguments=arguments),)


def _name_and_arguments(action: dict[str, Any], names: list[str]) -> tuple[str, dict[str, Any]]:
    """The tool and its arguments, including variants that small models write: other keys, flat arguments,
    {"search": {...}}. Raises ValueError if the object names no tool."""
    for key in _NAME_KEYS:
        name = action.get(key)
        if isinstance(name, str):
            rest = {other: value for other, value in action.items() if other != key}
            return name, _arguments(rest)
    for name in names:
        value = action.get(name)
        if isinstance(value, dict) and len(action) == 1:
            return name, cast("dict[str, Any]", value)
    raise ValueError(f'the JSON object names no tool; "tool" must be one of {", ".join(names)}')


def _arguments(rest: dict[str, Any]) -> dict[str, Any]:
    for key in _ARGUMENT_KEYS:
        value = rest.get(key)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            return structured_output.read_object(value)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        if value is None and key in rest:
            return {}
    return rest


def _union(tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"tool": {"type": "string", "enum": [tool.name]}, "arguments": tool.parameters},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
    }


def _example(tool: ToolSpec) -> str:
    """A complete call, because small models imitate an example rather than fill in a template."""
    properties: dict[str, dict[str, Any]] = tool.parameters.get("properties", {})
    values: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    arguments = {
        name: values.get(str(properties.get(name, {}).get("type")), "...")
        for name in tool.parameters.get("required", [])
    }
    return json.dumps({"tool": tool.name, "arguments": arguments})


def _shape(schema: dict[str, Any]) -> str:
    """A schema as a short type: `{quote: string, start_line?: integer|null}`."""
    if "enum" in schema or "const" in schema:
        values: list[Any] = schema.get("enum", [schema.get("const")])
        return "|".join(json.dumps(value) for value in values)
    choices: list[dict[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or []
    if choices:
        return "|".join(_shape(choice) for choice in choices)
    if schema.get("type") == "array":
        return f"[{_shape(schema.get('items', {}))}, ...]"
    if schema.get("type") != "object":
        return str(schema.get("type", "any"))
    fields: list[str] = []
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", []) else "?"
        note = f" ({field['description']})" if field.get("description") else ""
        fields.append(f"{name}{optional}: {_shape(field)}{note}")
    return "{" + ", ".join(fields) + "}"
