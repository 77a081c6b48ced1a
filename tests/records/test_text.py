from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    IdeaPlan,
    VerifierReport,
    as_letter,
    read_sample,
    sample_of,
)
from qagen_dagster.records.text import markdown_text, mended, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]8;;http://evil\x07", "\\u001b[2J\\u001b]8;;http://evil\\u0007"),
        ("a\u202eb\u2066\u200f", "a\\u202eb\\u2066\\u200f"),
        ("44\rkg\x9b31m", "44\\u000dkg\\u009b31m"),
        ("two\r\nlines\tand a tab, é, 中, 👍", "two\r\nlines\tand a tab, é, 中, 👍"),
    ],
)
def test_control_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_json_keeps_its_values(text: str) -> None:
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


ADDRESS = re.compile(r"(?:https?://|www\.)[-.\w]|[-.\w+]@[-\w]", re.IGNORECASE)


def links_and_images(text: str) -> list[str]:
    """What CommonMark makes of a table cell other than text, and the addresses that GitHub's Markdown links by itself."""
    (inline,) = MarkdownIt("commonmark").parseInline(f"cell {text}")
    found = [one.type for one in inline.children or [] if one.type.startswith(("link", "image", "html"))]
    return found + ADDRESS.findall("".join(one.content for one in inline.children or []))


HOSTILE = [
    "![x](http://evil.example/beacon.png)",
    "\\![x](http://evil.example/a)",
    "\\\\![x](http://evil.example/a)",
    "[x](http://evil.example)",
    "![x][y]\n\n[y]: http://evil.example",
    "<http://evil.example>",
    "<img src=http://evil.example>",
    "see http://evil.example/a and HTTPS://evil.example",
    "WWW.evil.example",
    "`` ![x](http://evil.example) ``",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_of_a_text_has_no_link_and_no_image(text: str) -> None:
    assert links_and_images(markdown_text(text)) == []


@given(st.lists(st.sampled_from([*HOSTILE, *"[]()!\\<>`:/|&;@", "http://", "www."])).map("".join))
def test_no_text_makes_a_link(text: str) -> None:
    assert links_and_images(markdown_text(text)) == []


@given(st.text("_~*a0é.- "))
def test_no_text_is_emphasised_or_struck_out(text: str) -> None:
    (inline,) = MarkdownIt("commonmark").enable("strikethrough").parseInline(f"b{markdown_text(text)}b")
    assert "".join(one.content for one in inline.children or []) == f"b{text}b"
    assert markdown_text("lake_ice_diary.xml") == "lake_ice_diary.xml"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"$\frac{1}{2}$", "$\\frac{1}{2}$"),
        (r"$\beta + \theta$", "$\\beta + \\theta$"),
        (r"$2\times 3$ and $\tan x$", "$2\\times 3$ and $\\tan x$"),
        (r"$\rho g h$", "$\\rho g h$"),
        (r"$\nu \neq 3$", "$\\nu \\neq 3$"),
        (r"one\ntwo", "one\ntwo"),
        (r"a\tb", "a\tb"),
        (r"next\nunit is $u$", "next\nunit is $u$"),
    ],
)
def test_latex_that_was_not_escaped_in_json_is_mended(written: str, meant: str) -> None:
    assert mended(json.loads(f'"{written}"')) == meant


@pytest.mark.parametrize(
    ("value", "text"), [(2, "2"), (2.5, "2.5"), (" 3 ", "3"), (None, None), (True, True)]
)
def test_numbers_without_quotes_are_text(value: object, text: object) -> None:
    assert mended(value) == text


@given(st.text(alphabet=st.characters(exclude_characters="\f\b\t\r\n")))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert mended(text) == text.strip()


@pytest.mark.parametrize("said", ["b", "(B)", "B.", "**B**", "`b`"])
def test_letters_as_models_write_them(said: str) -> None:
    assert as_letter(said) == "B"
    found = BlindSolution.model_validate(
        {"reasoning": "r", "value": "", "right_options": [said], "chosen_option": said}
    )
    assert (found.chosen_option, found.right_options) == ("B", ("B",))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("fixable_with_regeneration", "fixable_with_regeneration"),
        ("Structural flaw", "structural_flaw"),
        ("fixable-with-regeneration.", "fixable_with_regeneration"),
        ("critical", "unknown"),
        ("", None),
        ("N/A", None),
        (None, None),
    ],
)
def test_severities_and_verdicts_as_models_write_them(said: str | None, meant: str | None) -> None:
    found = VerifierReport.model_validate({"verdict": "**fail**", "severity": said})
    assert found.model_dump(mode="json")["severity"] == meant
    assert found.verdict.value == "FAIL"


def test_a_verdict_that_is_neither_is_refused() -> None:
    with pytest.raises(ValueError, match="PASS"):
        VerifierReport.model_validate({"verdict": "perhaps"})


def test_blank_text_is_refused() -> None:
    fields = dict.fromkeys(IdeaPlan.model_fields, "x") | {
        "constraints_used": ["x"],
        "intended_wrong_paths": ["x", "y", " "],
    }
    with pytest.raises(ValueError, match="at least 1 character"):
        IdeaPlan.model_validate(fields)


@given(st.integers(0, 999_999), st.integers(1, 9_999), st.integers(0, 999))
def test_samples_are_read_back(seed: int, slot: int, number: int) -> None:
    assert read_sample(sample_of(seed, slot, number)) == (seed, slot, number)
