"""Workarounds that wires share: pictures in tool results, tool names, errors, schemas, cut-off calls.

The functions take and return neutral messages, so that a wire only translates.
"""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, cast

from qagen_dagster.models import messages
from qagen_dagster.models.spec import ModelSpec


class ResultImages(StrEnum):
    """Where a wire accepts the pictures of tool results."""

    INLINE = "inline"  # inside the result
    DEFERRED = "deferred"  # in one user message after the last result of the turn


_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9_-]")


def fit(
    request: messages.Request, spec: ModelSpec, images: ResultImages, *, error_flag: bool
) -> tuple[messages.Message, ...]:
    """The conversation in a form that the wire accepts.

    `images` decides whether pictures of tool results stay in their result or move to ONE user message after all results of
    the turn. If the model takes no pictures, a note replaces each picture; otherwise the title of a picture becomes a text before
    it. An empty user message or result gets the text "(empty)". If the wire has no `error_flag`, the text of an error begins with
    "Error:". Empty assistant messages are dropped, and adjacent user messages are joined.
    """
    fitted: list[messages.Message] = []
    for message in request.messages:
        if isinstance(message, messages.ToolMessage):
            fitted += _tool_turn(message, spec, images, error_flag=error_flag)
        elif isinstance(message, messages.UserMessage):
            content = _nonempty(_shown(message.content, spec))
            last = fitted[-1] if fitted else None
            if isinstance(last, messages.UserMessage):
                fitted[-1] = messages.UserMessage(content=last.content + content)
            else:
                fitted.append(messages.UserMessage(content=content))
        elif message.tool_calls or message.text.strip():
            fitted.append(message)
    return tuple(fitted)


def system_text(request: messages.Request, spec: ModelSpec) -> str:
    """The system prompt, followed by the output schema as text if the server does not enforce it."""
    if request.output_schema is None or spec.structured_output == "json_schema":
        return request.system
    instruction = "Reply with one JSON object and nothing else."
    if request.output_schema.keys() != {"type"}:
        schema = json.dumps(request.output_schema, ensure_ascii=False, separators=(",", ":"))
        instruction = f"{instruction[:-1]}, following this JSON schema:\n{schema}"
    return f"{request.system}\n\n{instruction}".strip()


def joined(content: Iterable[messages.Content]) -> str:
    """The text parts of `content`, separated by an empty line."""
    return "\n\n".join(part.text for part in content if isinstance(part, messages.Text))


def shared_text(request: messages.Request) -> messages.Text | None:
    """The text with which other conversations begin, too; None if there is no such text. Agents put this text into
    the first part of the first message, and their prompt into the second part."""
    first = request.messages[0] if request.messages else None
    parts = first.content[:2] if isinstance(first, messages.UserMessage) else ()
    texts = [part for part in parts if isinstance(part, messages.Text)]
    return texts[0] if len(texts) == 2 else None


def wire_name(name: str) -> str:
    """A tool name that a server accepts, even if the model made it up."""
    return _UNSAFE_NAME.sub("_", name)[:64] or "unknown"


def response(
    parts: Iterable[messages.AssistantPart],
    stop: messages.Stop,
    usage: messages.Usage,
    model: str | None,
    *,
    partial: bool = False,
) -> messages.Response:
    """The response with `parts`. If the output limit cut off the last call, that call gets a fault and keeps only its lists, without
    the last item of each.

    A call whose arguments were cut off looks like a call of a tool without arguments. `partial` states that the server closes
    cut-off JSON itself. Then each last call that reached the limit counts as cut off.
    """
    kept = list(parts)
    last = kept[-1] if kept else None
    if (
        stop is messages.Stop.LENGTH
        and isinstance(last, messages.ToolCall)
        and last.fault is None
        and (partial or not last.arguments)
    ):
        fault = "the arguments were cut off at the output limit"
        lists: dict[str, Any] = {
            name: cast("list[Any]", items)[:-1]
            for name, items in last.arguments.items()
            if isinstance(items, list)
        }
        kept[-1] = last.model_copy(update={"arguments": lists, "fault": fault})
    message = messages.AssistantMessage(content=tuple(kept))
    stop = messages.Stop.TOOLS if stop is messages.Stop.END and message.tool_calls else stop
    return messages.Response(message=message, stop=stop, usage=usage.believed(message), model=model or "")


def _tool_turn(
    message: messages.ToolMessage, spec: ModelSpec, images: ResultImages, *, error_flag: bool
) -> list[messages.Message]:
    results: list[messages.ToolResult] = []
    later: list[messages.Content] = []
    for result in message.results:
        content = result.content
        if images is ResultImages.DEFERRED and spec.images:
            content = tuple(_stub(part, later) for part in content)
        content = _nonempty(_shown(content, spec))
        if result.is_error and not error_flag:
            content = (messages.Text(text="Error:"), *content)
        results.append(result.model_copy(update={"content": content}))
    turn: list[messages.Message] = [messages.ToolMessage(results=tuple(results))]
    return [*turn, messages.UserMessage(content=tuple(later))] if later else turn


def _stub(part: messages.Content, later: list[messages.Content]) -> messages.Content:
    """Moves a picture to `later` with a label, and returns a text that refers to the label. Text is returned unchanged."""
    if isinstance(part, messages.Text):
        return part
    label = f"picture {1 + sum(isinstance(other, messages.Image) for other in later)}"
    label += f" ({part.title})" if part.title else ""
    later += [messages.Text(text=f"{label}:"), part.model_copy(update={"title": ""})]
    return messages.Text(text=f"[{label} is in the message after the tool results]")


def _shown(content: tuple[messages.Content, ...], spec: ModelSpec) -> tuple[messages.Content, ...]:
    """Pictures with their titles as text before them, or a note for each picture if the model takes no pictures."""
    shown: list[messages.Content] = []
    for part in content:
        if isinstance(part, messages.Text):
            shown.append(part)
        elif not spec.images:
            shown.append(
                messages.Text(text=f"[{part.title or 'picture'}: not shown, this model takes no pictures]")
            )
        else:
            shown += [messages.Text(text=part.title)] if part.title else []
            shown.append(part.model_copy(update={"title": ""}))
    return tuple(shown)


def _nonempty(content: tuple[messages.Content, ...]) -> tuple[messages.Content, ...]:
    kept = tuple(part for part in content if isinstance(part, messages.Image) or part.text.strip())
    return kept or (messages.Text(text="(empty)"),)
