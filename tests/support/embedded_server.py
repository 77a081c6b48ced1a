"""The embedded models behind a server that speaks OpenAI's Responses: a whole run with the profile `openai` and real questions,
without a key that is worth anything. It also passes what `qagen doctor` asks.

What it says depends on the request alone, so two runs print the same. Tokens are counted by size.
"""

from __future__ import annotations

import json
import threading
from functools import cache
from typing import Any

from qagen_dagster.models.embedded.provider import EmbeddedProvider
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
from qagen_dagster.models.spec import ModelSpec
from tests.support.wire_server import Call, Reply, Seen, Step, WireServer

_PLAYERS = {  # by the tool that ends the task
    "submit_qa": "rules",
    "submit_answers": "reader",
    "submit_closed_book_answer": "reader",
    "submit_document_answer": "reader",
    "submit_mark": "reader",
    "submit_comparisons": "reader",
    "submit_duplicate_verdict": "matcher",
}
_CHARACTERS, _BLOCK = 4, 128  # of a token; tokens that are cached at once
_ONE_AT_A_TIME = threading.Lock()


def embedded_server() -> WireServer:
    return WireServer(_answer)


def _answer(seen: Seen, number: int) -> Step:
    del number
    body = seen.body
    tools = {tool["name"] for tool in body.get("tools", ())}
    player = next((model for tool, model in _PLAYERS.items() if tool in tools), None)
    if player is not None:
        with _ONE_AT_A_TIME:
            turn = _model(player).send(_request(body))["message"]["content"]
        reply = Reply(calls=tuple(_call(body, call) for call in turn))
    elif "submit_verdict" in tools:
        verdict = {"reason": "The document says so.", "verdict": "SUPPORTED", "confidence": 0.9}
        reply = Reply(calls=(Call("submit_verdict", verdict),))
    else:
        reply = _probed(body, tools)
    return _counted(body, reply)


def _call(body: dict[str, Any], call: dict[str, Any]) -> Call:
    """As the mechanism made it, under an id that the order of requests does not change."""
    arguments = call["arguments"]
    if call["name"] == "submit_comparisons" and arguments["matches"]:
        arguments["explanation"] = "Both answers state the same."
    return Call(call["name"], arguments, id=f"call_{len(body['input'])}_{call['id']}")


def _probed(body: dict[str, Any], tools: set[str]) -> Reply:
    """What a good model says to the probe."""
    if "input_image" in json.dumps(body["input"]):
        return Reply(text="Yellow and blue.")
    if "text" in body:
        return Reply(text='{"colour": "red", "number": 1}')
    return Reply(calls=(Call("look", {"number": 7}),)) if tools else Reply(text="ready")


@cache
def _model(name: str) -> EmbeddedProvider:
    return EmbeddedProvider(ModelSpec(provider="embedded", model=name))


def _request(body: dict[str, Any]) -> Request:
    """A body of Responses in neutral form."""
    names: dict[str, str] = {}
    messages: list[Message] = []
    for item in body["input"]:
        kind = item.get("type", item.get("role"))
        if kind == "function_call":
            names[item["call_id"]] = item["name"]
            call = ToolCall(id=item["call_id"], name=item["name"], arguments=json.loads(item["arguments"]))
            messages.append(AssistantMessage(content=(call,)))
        elif kind == "function_call_output":
            told = (Text(text=item["output"]),)
            result = ToolResult(call_id=item["call_id"], name=names[item["call_id"]], content=told)
            messages.append(ToolMessage(results=(result,)))
        elif kind == "user":
            *opening, prompt = (Text(text=part["text"]) for part in item["content"])
            messages += [UserMessage(content=(prompt,)), *_as_read(opening)]
    tools = tuple(
        ToolSpec(name=tool["name"], description=tool["description"], parameters=tool["parameters"])
        for tool in body["tools"]
    )
    return Request(system=body["instructions"], messages=tuple(messages), tools=tools)


def _as_read(opening: list[Text]) -> list[Message]:
    """Lines that begin the first message, as the embedded models know them: read with a tool."""
    call = ToolCall(id="opening", name="read_lines", arguments={"start_line": 1})
    result = ToolResult(call_id=call.id, name=call.name, content=tuple(opening))
    return [AssistantMessage(content=(call,)), ToolMessage(results=(result,))] if opening else []


def _counted(body: dict[str, Any], reply: Reply) -> Reply:
    """The tokens of what was sent and said; all but the last turn was sent before."""
    sizes = [len(json.dumps(item)) for item in body["input"]]
    told = len(json.dumps(body.get("tools", []))) + len(body["instructions"]) + sum(sizes)
    before = told - sum(sizes[-2:]) if len(sizes) > 1 else 0
    given, cached = told // _CHARACTERS, before // _CHARACTERS // _BLOCK * _BLOCK
    said = sum(len(json.dumps(call.arguments)) for call in reply.calls) + len(reply.text)
    return Reply(
        text=reply.text,
        calls=reply.calls,
        usage=(given, said // _CHARACTERS + 40, cached, 40),
        written=(given - cached) // _BLOCK * _BLOCK,
    )
