from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from qagen_dagster.models.base import Model, Provider
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from qagen_dagster.models.messages import (
    AssistantMessage,
    Image,
    Request,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.spec import ModelSpec
from tests.support.blobs import MemoryBlobs
from tests.support.wire_server import WireServer

WIRES = ("openai", "openai_compatible", "anthropic")
KEY = "sk-planted-0123456789abcdef"
PICTURE = b"\x89PNG not really"

ProviderMaker = Callable[..., Provider]
ModelMaker = Callable[..., Model]


@pytest.fixture(autouse=True)
def _nothing_known_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of several tests may have the same port, and what a process knows of one is by its address."""
    for place in ("forcing._refusing", "sdk_client._ANSWERED"):
        monkeypatch.setattr(f"qagen_dagster.models.wires.{place}", set[str]())
    monkeypatch.setattr("qagen_dagster.models.wires.sdk_client._FAILED", dict[str, float]())


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture
def naps() -> list[float]:
    """Seconds that retries would have waited."""
    return []


@pytest.fixture
def make_provider(wire: str) -> ProviderMaker:
    def make(server: WireServer, **settings: Any) -> Provider:
        values: dict[str, Any] = {"provider": wire, "model": "m-1", "base_url": server.url(wire)}
        values |= {"api_key_env": "THE_KEY", "timeout_seconds": 5, **settings}
        return build_provider(ModelSpec(**values), lambda name: KEY if name == "THE_KEY" else None)

    return make


@pytest.fixture
def make_model(make_provider: ProviderMaker, blobs: MemoryBlobs, naps: list[float]) -> ModelMaker:
    def make(server: WireServer, **settings: Any) -> Model:
        return LedgeredModel(make_provider(server, **settings), Ledger(blobs), sleep=naps.append)

    return make


READ = ToolSpec(
    name="read_lines",
    description="Read lines.",
    parameters={
        "type": "object",
        "properties": {"start_line": {"type": "integer"}, "end_line": {"type": "integer"}},
        "required": ["start_line"],
        "additionalProperties": False,
    },
)
LOOK = ToolSpec(
    name="view_page",
    description="Look at a page.",
    parameters={
        "type": "object",
        "properties": {"page_number": {"type": "integer"}},
        "required": ["page_number"],
        "additionalProperties": False,
    },
)


def ask(text: str = "Begin.", **fields: Any) -> Request:
    values: dict[str, Any] = {"system": "You read documents.", "tools": (READ, LOOK)}
    return Request(**{**values, "messages": (UserMessage(content=(Text(text=text),)),), **fields})


def result(call_id: str, name: str, *content: Text | Image, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id=call_id, name=name, content=content, is_error=is_error)


def picture(title: str = "") -> Image:
    return Image(media_type="image/png", data=PICTURE, title=title)


def long_conversation() -> Request:
    """Text, parallel calls, mixed results, an error without words, a picture alone, a user's word after it."""
    return ask(
        messages=(
            UserMessage(content=(Text(text="Begin."), picture("cover"))),
            AssistantMessage(
                content=(
                    Text(text="I look."),
                    ToolCall(id="a", name="read_lines", arguments={"start_line": 1}),
                    ToolCall(id="b", name="view_page", arguments={"page_number": 2}),
                    ToolCall(id="c", name="no such tool!", fault="cut off"),
                )
            ),
            ToolMessage(
                results=(
                    result("a", "read_lines", Text(text="1| one\n2| two")),
                    result("b", "view_page", Text(text="Page 2 of 3"), picture("page 2")),
                    result("c", "no such tool!", Text(text=""), is_error=True),
                )
            ),
            AssistantMessage(content=(ToolCall(id="d", name="view_page", arguments={"page_number": 3}),)),
            ToolMessage(results=(result("d", "view_page", picture()),)),
            UserMessage(content=(Text(text="Go on."),)),
        )
    )
