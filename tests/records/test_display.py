from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from qagen_dagster.records.display import markdown_text, visible


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
