from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.messages import (
    AssistantMessage,
    Image,
    Request,
    Response,
    Stop,
    Text,
    ToolChoice,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.emulation import EmulatedTools, in_words
from qagen_dagster.models.wires.scripted import ScriptedProvider
from tests.models.conftest import ModelMaker, ask, long_conversation
from tests.support.wire_server import Reply, WireServer

SPEC = ModelSpec(provider="scripted", model="test", tool_calling="emulated")


def reply(text: str, request: Request | None = None) -> Response:
    said = AssistantMessage(content=(Text(text=text),))
    provider = EmulatedTools(ScriptedProvider(SPEC, lambda _: said))
    return provider.read(provider.send(request or ask()))


def test_a_conversation_in_words(snapshot: SnapshotAssertion) -> None:
    told = in_words(long_conversation(), "json_schema")
    assert (told.tools, told.tool_choice) == ((), ToolChoice.AUTO)
    assert told.model_dump(mode="json", include={"system", "messages", "output_schema"}) == snapshot
    roles = [message.role for message in told.messages]
    assert all(a != b for a, b in pairwise(roles))
    pictures = [p for m in told.messages if isinstance(m, UserMessage) for p in m.content]
    assert sum(isinstance(part, Image) for part in pictures) == 3


@pytest.mark.parametrize("mode", ["json_schema", "json_object", "none"])
def test_the_server_enforces_what_it_can(mode: str) -> None:
    schema = in_words(ask(), mode).output_schema
    assert (schema or {}).keys() == {"json_schema": {"anyOf"}, "json_object": {"type"}, "none": set()}[mode]


def test_through_a_wire_no_tool_is_sent_and_the_action_comes_back() -> None:
    with WireServer([Reply(text='{"tool": "read_lines", "arguments": {"start_line": 4}}')]) as server:
        spec = ModelSpec(
            provider="openai_compatible",
            model="m",
            base_url=server.url("openai_compatible"),
            tool_calling="emulated",
        )
        provider = build_provider(spec, lambda _: None)
        response = provider.read(provider.send(ask()))
    (body,) = server.bodies
    assert "tools" not in body
    assert body["response_format"]["type"] == "json_schema"
    (call,) = response.message.tool_calls
    assert (call.name, call.arguments, call.fault) == ("read_lines", {"start_line": 4}, None)
    assert response.stop is Stop.TOOLS


def test_it_replays_from_the_ledger(make_model: ModelMaker) -> None:
    with WireServer([Reply(text='{"tool": "view_page", "arguments": {"page_number": 1}}')]) as server:
        paid, again = (make_model(server, tool_calling="emulated").respond(ask()) for _ in range(2))
    assert again.replayed
    assert paid.message == again.message
    assert paid.message.tool_calls[0].name == "view_page"


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "read_lines", "arguments": {"start_line": 3}}',
        'Sure!\n```json\n{"tool": "read_lines", "arguments": {"start_line": 3,},}\n```\nDone.',
        '{"name": "read_lines", "parameters": {"start_line": 3}}',
        '{"action": "read_lines", "start_line": 3}',
        '{"read_lines": {"start_line": 3}}',
        '{"tool": "read_lines", "arguments": "{\\"start_line\\": 3}"}',
        '<think>I read {first}.</think>{"tool": "read_lines", "args": {"start_line": 3}}',
    ],
)
def test_the_forms_that_models_write(text: str) -> None:
    (call,) = reply(text).message.tool_calls
    assert (call.name, call.arguments, call.fault) == ("read_lines", {"start_line": 3}, None)


@pytest.mark.parametrize(
    ("text", "name", "fault"),
    [
        ('{"tool": "read_lines", "arguments": {"start', "read_lines", "cut off"),
        ('{"tool": "read_lines", "arguments": {start: 1}}', "read_lines", "cannot be read"),
        ('{"thought": "hm"}', "unreadable", "names no tool"),
    ],
)
def test_an_unreadable_action_is_a_fault_that_keeps_its_words(text: str, name: str, fault: str) -> None:
    response = reply(text)
    (call,) = response.message.tool_calls
    assert call.name == name
    assert fault in (call.fault or "")
    assert response.message.text == text
    told = in_words(ask(messages=(*ask().messages, response.message)), "none").messages[-1]
    assert isinstance(told, AssistantMessage)
    assert told.text == text


def test_a_tool_that_is_not_offered_is_the_runners_business() -> None:
    (call,) = reply('{"tool": "fly", "arguments": {}}').message.tool_calls
    assert (call.name, call.fault) == ("fly", None)


@pytest.mark.parametrize(
    "request_", [ask(tools=()), ask(tool_choice=ToolChoice.NONE)], ids=["no tools", "not now"]
)
def test_without_tools_text_stays_text(request_: Request) -> None:
    text = '{"tool": "read_lines", "arguments": {}}'
    response = reply(text, request_)
    assert (response.message.text, response.message.tool_calls, response.stop) == (text, (), Stop.END)


def test_prose_stays_prose() -> None:
    assert reply("I do not know.").message.tool_calls == ()


@settings(max_examples=200)
@given(st.text(st.sampled_from('{}[]",:\\ \n') | st.characters(), max_size=80))
def test_any_reply_is_a_message(text: str) -> None:
    response = reply(text)
    assert (response.stop is Stop.TOOLS) == bool(response.message.tool_calls)


@pytest.mark.parametrize("body", [{}, {"tools": [], "body": None}, {"tools": 1, "body": {}}])
def test_a_foreign_body_is_malformed(body: dict[str, Any]) -> None:
    with pytest.raises(MalformedResponseError):
        EmulatedTools(ScriptedProvider(SPEC, lambda _: AssistantMessage(content=()))).read(body)


def test_the_model_is_told_what_a_list_contains() -> None:
    quote = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    parameters = {
        "type": "object",
        "properties": {
            "box": {"type": "array", "items": {"type": "number"}},
            "quotes": {"type": "array", "items": quote},
        },
    }
    tool = ToolSpec(name="cite", description="Cite.", parameters=parameters)
    told = in_words(ask(tools=(tool,)), "none").system
    assert told.endswith("- cite{box?: [number, ...], quotes?: [{text: string}, ...]}: Cite.")


def test_the_whole_items_of_a_reply_that_is_cut_off_are_kept() -> None:
    text = '{"tool": "read_lines", "arguments": {"answers": [{"n": 1}, {"n": 2, "answer": "It'
    said = AssistantMessage(content=(Text(text=text),))

    class Cut(ScriptedProvider):
        def read(self, body: dict[str, Any]) -> Response:
            return super().read(body).model_copy(update={"stop": Stop.LENGTH})

    provider = EmulatedTools(Cut(SPEC, lambda _: said))
    response = provider.read(provider.send(ask()))
    (call,) = response.message.tool_calls
    assert (response.stop, call.name, call.arguments) == (Stop.LENGTH, "read_lines", {"answers": [{"n": 1}]})
    assert "cut off" in (call.fault or "")
