"""Workarounds that wires share: pictures in tool results, tool names, errors, schemas, cut-off calls.

The functions take and return neutral messages, so that a wire only translates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import StrEnum

from qagen_dagster.models.base import ModelSpec
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
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)


class ResultImages(StrEnum):
    """Where a wire accepts the pictures of tool results."""

    INLINE = "inline"  # inside the result
    DEFERRED = "deferred"  # in one user message after the last result of the turn


_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9_-]")


def fit(request: Request, spec: ModelSpec, images: ResultImages, *, error_flag: bool) -> tuple[Message, ...]:
    """The conversation in a form that the wire accepts.

    Pictures stay in their result, or move to ONE user message after all results of the turn, or become a note if the
    model takes no pictures. Each follows its title. Results are never empty. If the wire has no error flag, the text
    of an error says that it is one. Empty assistant messages are dropped, and a user message that follows pictures
    joins theirs.
    """
    fitted: list[Message] = []
    for message in request.messages:
        if isinstance(message, ToolMessage):
            fitted += _tool_turn(message, spec, images, error_flag=error_flag)
        elif isinstance(message, UserMessage):
            content = _nonempty(_shown(message.content, spec))
            last = fitted[-1] if fitted else None
            if isinstance(last, UserMessage):
                fitted[-1] = UserMessage(content=last.content + content)
            else:
                fitted.append(UserMessage(content=content))
        elif _says_something(message):
            fitted.append(message)
    return tuple(fitted)


def system_text(request: Request, spec: ModelSpec) -> str:
    """The system prompt; with the output schema as text if the server does not enforce it."""
    if request.output_schema is None or spec.structured_output == "json_schema":
        return request.system
    asked = "Reply with one JSON object and nothing else."
    if request.output_schema.keys() != {"type"}:
        schema = json.dumps(request.output_schema, ensure_ascii=False, separators=(",", ":"))
        asked = f"{asked[:-1]}, following this JSON schema:\n{schema}"
    return f"{request.system}\n\n{asked}".strip()


def joined(content: Iterable[Content]) -> str:
    """The text parts of `content`, separated by an empty line."""
    return "\n\n".join(part.text for part in content if isinstance(part, Text))


def shared_text(request: Request) -> Text | None:
    """The text that other conversations begin with too: an agent's opening is a part of its own before the prompt."""
    first = request.messages[0] if request.messages else None
    texts = first.content[:2] if isinstance(first, UserMessage) else ()
    both = [part for part in texts if isinstance(part, Text)]
    return both[0] if len(both) == 2 else None


def wire_name(name: str) -> str:
    """A tool name that a server accepts, even if the model made it up."""
    return _UNSAFE_NAME.sub("_", name)[:64] or "unknown"


def response(
    parts: Iterable[AssistantPart], stop: Stop, usage: Usage, model: str | None, *, partial: bool = False
) -> Response:
    """The response of `parts`. A last call that the output limit cut off has a fault, and of its arguments the whole items.

    Without arguments a cut-off call looks like a call of a tool that takes none. `partial`: the server closes
    cut-off JSON itself, so that the last item of a last call is never reliable.
    """
    kept = list(parts)
    last = kept[-1] if kept else None
    if stop is Stop.LENGTH and isinstance(last, ToolCall) and (partial or not (last.arguments or last.fault)):
        fault = "the arguments were cut off at the output limit"
        lists = {name: items[:-1] for name, items in last.arguments.items() if isinstance(items, list)}
        kept[-1] = last.model_copy(update={"arguments": lists, "fault": fault})
    message = AssistantMessage(content=tuple(kept))
    stop = Stop.TOOLS if stop is Stop.END and message.tool_calls else stop
    return Response(message=message, stop=stop, usage=usage.believed(message), model=model or "")


def _tool_turn(
    message: ToolMessage, spec: ModelSpec, images: ResultImages, *, error_flag: bool
) -> list[Message]:
    results: list[ToolResult] = []
    later: list[Content] = []
    for result in message.results:
        content = result.content
        if images is ResultImages.DEFERRED and spec.images:
            content = tuple(_stub(part, later) for part in content)
        content = _nonempty(_shown(content, spec))
        if result.is_error and not error_flag:
            content = (Text(text="Error:"), *content)
        results.append(result.model_copy(update={"content": content}))
    turn: list[Message] = [ToolMessage(results=tuple(results))]
    return [*turn, UserMessage(content=tuple(later))] if later else turn


def _stub(part: Content, later: list[Content]) -> Content:
    if isinstance(part, Text):
        return part
    label = f"picture {1 + sum(isinstance(other, Image) for other in later)}"
    label += f" ({part.title})" if part.title else ""
    later += [Text(text=f"{label}:"), part.model_copy(update={"title": ""})]
    return Text(text=f"[{label} is in the message after the tool results]")


def _shown(content: tuple[Content, ...], spec: ModelSpec) -> tuple[Content, ...]:
    shown: list[Content] = []
    for part in content:
        if isinstance(part, Text):
            shown.append(part)
        elif not spec.images:
            shown.append(Text(text=f"[{part.title or 'picture'}: not shown, this model takes no pictures]"))
        else:
            shown += [Text(text=part.title)] if part.title else []
            shown.append(part.model_copy(update={"title": ""}))
    return tuple(shown)


def _nonempty(content: tuple[Content, ...]) -> tuple[Content, ...]:
    kept = tuple(part for part in content if isinstance(part, Image) or part.text.strip())
    return kept or (Text(text="(empty)"),)


def _says_something(message: AssistantMessage) -> bool:
    return bool(message.tool_calls or message.text.strip())
