from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.models import json_reply

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
    assert json_reply.read_object(f"{before}{text}{after}") == value


@given(OBJECTS)
def test_trailing_commas_are_forgiven(value: dict[str, object]) -> None:
    text = json.dumps({"list": [value, "a,]"], "last": "b,}"})
    spoilt = text.replace('"a,]"]', '"a,]" , \n ]').replace('"b,}"}', '"b,}",}')
    assert json_reply.read_object(spoilt) == json.loads(text)


@given(st.text(max_size=200))
def test_any_text_gives_an_object_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(json_reply.read_object(text), dict)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ('{"a": 1', "cut off"),
        ('{"a": "}', "cut off"),
        ("{'a': 1}", "cannot be read"),
        ('{"a": NaN}', "NaN"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
        ('{"a":' * 700 + '"\\ud800"' + "}" * 700, "nested too deeply"),
    ],
)
def test_faults_say_what_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        json_reply.read_object(text)


def test_braces_of_prose_before_the_object_are_passed_over() -> None:
    assert json_reply.read_object('Use {name} so: {"tool": "x"} or {"tool": "y"}') == {"tool": "x"}


def test_raw_newlines_in_strings_are_taken() -> None:
    assert json_reply.read_object('{"a": "one\ntwo"}') == {"a": "one\ntwo"}


def test_half_a_surrogate_pair_becomes_a_mark_that_utf8_can_hold() -> None:
    (key,) = read = json_reply.loads('{"\\ud83d": ["\\ud83d\\ude00", "\\ude00x"]}')
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
    ],
)
def test_arguments_in_all_their_forms(raw: object, arguments: dict[str, object], faulty: bool) -> None:
    read, fault = json_reply.read_arguments(raw)
    assert (read, fault is not None) == (arguments, faulty)
