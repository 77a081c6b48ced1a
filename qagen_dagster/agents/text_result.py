"""Reads a result that a model wrote as text (JSON or YAML, with or without a code fence) instead of calling the tool.

The reader is tolerant on purpose. If the result does not fit, the model gets the terminal's error message once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from qagen_dagster.agents.spec import Terminal
from qagen_dagster.agents.steps import Finish, GiveUp, GiveUpReason, Nudge, Step
from qagen_dagster.configuration.files import read_text
from qagen_dagster.errors import ConfigError, ToolError
from qagen_dagster.models import json_reply
from qagen_dagster.models.messages import Response, Stop

UNREADABLE = (
    "Your reply could not be read as {names}: {fault}. Call the tool, or give the whole of it once more."
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[A-Za-z]{0,10}[ \t]*$", re.MULTILINE)
_STRAY_BACKSLASH = re.compile(r'\\(?:([\\/"])|(?![bfnrtu]))')
_MOST_CHARACTERS = 100_000


def from_text(step: Step, response: Response, terminals: Sequence[Terminal]) -> Step:
    """`step`, or another step if `step` is due to a missing tool call and the reply contains a result, or nearly one."""
    lacking = isinstance(step, Nudge) or (
        isinstance(step, GiveUp) and step.reason is GiveUpReason.NO_TOOL_CALL
    )
    if not lacking or response.stop is Stop.LENGTH:
        return step
    fault = ""
    for value in _candidates(response.message.text[:_MOST_CHARACTERS]):
        if isinstance(value, str):
            fault = fault or value
            continue
        for terminal in terminals:
            if not set(value) & set(terminal.result.model_fields):
                continue
            try:
                return Finish(terminal.name, terminal.submit(value))
            except ToolError as error:
                fault = fault or str(error)
    if not fault:
        return step
    said = UNREADABLE.format(names=" or ".join(one.name for one in terminals), fault=fault)
    return Nudge(said) if isinstance(step, Nudge) else GiveUp(GiveUpReason.NO_TOOL_CALL, fault)


def _candidates(text: str) -> Iterator[dict[str, object] | str]:
    """Every mapping in the text, from the last fence on; for a fence without one, the error message."""
    marks = [(mark.start(), mark.end()) for mark in _FENCE.finditer(text)]
    pieces = [text[opened[1] : closed[0]] for opened, closed in zip(marks[::2], marks[1::2], strict=False)]
    if len(marks) % 2:  # never closed
        pieces.append(text[marks[-1][1] :])
    for piece in reversed(pieces or [text]):
        try:
            value = _value(piece)
        except (ConfigError, ValueError) as error:
            if pieces:
                yield str(error)
            continue
        inner = value.get("arguments", value) if isinstance(value, dict) else None
        if isinstance(inner, dict):
            yield {str(key).casefold(): item for key, item in inner.items()}


def _value(text: str) -> JsonValue:
    """The text read as JSON if it looks like JSON, else as YAML. Raises ValueError or ConfigError."""
    if not text.lstrip().startswith("{"):
        return read_text(text)
    try:
        return json_reply.read_object(text)
    except ValueError:
        return json_reply.read_object(_STRAY_BACKSLASH.sub(_doubled, text))


def _doubled(found: re.Match[str]) -> str:
    """Double a backslash that begins no JSON escape: it belongs to LaTeX."""
    return found.group() if found.group(1) else "\\\\"
