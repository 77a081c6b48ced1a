"""A priced model behind a server, for estimates: it asks and answers the fill-in questions of `tests/support/cloze.py` about any
document, but in moods. By the content of a request alone it thinks for long or short, talks instead of calling, or
finds that an answer is wrong, so that documents and attempts differ as they do with language models.

`paid` is counted here, from the server's own list of prices.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from qagen_dagster.models.messages import (
    AssistantMessage,
    Message,
    Request,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from tests.support.cloze import cloze
from tests.support.wire_server import Call, Reply, Seen, WireServer

PRICES = {"asker": (4.0, 0.4, 5.0, 20.0), "judge": (2.0, 0.2, 2.5, 10.0), "twin": (0.1, 0.01, 0.125, 0.5)}
ROLES = {"generator": "asker", "validator": "judge", "deduplicator": "twin"}
_CHARACTERS, _BLOCK = 4, 128  # of a token; tokens that are cached at once


@dataclass
class Bill:
    """What was asked and paid, by the server's own books."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    def add(self, model: str, reply: Reply) -> None:
        given, written, cached, _ = reply.usage
        price, price_cached, price_write, price_out = PRICES[model.partition("-")[0]]
        plain = given - cached - reply.written
        self.calls += 1
        self.input_tokens += given
        self.output_tokens += written
        self.usd += (
            plain * price + cached * price_cached + reply.written * price_write + written * price_out
        ) / 1e6


class MoodyServer(WireServer):
    """Speaks Chat Completions."""

    def __init__(self, seed: int = 0) -> None:
        """Another `seed`, other moods."""
        super().__init__(self._answer)
        self.bill = Bill()
        self._seed = seed

    def profile(self, version: str = "") -> str:
        """A profile of its models; `version` is part of their names."""
        lines = ["roles:"]
        for role, model in ROLES.items():
            price, cached, write, out = PRICES[model]
            url = self.url("openai_compatible")
            lines.append(
                f'  {role}: {{provider: openai_compatible, model: {model}{version}, base_url: "{url}", '
                f"usd_per_million_input: {price}, usd_per_million_cached: {cached}, "
                f"usd_per_million_cache_write: {write}, usd_per_million_output: {out}}}"
            )
        return "\n".join(lines) + "\n"

    def settle(self) -> Bill:
        """What was paid since the last time."""
        bill, self.bill = self.bill, Bill()
        return bill

    def _answer(self, seen: Seen, number: int) -> Reply:
        del number
        reply = _reply(seen.body, self._seed)
        self.bill.add(seen.body["model"], reply)
        return reply


def _reply(body: dict[str, Any], seed: int) -> Reply:
    request = _request(body)
    mood = sha256(f"{seed} {_words(request)}".encode()).digest()
    calls = cloze(request).tool_calls
    names = {call.name for call in calls}
    if "submit_answers" in names and mood[0] % 8 == 0 and "talked" not in body["messages"][-1]["content"]:
        return _priced(body, mood, Reply(text="I would rather have talked about it."))
    made = [Call(call.name, dict(call.arguments)) for call in calls]
    if "submit_qa" in names:  # another question in each scenario, so that no answer is replayed
        made[0].arguments["question"] += f" (Sheet {mood.hex()[:6]}.)"
    if "submit_comparisons" in names and mood[1] % 5 == 0:
        made[0].arguments["comparisons"][0]["matches"] = False
    return _priced(body, mood, Reply(calls=tuple(made)))


def _words(request: Request) -> str:
    """What was told so far; not by which names calls go, which depend on the order of requests."""
    told = [request.system, *(tool.name for tool in request.tools)]
    for message in request.messages:
        if isinstance(message, ToolMessage):
            told += [part.text for one in message.results for part in one.content if isinstance(part, Text)]
        else:
            told += [part.text for part in message.content if isinstance(part, Text)]
    return "\n".join(told)


def _priced(body: dict[str, Any], mood: bytes, reply: Reply) -> Reply:
    """The tokens of what was sent and said; the conversation but for its last turn was sent before."""
    sizes = [len(json.dumps(message)) for message in body["messages"]]
    told = len(json.dumps(body["tools"])) + sum(sizes)
    turns = sum(message["role"] == "assistant" for message in body["messages"])
    before = told - sum(sizes[-2:]) if turns else 0
    given, cached = told // _CHARACTERS, before // _CHARACTERS // _BLOCK * _BLOCK
    thought = 20 + 4 * mood[2]
    said = sum(len(json.dumps(call.arguments)) for call in reply.calls) + len(reply.text)
    return Reply(
        text=reply.text,
        calls=reply.calls,
        usage=(given, said // _CHARACTERS + thought, cached, thought),
        written=(given - cached) // _BLOCK * _BLOCK,
    )


def _request(body: dict[str, Any]) -> Request:
    """A body of Chat Completions in neutral form."""
    names: dict[str, str] = {}
    messages: list[Message] = []
    system = ""
    for message in body["messages"]:
        content = message.get("content") or ""
        text = Text(text=content if isinstance(content, str) else "\n".join(part["text"] for part in content))
        if message["role"] == "system":
            system = text.text
        elif message["role"] == "user":
            messages.append(UserMessage(content=(text,)))
        elif message["role"] == "tool":
            call_id = message["tool_call_id"]
            messages.append(
                ToolMessage(results=(ToolResult(call_id=call_id, name=names[call_id], content=(text,)),))
            )
        else:
            calls = tuple(_call(call) for call in message.get("tool_calls") or ())
            names |= {call.id: call.name for call in calls}
            messages.append(AssistantMessage(content=(text, *calls)))
    tools = tuple(
        ToolSpec(name=tool["name"], description=tool["description"], parameters=tool["parameters"])
        for tool in (one["function"] for one in body["tools"])
    )
    return Request(system=system, messages=tuple(messages), tools=tools)


def _call(call: dict[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(id=call["id"], name=function["name"], arguments=json.loads(function["arguments"]))
