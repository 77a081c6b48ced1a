from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.records.problems.submissions import mended_latex

ITEM = "\\item A body \\textbf{falls}: $\\frac{1}{2} \\rho v^2$.\n\\begin{tasks}(2)\n\\task $\\theta$ \\ans\n\\end{tasks}"


def test_whole_latex_stays_as_it_is() -> None:
    for text in (ITEM, "\\item x\nu = 3\nequal\n", "a \\\\ b", "\\item $a \\\\ b$"):
        assert mended_latex(text) == text.strip()


@pytest.mark.parametrize(
    ("lost", "whole"),
    [
        (ITEM.replace("\\f", "\f").replace("\\b", "\x08").replace("\\r", "\r").replace("\\t", "\t"), ITEM),
        (ITEM.replace("\\", "\\\\"), ITEM),
        (f"```latex\n{ITEM}\n```", ITEM),
        (f"  {ITEM}\r\n".replace("\n", "\r\n"), ITEM),
        ("$a \neq b$", "$a \\neq b$"),
    ],
)
def test_what_json_took_is_given_back(lost: str, whole: str) -> None:
    assert mended_latex(lost) == whole


def test_lost_escapes_are_those_of_json() -> None:
    once = json.loads(
        '"'
        + ITEM.replace("\\i", "\\\\i").replace("\\e", "\\\\e").replace("\\a", "\\\\a").replace("\n", "\\n")
        + '"'
    )
    assert mended_latex(once) == ITEM


def test_what_is_no_text_is_left_alone() -> None:
    assert mended_latex(None) is None
    assert mended_latex(["x"]) == ["x"]


@given(st.text(max_size=300))
def test_mending_twice_changes_nothing_more(text: str) -> None:
    once = mended_latex(text)
    assert isinstance(once, str)
    assert "\r" not in once
    assert once == once.strip()
