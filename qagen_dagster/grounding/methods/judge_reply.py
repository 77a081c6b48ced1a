"""Parsing of a judge's verdict that was written as text instead of a tool call.

Small local models reply with JSON, JSON in fences, or a few words.
"""

from __future__ import annotations

import re
from typing import Any, cast

from qagen_dagster.models import json_reply
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.messages import AssistantMessage, Request, Response, Stop, ToolCall

_IS = r"\b[\"'*`\s]{0,6}[:=][\"'*`\s]{0,8}"
_VERDICT = re.compile(
    rf"\bverdict{_IS}(not[\s_-]?supported|unsupported|partially[\s_-]supported|supported)\b", re.IGNORECASE
)
_CONFIDENCE = re.compile(rf"\bconfidence{_IS}(\d{{1,3}}(?:\.\d{{1,9}})?|\.\d{{1,9}})\s?(%?)", re.IGNORECASE)
_REASON = re.compile(rf"\b(?:reason|explanation){_IS}([^\"\n]{{1,600}})", re.IGNORECASE)
_NESTED = ("arguments", "parameters", "input", "args")


class ReadingModel:
    """`model` with verdicts in text turned into calls of the tool `terminal`; it keeps the original replies."""

    def __init__(self, model: Model, terminal: str) -> None:
        self._model, self._terminal = model, terminal
        self.responses: list[Response] = []

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def respond(self, request: Request) -> Response:
        response = self._model.respond(request)
        self.responses.append(response)
        if response.message.tool_calls or response.stop in (Stop.REFUSAL, Stop.FILTER):
            return response
        verdict = read_verdict(response.message.text)
        if verdict is None:
            return response
        call = ToolCall(id=f"text-{len(self.responses)}", name=self._terminal, arguments=verdict)
        message = AssistantMessage(content=(*response.message.content, call))
        return response.model_copy(update={"message": message, "stop": Stop.TOOLS})


def read_verdict(text: str) -> dict[str, Any] | None:
    """The arguments of the verdict in a reply; None if there is none, or several that differ."""
    return _from_json(text) or _from_words(text)


def _from_json(text: str) -> dict[str, Any] | None:
    try:
        found = _small_keys(json_reply.read_object(text))
    except ValueError:
        return None
    for name in _NESTED:
        if "verdict" not in found and isinstance(found.get(name), dict):
            found = _small_keys(cast("dict[str, Any]", found[name]))
    if "verdict" not in found:
        return None
    said = {"verdict": found["verdict"], "confidence": found.get("confidence")}
    return said | {"reason": found.get("reason") or found.get("explanation") or ""}


def _from_words(text: str) -> dict[str, Any] | None:
    verdicts = {re.sub(r"[^a-z]", "", found.lower()) for found in _VERDICT.findall(text)}
    confidence = _CONFIDENCE.search(text)
    if len(verdicts) != 1 or confidence is None:
        return None
    reason = _REASON.search(text)
    number = f"0{confidence.group(1)}" if confidence.group(1).startswith(".") else confidence.group(1)
    return {
        "verdict": verdicts.pop(),
        "confidence": number + confidence.group(2),
        "reason": reason.group(1).strip() if reason else "",
    }


def _small_keys(value: dict[str, Any]) -> dict[str, Any]:
    return {key.casefold(): item for key, item in value.items()}
