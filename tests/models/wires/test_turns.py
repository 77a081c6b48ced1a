"""What providers must get right over several turns: caches, reasoning, and turns no model should make."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.base import Provider
from qagen_dagster.models.messages import (
    AssistantMessage,
    Message,
    Request,
    Response,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolMessage,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires import anthropic, openai, openai_compatible
from tests.models.conftest import ProviderMaker, ask, picture, result
from tests.support.wire_server import Call, Fault, Reply, Step, WireServer


def said(provider: Provider, request: Request | None = None) -> Response:
    return provider.read(provider.send(request or ask()))


def one(make_provider: ProviderMaker, step: Step, **settings: Any) -> Response:
    with WireServer([step]) as server:
        return said(make_provider(server, **settings))


def answered(message: AssistantMessage, *, images: bool = False) -> Message:
    shown = (Text(text="Page."), picture("page")) if images else (Text(text="1| one"),)
    return ToolMessage(results=tuple(result(call.id, call.name, *shown) for call in message.tool_calls))


def without_markers(body: dict[str, Any]) -> dict[str, Any]:
    def unmarked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: value for key, value in pairs if key != "cache_control"}

    return json.loads(json.dumps(body), object_pairs_hook=unmarked)


def conversation(make_provider: ProviderMaker, turns: int, **settings: Any) -> list[dict[str, Any]]:
    """The bodies of a run of `turns` turns, each with thinking, parallel calls and pictures in results."""
    calls = (Call("view_page", {"page_number": 1}), Call("read_lines", {"start_line": 1}))
    with WireServer(then=Reply(text="I look.", thinking="Hm.", calls=calls)) as server:
        provider = make_provider(server, **settings)
        messages: tuple[Message, ...] = ask().messages
        for _ in range(turns):
            message = said(provider, ask(messages=messages)).message
            messages = (*messages, message, answered(message, images=True))
        provider.send(ask(messages=(*messages, UserMessage(content=(Text(text="Go on."),)))))
    return server.bodies


def test_every_request_begins_with_the_one_before_it(make_provider: ProviderMaker, wire: str) -> None:
    bodies = [without_markers(body) for body in conversation(make_provider, 4)]
    key = "input" if wire == "openai" else "messages"
    for earlier, later in pairwise(bodies):
        assert {**later, key: later[key][: len(earlier[key])]} == earlier


def test_cache_markers_stand_at_the_ends_of_this_turn_and_the_last() -> None:
    calls = tuple(ToolCall(id=f"c{n}", name="view_page") for n in range(12))
    said = AssistantMessage(content=calls)
    request = ask(messages=(*ask().messages, said, answered(said), said, answered(said)))
    body = anthropic.request_body(request, ModelSpec(provider="anthropic", model="m"))
    marked = [
        (turn, block)
        for turn, message in enumerate(body["messages"])
        for block, content in enumerate(message["content"])
        if "cache_control" in content
    ]
    assert marked == [(2, 11), (4, 11)]
    assert "cache_control" in body["system"][0]


def opened(opening: str, prompt: str) -> Request:
    """The first request of an agent that begins with `opening`."""
    return ask(messages=(UserMessage(content=(Text(text=opening), Text(text=prompt))),))


def test_a_text_that_conversations_share_is_marked_and_kept_in_one_cache() -> None:
    body = anthropic.request_body(opened("Lines.", "Ask."), ModelSpec(provider="anthropic", model="m"))
    assert [("cache_control" in part) for part in body["messages"][0]["content"]] == [True, True]
    assert json.dumps(body).count("cache_control") == 3  # with the system prompt; four are allowed
    spec = ModelSpec(provider="openai", model="gpt-6-sol")
    bodies = [openai.request_body(opened(*said), spec) for said in (("A", "1"), ("A", "2"), ("B", "1"))]
    keys = [body["prompt_cache_key"] for body in bodies]
    assert keys[0] == keys[1] != keys[2]
    first, second = bodies[0]["input"][0]["content"]
    assert first == {"type": "input_text", "text": "A", "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert second == {"type": "input_text", "text": "1"}
    plain = openai_compatible.request_body(
        opened("A", "1"), ModelSpec(provider="openai_compatible", model="m")
    )
    assert plain["messages"][-1]["content"] == "A\n\n1"


@pytest.mark.parametrize(
    ("model", "base_url", "marked"),
    [
        ("gpt-5.6", None, True),
        ("gpt-5.10-mini", None, True),
        ("gpt-6.1-terra", None, True),
        ("gpt-10", None, True),
        ("gpt-5.5", None, False),
        ("gpt-5", None, False),
        ("gpt-4o", None, False),
        ("o3", None, False),
        ("gpt-6-sol", "http://127.0.0.1:9/v1", False),
    ],
)
def test_only_models_that_know_the_mark_get_it(model: str, base_url: str | None, marked: bool) -> None:
    body = openai.request_body(opened("A", "1"), ModelSpec(provider="openai", model=model, base_url=base_url))
    assert ("prompt_cache_breakpoint" in json.dumps(body)) == marked


def test_a_single_turn_marks_its_system_prompt_only() -> None:
    body = anthropic.request_body(ask(tools=()), ModelSpec(provider="anthropic", model="m"))
    assert json.dumps(body).count("cache_control") == json.dumps(body["system"]).count("cache_control") == 1


def test_requests_of_one_conversation_ask_for_one_cache() -> None:
    spec = ModelSpec(provider="openai", model="m")
    later = (
        *ask().messages,
        AssistantMessage(content=(Text(text="x"),)),
        UserMessage(content=(Text(text="y"),)),
    )
    keys = [
        openai.request_body(r, spec)["prompt_cache_key"] for r in (ask(), ask(messages=later), ask("Other."))
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("model", "options", "asked"),
    [
        ("gpt-6-sol", {}, True),
        ("gpt-5.1", {"reasoning": {"effort": "low"}}, True),
        ("gpt-5.1", {"reasoning": {"effort": "none"}}, False),
        ("o3", {}, True),
        ("house-model", {"reasoning": {"effort": "low"}}, True),
        ("gpt-4.1", {}, False),
        ("gpt-5-chat-latest", {}, False),
        ("house-model", {}, False),
    ],
)
def test_reasoning_is_asked_for_in_the_form_that_can_go_back(
    model: str, options: dict[str, Any], asked: bool
) -> None:
    body = openai.request_body(ask(), ModelSpec(provider="openai", model=model, options=options))
    assert body.get("include", []) == (["reasoning.encrypted_content"] if asked else [])
    assert body["store"] is False


def test_what_the_user_wants_included_stays() -> None:
    spec = ModelSpec(provider="openai", model="o3", options={"include": ["message.output_text.logprobs"]})
    assert len(openai.request_body(ask(), spec)["include"]) == 2


@pytest.mark.parametrize(
    ("model", "options", "choice"),
    [
        ("claude-haiku-4-5", {}, "any"),
        ("claude-sonnet-4-5-20250929", {}, "any"),
        ("claude-opus-4-6", {"thinking": {"type": "adaptive"}}, "auto"),
        ("claude-haiku-5-5", {}, "auto"),
        ("claude-sonnet-5", {"thinking": {"type": "disabled"}}, "any"),
        ("house-model", {}, "any"),
    ],
)
def test_a_model_that_thinks_is_not_forced_to_call(model: str, options: dict[str, Any], choice: str) -> None:
    spec = ModelSpec(provider="anthropic", model=model, options=options)
    body = anthropic.request_body(ask(tool_choice=ToolChoice.REQUIRED), spec)
    assert body["tool_choice"] == {"type": choice}


def test_thinking_goes_back_in_its_place_turn_after_turn(make_provider: ProviderMaker, wire: str) -> None:
    body = conversation(make_provider, 3)[-1]
    if wire == "openai":
        kinds = [item.get("type") or item["role"] for item in body["input"]]
        assert kinds.count("reasoning") == 3
        assert kinds[1:7] == ["reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2]
        sealed = [item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"]
        assert sealed == ["sealed-1", "sealed-2", "sealed-3"]
    else:
        turns = [message for message in body["messages"] if message["role"] == "assistant"]
        thoughts = [
            turn["reasoning_content"] if wire == "openai_compatible" else turn["content"][0]["signature"]
            for turn in turns
        ]
        assert thoughts == (["Hm."] * 3 if wire == "openai_compatible" else ["sig-1", "sig-2", "sig-3"])


def test_what_anthropic_hides_of_its_thinking_goes_back_too() -> None:
    spec = ModelSpec(provider="anthropic", model="m")
    hidden: dict[str, Any] = {"type": "redacted_thinking", "data": "sealed"}
    signed: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": "s", "new_field": [1]}
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "read_lines", "input": {}}
    body: dict[str, Any] = {"content": [hidden, signed, call], "stop_reason": "tool_use"}
    message = anthropic.AnthropicProvider(spec, "k").read(body).message
    sent = anthropic.request_body(ask(messages=(*ask().messages, message, answered(message))), spec)
    assert sent["messages"][1]["content"] == [hidden, signed, call]


REASONED: list[tuple[dict[str, Any], str, str | None]] = [
    ({"content": "Paris.", "reasoning_content": "Hm."}, "Paris.", "Hm."),
    ({"content": "Paris.", "reasoning": "Hm."}, "Paris.", "Hm."),
    ({"content": "Paris.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]}, "Paris.", ""),
    ({"content": "<think>Hm.</think>\n\nParis."}, "Paris.", "Hm."),
    ({"content": "Hm.</think>Paris."}, "Paris.", "Hm."),
    ({"content": "<THINK>Hm."}, "", "Hm."),
    ({"content": "<think></think>Paris."}, "Paris.", None),
    ({"content": "Well. <think>Hm.</think> Paris."}, "Well. Paris.", "Hm."),
    ({"content": "<think>One.</think><thinking>Two.</thinking>Paris."}, "Paris.", "One.\n\nTwo."),
    ({"content": "<think>A <think>B</think> C</think>Paris."}, "Paris.", "A <think>B\n\nC"),
    ({"content": "Paris.\n<think>but then"}, "Paris.", "but then"),
    ({"content": "Say `<think>` and `</think>`."}, "Say `<think>` and `</think>`.", None),
    ({"content": '{"tag": "of <think> and </think>"}'}, '{"tag": "of <think> and </think>"}', None),
    ({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Paris."}]}, "Paris.", None),
]


@pytest.mark.parametrize(("fields", "text", "thought"), REASONED)
def test_reasoning_of_compatible_servers_never_reaches_the_answer(
    fields: dict[str, Any], text: str, thought: str | None
) -> None:
    spec = ModelSpec(provider="openai_compatible", model="m")
    body = {"choices": [{"message": {"role": "assistant", **fields}, "finish_reason": "stop"}]}
    response = openai_compatible.OpenAICompatibleProvider(spec, None).read(body)
    assert response.message.text == text
    thoughts = [part.text for part in response.message.content if isinstance(part, Thinking)]
    assert thoughts == ([] if thought is None else [thought])


@pytest.mark.parametrize(
    "text", ["<think>" * 30_000, "<think></think>" * 30_000, "x<think>y</think>\n" * 20_000]
)
def test_a_flood_of_tags_is_read_in_one_pass(text: str) -> None:
    thought, answer = openai_compatible.split_thinking(text)
    assert len(thought) + len(answer) <= len(text)


def test_an_empty_reply_says_nothing(make_provider: ProviderMaker, wire: str) -> None:
    if wire == "openai":  # a completed response always has an item
        with pytest.raises(MalformedResponseError, match="has no output"):
            one(make_provider, Reply())
    else:
        response = one(make_provider, Reply())
        assert (response.message.content, response.stop) == ((), Stop.END)


def test_the_same_tool_twice_is_two_calls(make_provider: ProviderMaker) -> None:
    same = Call("read_lines", {"start_line": 1})
    with WireServer([Reply(calls=(same, same)), Reply(text="ok")]) as server:
        provider = make_provider(server)
        message = said(provider).message
        provider.send(ask(messages=(*ask().messages, message, answered(message))))
    first, second = message.tool_calls
    assert first.id != second.id
    assert first.arguments == second.arguments
    sent = json.dumps(server.bodies[1])
    assert sent.count(f'"{first.id}"') == sent.count(f'"{second.id}"') == 2


@pytest.mark.parametrize("name", ["functions.read_lines", "tools.text.read_lines", "read_lines"])
def test_the_namespace_of_a_tool_is_left_out(make_provider: ProviderMaker, wire: str, name: str) -> None:
    if wire == "openai_compatible":
        (call,) = one(make_provider, Reply(calls=(Call(name, {"start_line": 1}),))).message.tool_calls
        assert call.name == "read_lines"


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (Call("fly", {"to": "moon"}), None),
        (Call("read_lines", raw="start at one"), "could not be read"),
        (Call("read_lines", raw='{"start_line": 1,}'), None),
    ],
    ids=["unknown", "malformed", "forgiven"],
)
def test_a_wrong_call_is_answered_and_the_server_takes_it(
    make_provider: ProviderMaker, wire: str, call: Call, fault: str | None
) -> None:
    with WireServer([Reply(calls=(call,)), Reply(text="ok")]) as server:
        provider = make_provider(server)
        message = said(provider).message
        (made,) = message.tool_calls
        wrong = ToolMessage(results=(result(made.id, made.name, Text(text="No."), is_error=True),))
        assert said(provider, ask(messages=(*ask().messages, message, wrong))).message.text == "ok"
    assert made.name == call.name
    assert (made.fault is None) == (fault is None)
    assert (fault or "") in (made.fault or "")
    assert ("is_error" in json.dumps(server.bodies[1])) == (wire == "anthropic")


def test_a_call_cut_off_before_its_arguments_is_a_fault(make_provider: ProviderMaker) -> None:
    response = one(
        make_provider, Reply(calls=(Call("view_page", {"page_number": 1}), Call("look")), stop="length")
    )
    kept, cut = response.message.tool_calls
    assert (kept.fault, kept.arguments) == (None, {"page_number": 1})
    assert cut.fault is not None
    assert "cut off" in cut.fault


def test_a_refusal_with_a_call_is_a_refusal(make_provider: ProviderMaker) -> None:
    response = one(make_provider, Reply(text="No.", calls=(Call("look"),), stop="refusal"))
    assert response.stop is Stop.REFUSAL


def test_the_clients_try_once(make_provider: ProviderMaker) -> None:
    with WireServer(then=Fault(503)) as server:
        provider = make_provider(server)
        with pytest.raises(Exception, match="HTTP 503"):
            provider.send(ask())
    assert len(server.requests) == 1
    assert server.requests[0].headers.get("x-stainless-retry-count", "0") == "0"


@pytest.mark.parametrize(
    "reason", ["engine_overloaded", "function_call_filter: MALFORMED_FUNCTION_CALL", "other"]
)
def test_an_empty_reply_that_ended_in_an_unusual_way_says_how(reason: str) -> None:
    spec = ModelSpec(provider="openai_compatible", model="m", base_url="http://127.0.0.1:1/v1")
    provider = openai_compatible.OpenAICompatibleProvider(spec, None)
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": ""}}
    with pytest.raises(MalformedResponseError, match=reason):
        provider.read({"choices": [choice]})
    choice["message"] = {"role": "assistant", "content": "Three."}
    assert provider.read({"choices": [choice]}).message.text == "Three."
