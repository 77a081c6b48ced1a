"""The three wires over HTTP with the real SDK clients: what is sent, what is read, and that any reply gives a response or an error."""

from __future__ import annotations

import contextlib
import copy
import ssl
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.messages import (
    AssistantMessage,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolMessage,
    Usage,
)
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.spec import ModelSpec
from tests.models.conftest import KEY, WIRES, ProviderMaker, ask, long_conversation, result
from tests.support.wire_server import Call, Reply, WireServer, wire_body


def test_one_conversation_through_each_wire(
    make_provider: ProviderMaker, snapshot: SnapshotAssertion
) -> None:
    with WireServer([Reply(text="ok")]) as server:
        make_provider(server, temperature=0.2).send(long_conversation())
    assert server.bodies == snapshot
    assert KEY in " ".join(server.requests[0].headers.values())


def test_the_trusted_certificates_are_read_once(
    make_provider: ProviderMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireServer() as server:
        make_provider(server)
        read: list[object] = []
        monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *given: read.append(given))
        make_provider(server)
    assert read == []


def test_no_user_message_stands_between_tool_results(make_provider: ProviderMaker, wire: str) -> None:
    with WireServer([Reply(text="ok")]) as server:
        make_provider(server).send(long_conversation())
    kinds = _kinds(wire, server.bodies[0])
    first, last = kinds.index("result a"), kinds.index("result c")
    assert kinds[first : last + 1] == ["result a", "result b", "result c"]
    assert "user" not in kinds[kinds.index("call d") : kinds.index("result d")]


def test_pictures_of_a_model_without_eyes_become_notes(make_provider: ProviderMaker) -> None:
    with WireServer([Reply(text="ok")]) as server:
        make_provider(server, images=False).send(long_conversation())
    sent = str(server.bodies[0])
    assert "base64" not in sent
    assert "page 2: not shown, this model takes no pictures" in sent


def test_temperature_is_sent_only_if_it_is_set(make_provider: ProviderMaker) -> None:
    with WireServer(then=Reply(text="ok")) as server:
        make_provider(server).send(ask())
        make_provider(server, temperature=0.0).send(ask())
    assert "temperature" not in server.bodies[0]
    assert server.bodies[1]["temperature"] == 0.0


def test_options_are_sent_as_they_are(make_provider: ProviderMaker) -> None:
    with WireServer([Reply(text="ok")]) as server:
        make_provider(server, options={"top_p": 0.5, "metadata": {"user_id": "u"}}).send(ask())
    assert server.bodies[0]["top_p"] == 0.5
    assert server.bodies[0]["metadata"] == {"user_id": "u"}


@pytest.mark.parametrize("structured_output", ["json_schema", "json_object", "none"])
def test_an_output_schema_is_enforced_or_told(
    make_provider: ProviderMaker, structured_output: str, snapshot: SnapshotAssertion
) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}},
        "required": ["n"],
        "additionalProperties": False,
    }
    with WireServer([Reply(text='{"n": 1}')]) as server:
        make_provider(server, structured_output=structured_output).send(ask(tools=(), output_schema=schema))
    assert server.bodies == snapshot


def test_text_and_parallel_calls_are_read(make_provider: ProviderMaker) -> None:
    calls = (Call("read_lines", {"start_line": 1}), Call("view_page", {"page_number": 2}))
    with WireServer([Reply(text="Both.", calls=calls, written=30)]) as server:
        provider = make_provider(server)
        response = provider.read(provider.send(ask()))
    assert response.message.text == "Both."
    assert [(call.name, call.arguments, call.fault) for call in response.message.tool_calls] == [
        ("read_lines", {"start_line": 1}, None),
        ("view_page", {"page_number": 2}, None),
    ]
    assert response.stop is Stop.TOOLS
    assert response.model == "m-1"
    assert response.usage == Usage(
        input_tokens=100, output_tokens=20, cached_tokens=40, reasoning_tokens=5, cache_write_tokens=30
    )


def test_text_instead_of_a_call_passes_through(make_provider: ProviderMaker) -> None:
    with WireServer([Reply(text="I would rather talk.")]) as server:
        provider = make_provider(server)
        response = provider.read(provider.send(ask(tool_choice=ToolChoice.REQUIRED)))
    assert (response.message.text, response.stop) == ("I would rather talk.", Stop.END)


@pytest.mark.parametrize(("told", "stop"), [("length", Stop.LENGTH), ("refusal", Stop.REFUSAL)])
def test_the_reason_to_stop_is_kept(make_provider: ProviderMaker, told: str, stop: Stop) -> None:
    with WireServer([Reply(text="I", stop=told)]) as server:
        provider = make_provider(server)
        response = provider.read(provider.send(ask()))
    assert (response.message.text, response.stop) == ("I", stop)


def test_a_content_filter_is_told_apart(make_provider: ProviderMaker, wire: str) -> None:
    with WireServer([Reply(text="I", stop="filter")]) as server:
        provider = make_provider(server)
        response = provider.read(provider.send(ask()))
    assert response.stop is (Stop.REFUSAL if wire == "anthropic" else Stop.FILTER)


def test_truncated_arguments_are_a_fault_of_the_call(make_provider: ProviderMaker) -> None:
    broken = Call("read_lines", raw='{"start_line": 1, "end')
    with WireServer([Reply(calls=(broken,), stop="length")]) as server:
        provider = make_provider(server)
        (call,) = provider.read(provider.send(ask())).message.tool_calls
    assert call.name == "read_lines"
    assert call.arguments == {}
    assert call.fault is not None
    assert "cut off" in call.fault


def test_the_whole_items_of_truncated_arguments_are_kept(make_provider: ProviderMaker) -> None:
    broken = Call(
        "submit", raw='{"kind": "x", "answers": [{"n": 1, "of": [{"a": 2}]}, {"n": 2}, {"n": 3, "answer": "It'
    )
    with WireServer([Reply(calls=(broken,), stop="length")]) as server:
        provider = make_provider(server)
        response = provider.read(provider.send(ask()))
    (call,) = response.message.tool_calls
    assert (response.stop, call.fault is None) == (Stop.LENGTH, False)
    assert call.arguments["answers"] == [{"n": 1, "of": [{"a": 2}]}, {"n": 2}]


def test_thinking_is_kept_apart_and_goes_back_unchanged(make_provider: ProviderMaker, wire: str) -> None:
    with WireServer([Reply(thinking="Hm.", calls=(Call("read_lines"),)), Reply(text="ok")]) as server:
        provider = make_provider(server)
        message = provider.read(provider.send(ask())).message
        (call,) = message.tool_calls
        turn = ToolMessage(results=(result(call.id, "read_lines", Text(text="1| one")),))
        provider.send(ask(messages=(*ask().messages, message, turn)))
    assert message.text == ""
    assert [part.text for part in message.content if isinstance(part, Thinking)] == ["Hm."]
    assert (
        _thinking_sent(wire, server.bodies[1])
        == {
            "openai": {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "sealed-1",
            },
            "openai_compatible": "Hm.",
            "anthropic": {"type": "thinking", "thinking": "Hm.", "signature": "sig-1"},
        }[wire]
    )


def test_thinking_of_another_wire_is_not_sent(make_provider: ProviderMaker) -> None:
    thought = Thinking(text="Hm.", wire="elsewhere", payload={"secret": "thought"})
    with WireServer([Reply(text="ok")]) as server:
        said = AssistantMessage(content=(thought, ToolCall(id="a", name="read_lines")))
        turn = ToolMessage(results=(result("a", "read_lines", Text(text="x")),))
        make_provider(server).send(ask(messages=(*ask().messages, said, turn)))
    assert "thought" not in str(server.bodies)


@pytest.mark.parametrize(
    "body", [{}, {"choices": []}, {"choices": [{"message": None}]}, {"output": []}, {"content": None}]
)
def test_a_body_that_is_none_is_malformed(make_provider: ProviderMaker, body: dict[str, Any]) -> None:
    with WireServer() as server:
        provider = make_provider(server)
    with pytest.raises(MalformedResponseError):
        provider.read(body)


def _kinds(wire: str, body: dict[str, Any]) -> list[str]:
    """The conversation as it was sent, flat: user, call X, result X, picture."""
    kinds: list[str] = []
    for item in body["input" if wire == "openai" else "messages"]:
        if item.get("type") == "function_call_output":
            kinds.append(f"result {item['call_id']}")
        elif item.get("type") == "function_call":
            kinds.append(f"call {item['call_id']}")
        elif item["role"] == "tool":
            kinds.append(f"result {item['tool_call_id']}")
        else:
            blocks = item["content"] if isinstance(item["content"], list) else [{}]
            kinds += [_kind(block, item["role"]) for block in blocks]
            kinds += [f"call {call['id']}" for call in item.get("tool_calls", ())]
    return kinds


def _kind(block: dict[str, Any], role: str) -> str:
    if block.get("type") == "tool_result":
        return f"result {block['tool_use_id']}"
    return f"call {block['id']}" if block.get("type") == "tool_use" else role


def _thinking_sent(wire: str, body: dict[str, Any]) -> Any:
    if wire == "openai":
        return next(item for item in body["input"] if item.get("type") == "reasoning")
    said = next(item for item in body["messages"] if item["role"] == "assistant")
    return said["reasoning_content"] if wire == "openai_compatible" else said["content"][0]


PATHS = {"openai": "/responses", "openai_compatible": "/chat/completions", "anthropic": "/messages"}
FULL = Reply(text="text", calls=(Call("a", {"b": 1}), Call("c")), thinking="hm")
PROVIDERS = {wire: build_provider(ModelSpec(provider=wire, model="m"), lambda _: KEY) for wire in WIRES}
JUNK = st.sampled_from([None, 0, -1.5, True, "", "x", [], {}, [None], [{}], ["x"], {"x": None}, {"type": 3}])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Any = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(WIRES), JUNK)
def test_a_body_with_junk_in_any_place(data: st.DataObject, wire: str, junk: Any) -> None:
    body: Any = wire_body(PATHS[wire], FULL, {"model": "m"}, 1)
    place = data.draw(st.sampled_from(places(body)[1:]))
    holder = body = copy.deepcopy(body)
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = junk
    with contextlib.suppress(MalformedResponseError):
        response = PROVIDERS[wire].read(body)
        assert all(call.id for call in response.message.tool_calls) or wire != "openai_compatible"
