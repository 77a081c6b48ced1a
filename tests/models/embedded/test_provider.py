"""The provider as a wire: bodies that can be stored and replayed, and unknown models refused."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from qagen_dagster.errors import ConfigError, MalformedResponseError
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.messages import Request, Stop, Text, ToolSpec, UserMessage
from qagen_dagster.models.spec import ModelSpec


def request(text: str) -> Request:
    tools = tuple(ToolSpec(name=name, description="", parameters={}) for name in ("read_lines", "submit_qa"))
    return Request(system="a b", messages=(UserMessage(content=(Text(text=text),)),), tools=tools)


def provider(model: str = "rules") -> EmbeddedProvider:
    return EmbeddedProvider(ModelSpec(provider="embedded", model=model))


def test_a_body_survives_storage_and_reads_the_same() -> None:
    body = provider().send(request("Mode: textual"))
    response = provider().read(json.loads(json.dumps(body)))
    assert response == provider().read(body)
    assert response.stop is Stop.TOOLS
    assert response.message.tool_calls[0].name == "read_lines"
    assert response.model == "embedded:rules"
    assert response.usage.input_tokens == 4


def test_the_same_request_gives_the_same_body() -> None:
    assert provider().send(request("Mode: textual")) == provider().send(request("Mode: textual"))


def test_an_unknown_mechanism_is_named() -> None:
    with pytest.raises(ConfigError, match="rules"):
        provider("gpt")


def test_a_strange_body_is_malformed() -> None:
    with pytest.raises(MalformedResponseError):
        provider().read({"choices": []})


def test_many_threads_may_share_one_provider() -> None:
    shared, start = provider("matcher"), threading.Barrier(4)

    def ask(number: int) -> str:
        start.wait(timeout=30)
        text = (
            f"New question: How deep is well {number}?\n\nAccepted questions:\n1. How deep is the old well?"
        )
        return str(shared.read(shared.send(request(text))).message.tool_calls[0].arguments["verdict"])

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) <= {"unique", "duplicate"}
