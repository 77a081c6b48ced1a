"""What a request on any of the three wires asks: the other half of `wire_server`, for scripts that answer by content."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from tests.support.wire_server import Seen


@dataclass(frozen=True)
class Picture:
    """A picture in a request and the kind of message it stands in."""

    place: str  # "tool result" or "user"
    media_type: str
    data: bytes


@dataclass(frozen=True)
class Asked:
    """One request: who is asked, what with, and what was said so far."""

    wire: str
    model: str
    system: str
    user: str  # the first user message
    tools: tuple[str, ...]
    results: tuple[str, ...]  # texts of tool results, in order
    later: str  # what users said after the first message
    pictures: tuple[Picture, ...]
    whole: str

    @property
    def terminal(self) -> str:
        """The tool that ends its task: of several such tools, the one that the task names."""
        named = re.findall(r"`(submit_\w+)`", f"{self.system}\n{self.user}")
        return next((name for name in named if name in self.tools), self.tools[-1])

    @property
    def role(self) -> str:
        """By the tool that ends its task."""
        for terminal, role in _ROLES.items():
            if terminal in self.tools:
                return role
        return "nobody"


_ROLES = {
    "submit_qa": "generator",
    "submit_answers": "validator",
    "submit_comparisons": "comparer",
    "submit_duplicate_verdict": "deduplicator",
    "submit_closed_book_answer": "guesser",
}
_Parts = list[dict[str, Any]]


def read(seen: Seen) -> Asked:
    """The request in neutral form."""
    wire = seen.path.rsplit("/", 1)[1]
    reader = {"responses": _responses, "completions": _completions, "messages": _messages}[wire]
    return reader(seen.body)


@dataclass
class _Said:
    users: list[str]
    results: list[str]
    pictures: list[Picture]

    def user(self, parts: _Parts) -> None:
        self.users.append(_text(parts))
        self.pictures += _pictures(parts, "user")

    def result(self, parts: _Parts) -> None:
        self.results.append(_text(parts))
        self.pictures += _pictures(parts, "tool result")

    def asked(self, wire: str, body: dict[str, Any], system: str, tools: list[str]) -> Asked:
        return Asked(
            wire=wire,
            model=body["model"],
            system=system,
            user=self.users[0],
            tools=tuple(tools),
            results=tuple(self.results),
            later="\n".join(self.users[1:]),
            pictures=tuple(self.pictures),
            whole=json.dumps(body, sort_keys=True, ensure_ascii=False),
        )


def _responses(body: dict[str, Any]) -> Asked:
    said = _Said([], [], [])
    for item in body["input"]:
        if item.get("role") == "user":
            said.user(item["content"])
        elif item.get("type") == "function_call_output":
            output = item["output"]
            said.result([{"type": "input_text", "text": output}] if isinstance(output, str) else output)
    return said.asked("responses", body, body["instructions"], [tool["name"] for tool in body["tools"]])


def _completions(body: dict[str, Any]) -> Asked:
    said = _Said([], [], [])
    system = ""
    for message in body["messages"]:
        content = message.get("content") or ""
        parts: _Parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "system":
            system = _text(parts)
        elif message["role"] == "tool":
            said.result(parts)
        elif message["role"] == "user":
            said.user(parts)
    return said.asked("completions", body, system, [tool["function"]["name"] for tool in body["tools"]])


def _messages(body: dict[str, Any]) -> Asked:
    said = _Said([], [], [])
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        told: _Parts = []
        for block in message["content"]:
            if block["type"] == "tool_result":
                said.result(block["content"])
            else:
                told.append(block)
        if told:
            said.user(told)
    system = "".join(block["text"] for block in body["system"])
    return said.asked("messages", body, system, [tool["name"] for tool in body["tools"]])


def _text(parts: _Parts) -> str:
    return "\n".join(part["text"] for part in parts if "text" in part)


def _pictures(parts: _Parts, place: str) -> list[Picture]:
    found: list[Picture] = []
    for part in parts:
        if part["type"] == "image":
            source = part["source"]
            found.append(Picture(place, source["media_type"], base64.b64decode(source["data"])))
        elif part["type"] in ("input_image", "image_url"):
            url = part["image_url"]
            head, _, data = (url if isinstance(url, str) else url["url"]).partition(",")
            media_type = head.removeprefix("data:").removesuffix(";base64")
            found.append(Picture(place, media_type, base64.b64decode(data)))
    return found
