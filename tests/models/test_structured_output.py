"""JSON that models wrote, and one record from one reply, over HTTP on the three wires."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from qagen_dagster.models import structured_output
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.models.messages import AssistantMessage, Text
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.structured_output import ask_for, fitted, whole_items
from qagen_dagster.models.wires.scripted import ScriptedProvider
from qagen_dagster.records.base import Record
from tests.models.conftest import ModelMaker, ask
from tests.support.wire_server import Fault, Reply, WireServer

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
PROSE = st.text(st.characters(exclude_characters="{}", exclude_categories=("Cs",)))


@given(PROSE, OBJECTS, PROSE, st.booleans())
def test_an_object_is_found_in_any_prose(
    before: str, value: dict[str, object], after: str, fence: bool
) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    text = f"```json\n{text}\n```" if fence else text
    assert structured_output.read_object(f"{before}{text}{after}") == value


@given(OBJECTS)
def test_trailing_commas_are_forgiven(value: dict[str, object]) -> None:
    text = json.dumps({"list": [value, "a,]"], "last": "b,}"})
    spoilt = text.replace('"a,]"]', '"a,]" , \n ]').replace('"b,}"}', '"b,}",}')
    assert structured_output.read_object(spoilt) == json.loads(text)


@given(st.text(max_size=200))
def test_any_text_gives_an_object_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(structured_output.read_object(text), dict)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ('{"a": 1', "cut off"),
        ('{"a": "}', "cut off"),
        ("{a: 1}", "cannot be read"),
        ('{"a": NaN}', "NaN"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
        ('{"a":' * 700 + '"\\ud800"' + "}" * 700, "nested too deeply"),
    ],
)
def test_faults_say_what_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        structured_output.read_object(text)


def test_braces_of_prose_before_the_object_are_passed_over() -> None:
    assert structured_output.read_object('Use {name} so: {"tool": "x"} or {"tool": "y"}') == {"tool": "x"}


def test_raw_newlines_in_strings_are_taken() -> None:
    assert structured_output.read_object('{"a": "one\ntwo"}') == {"a": "one\ntwo"}


def test_half_a_surrogate_pair_becomes_a_mark_that_utf8_can_hold() -> None:
    (key,) = read = structured_output.loads('{"\\ud83d": ["\\ud83d\\ude00", "\\ude00x"]}')
    assert (key, read[key]) == ("\ufffd", ["\U0001f600", "\ufffdx"])


@pytest.mark.parametrize(
    ("raw", "arguments", "faulty"),
    [
        (None, {}, False),
        ("", {}, False),
        ({"a": 1}, {"a": 1}, False),
        ('{"a": 1}', {"a": 1}, False),
        ('{"a": 1', {}, True),
        ("[1]", {}, True),
        ("null", {}, True),
        ('[{"a": true}]', {"a": True}, False),
        ('{}{"a": 1}', {"a": 1}, False),
        ("{}", {}, False),
        ("{'a': \"it's\", 'b': None}", {"a": "it's", "b": None}, False),
        ("```python\n{'a': [True]}\n```", {"a": [True]}, False),
        ("{{'a': 1}}", {}, True),
        ("{'a': {1}}", {}, True),
        ("{'a': b'x'}", {}, True),
        ("{'a': 1e999}", {}, True),
        ('{"b": {"a": 1}, "c": "cut o', {}, True),
    ],
)
def test_arguments_in_all_their_forms(raw: object, arguments: dict[str, object], faulty: bool) -> None:
    read, fault = structured_output.read_arguments(raw)
    assert (read, fault is not None) == (arguments, faulty)


class Verdict(Record):
    right: bool
    reason: str


GOOD = '{"right": true, "reason": "it is said"}'
VERDICT = Verdict(right=True, reason="it is said")
FORMATS = {
    "openai": ("text", "format"),
    "openai_compatible": ("response_format",),
    "anthropic": ("output_config", "format"),
}


def sent_format(wire: str, body: dict[str, Any]) -> dict[str, Any]:
    for key in FORMATS[wire]:
        body = body.get(key, {})
    return body


def test_a_schema_the_server_enforces(make_model: ModelMaker, wire: str) -> None:
    with WireServer([Reply(text=GOOD)]) as server:
        answer = ask_for(Verdict, make_model(server), ask())
    assert (answer.value, answer.fault, len(answer.responses)) == (VERDICT, "", 1)
    assert sent_format(wire, server.bodies[0])["type"] == "json_schema"
    assert "tools" not in server.bodies[0]
    assert "JSON schema" not in json.dumps(server.bodies[0])


@pytest.mark.parametrize(
    "text",
    [
        f"Sure, here it is:\n```json\n{GOOD}\n```\nAnything else?",
        '{"right": true, "reason": "it is said",}',
        f"I weigh {{both}} sides. {GOOD}",
    ],
)
def test_a_server_without_schemas_is_told_and_read_with_tolerance(
    make_model: ModelMaker, wire: str, text: str
) -> None:
    with WireServer([Reply(text=text)]) as server:
        answer = ask_for(Verdict, make_model(server, structured_output="none"), ask())
    assert (answer.value, len(answer.responses)) == (VERDICT, 1)
    assert sent_format(wire, server.bodies[0]) == {}
    assert "JSON schema" in json.dumps(server.bodies[0])


@pytest.mark.parametrize(
    ("first", "fault"),
    [
        (Reply(text="It is right."), "there is no JSON object"),
        (Reply(text='{"right": true, "rea', stop="length"), "cut off"),
        (Reply(text='{"right": "perhaps", "reason": ""}'), "right: "),
        (Reply(text='{"right": true}'), "reason: "),
        (Reply(text=""), "there is no JSON object"),
    ],
    ids=["prose", "cut", "type", "missing", "empty"],
)
@pytest.mark.parametrize("mode", ["json_schema", "none"])
def test_a_faulty_reply_is_repaired_once(
    make_model: ModelMaker, wire: str, first: Reply, fault: str, mode: str
) -> None:
    if wire == "openai" and not first.text:
        first = Reply(text=" ")
    with WireServer([first, Reply(text=GOOD)]) as server:
        answer = ask_for(Verdict, make_model(server, structured_output=mode), ask())
    assert (answer.value, len(answer.responses)) == (VERDICT, 2)
    told = json.dumps(server.bodies[1])
    assert "Your reply cannot be used" in told
    assert fault in told


def test_a_second_fault_is_the_result(make_model: ModelMaker) -> None:
    with WireServer([Reply(text="no"), Reply(text="still no")]) as server:
        answer = ask_for(Verdict, make_model(server), ask())
    assert (answer.value, len(answer.responses), len(server.requests)) == (None, 2, 2)
    assert answer.fault


def test_a_refusal_is_not_asked_again(make_model: ModelMaker) -> None:
    with WireServer([Reply(text="I would rather not.", stop="refusal")]) as server:
        answer = ask_for(Verdict, make_model(server), ask())
    assert (answer.value, len(server.requests)) == (None, 1)
    assert "would not answer" in answer.fault


def test_both_turns_are_replayed(make_model: ModelMaker) -> None:
    with WireServer([Reply(text="no"), Reply(text=GOOD)]) as server:
        paid, again = (ask_for(Verdict, make_model(server), ask()) for _ in range(2))
    assert paid.value == again.value == VERDICT
    assert [response.replayed for response in again.responses] == [True, True]


@given(st.lists(st.text(max_size=60) | st.just(GOOD), min_size=2, max_size=2))
def test_any_two_replies_end(texts: list[str]) -> None:
    replies = iter(texts)
    provider = ScriptedProvider(
        ModelSpec(provider="scripted", model="t"),
        lambda _: AssistantMessage(content=(Text(text=next(replies)),)),
    )
    answer = ask_for(Verdict, LocalModel(provider), ask())
    assert (answer.value is None) == bool(answer.fault)
    assert len(answer.responses) <= 2


class Quote(Record):
    quote: str
    line: int | None = None


class Submitted(Record):
    question: str
    evidence: tuple[Quote, ...]
    notes: tuple[str, ...] = ()
    main: Quote | None = None


QUOTES: list[dict[str, Any]] = [{"quote": "It is 3 mm.", "line": 3}]
TEXT = json.dumps(QUOTES)
SHAPES: dict[str, dict[str, Any]] = {
    "array in a string": {"question": "q", "evidence": TEXT},
    "encoded twice": {"question": "q", "evidence": json.dumps(TEXT)},
    "encoded three times": {"question": "q", "evidence": json.dumps(json.dumps(TEXT))},
    "items in strings": {"question": "q", "evidence": [json.dumps(QUOTES[0])]},
    "items in strings in a string": {"question": "q", "evidence": json.dumps([json.dumps(QUOTES[0])])},
    "one item": {"question": "q", "evidence": QUOTES[0]},
    "one item in a string": {"question": "q", "evidence": json.dumps(QUOTES[0])},
    "junk around": {"question": "q", "evidence": f"Here it is:\n```json\n{TEXT}\n```\nDone."},
    "a trailing comma": {"question": "q", "evidence": TEXT[:-1] + ",]"},
    "single quotes": {"question": "q", "evidence": str(QUOTES)},
    "an object in a string": {"question": "q", "evidence": QUOTES, "main": json.dumps(QUOTES[0])},
    "null in a string": {"question": "q", "evidence": QUOTES, "main": "null", "notes": "[]"},
    "empty text for nothing": {"question": "q", "evidence": QUOTES, "main": ""},
    "under another name": {"arguments": {"question": "q", "evidence": QUOTES}},
    "text under another name": {"submit_qa": json.dumps({"question": "q", "evidence": TEXT})},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_in_another_shape_are_read(shape: str) -> None:
    found = fitted(Submitted, SHAPES[shape])
    assert (found.question, found.evidence) == ("q", (Quote(quote="It is 3 mm.", line=3),))
    assert found.main in (None, found.evidence[0])


@pytest.mark.parametrize(
    "given",
    [
        {"question": "q", "evidence": "line 3"},
        {"question": "q", "evidence": "[{"},
        {"question": "q", "evidence": "7"},
        {"question": "q", "evidence": "{{'quote': 'It is 3 mm.'}}"},
        {"question": "q", "evidence": "[" * 100_000},
        {"question": "q", "evidence": ""},
        {"question": QUOTES, "evidence": QUOTES},
        {"more": {}},
        {},
    ],
)
def test_no_guess_is_made_about_arguments(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        fitted(Submitted, given)


@pytest.mark.parametrize(
    "more",
    [
        {"confidence": 0.9},
        {"thought": "The quote says it.", "evidence": TEXT},
        {"evidence": [{**QUOTES[0], "page": 1, "why": {}}]},
        {"main": json.dumps({**QUOTES[0], "why": "it fits"})},
    ],
)
def test_what_no_field_has_a_name_for_is_ignored_only_on_request(more: dict[str, Any]) -> None:
    given = {"question": "q", "evidence": QUOTES, **more}
    assert fitted(Submitted, given, ignore_unknown=True).evidence == (Quote(quote="It is 3 mm.", line=3),)
    with pytest.raises(ValidationError, match="Extra inputs"):
        fitted(Submitted, given)


def test_an_unknown_name_does_not_stand_for_a_missing_field() -> None:
    with pytest.raises(ValidationError, match="evidence"):
        fitted(Submitted, {"question": "q", "quotes": QUOTES}, ignore_unknown=True)


def test_text_stays_text() -> None:
    assert fitted(Submitted, {"question": TEXT, "evidence": TEXT, "notes": [TEXT]}).notes == (TEXT,)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_arguments_that_were_encoded_several_times_are_read(times: int) -> None:
    raw: Any = {"question": 'What is "3 mm"?', "evidence": QUOTES}
    wanted = raw
    for _ in range(times):
        raw = json.dumps(raw)
    assert structured_output.read_arguments(raw) == (wanted, None)


def test_a_reply_in_the_field_for_reasoning_is_named(make_model: ModelMaker) -> None:
    thought = '{"city": "Bergen"}'
    body: dict[str, Any] = {
        "choices": [{"message": {"content": "", "reasoning_content": thought}}],
        "output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]}],
        "content": [{"type": "thinking", "thinking": thought}],
    }
    with WireServer(lambda _seen, _number: Fault(200, body)) as server:
        found = ask_for(Quote, make_model(server), ask())
    assert "field for reasoning" in found.fault
    assert "Bergen" in found.fault


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"questions": [{"q": "a"}, {"q": "b}"}, {"q": "c', {"questions": [{"q": "a"}, {"q": "b}"}]}),
        (
            '{"tool": "t", "arguments": {"answers": [{"n": [{"x": 1}]}, {"n',
            {"tool": "t", "arguments": {"answers": [{"n": [{"x": 1}]}]}},
        ),
        ('Sure: {"a": [{"q": "\\""},', {"a": [{"q": '"'}]}),
        ('{"a": [{"q": {"x": 1}', {}),
        ('{"a": "no list', {}),
        ("", {}),
        ("}]{[", {}),
    ],
)
def test_the_whole_items_of_a_text_that_is_cut_off(text: str, found: dict[str, object]) -> None:
    assert whole_items(text) == found
