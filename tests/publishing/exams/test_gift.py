"""GIFT through a parser that is not ours, in a process of its own: it builds tables when it is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.publishing.exams.formats import Gift
from qagen_dagster.publishing.markup import with_fences
from qagen_dagster.records.exams.bank import ItemBank
from tests.support.exams.items import HARD_OPTIONS, HARD_STEM, bank, hard_item, item, question

READER = Path(__file__).with_name("read_gift.py")
ODD = [
    "\\",
    "~",
    "=",
    "#",
    "{",
    "}",
    ":",
    "%50%",
    "[html]",
    "->",
    "//",
    "\\n",
    "a\nb",
    "::",
    "####",
    "$CATEGORY: x",
]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(of: ItemBank) -> list[dict[str, Any]]:
        source, target = tmp_path / "gift.txt", tmp_path / "found.json"
        source.write_bytes(Gift().export(of)["gift.txt"])
        subprocess.run(
            [sys.executable, str(READER), str(source), str(target)],
            check=True,
            capture_output=True,
            cwd=tmp_path,
        )
        return json.loads(target.read_text())

    return reading


def shown(raw: str) -> str:
    """What a reader shows of a text."""
    return unescape(raw.replace("\\#", "#").partition(" ####")[0])


def html(text: str) -> str:
    return unescape(" ".join(with_fences(text).split()))


def test_questions_come_back(read: Any) -> None:
    found = read(bank(item(), hard_item()))
    assert [one["kind"] for one in found] == ["MultipleChoiceRadio"] * 2
    assert [one["category"] for one in found] == [
        "$course$/top/Mini & <Test> // one/M1 Hidden Proportionality // Scaling",
        "$course$/top/Mini & <Test> // one/P2 Scaling Laws & <Dimensions>",
    ]
    assert shown(found[1]["text"]) == "[html]" + html(HARD_STEM)
    assert [shown(text) for _, text, _ in found[1]["options"]] == [
        html(text) for text in HARD_OPTIONS.values()
    ]
    assert [raw[0] for raw, _, _ in found[1]["options"]] == ["=", "~", "~", "~", "~"]
    assert shown(found[1]["options"][1][2]) == "adds B = \\(\\frac{1}{2}\\) twice #1"


def test_whatever_means_something_to_gift_comes_back(read: Any) -> None:
    items = [item(question(f"{odd} q{odd}", "A", A=f"1{odd}", B=f"{odd}2", C="3", D="4")) for odd in ODD]
    found = read(bank(*items))
    assert len(found) == len(ODD)
    for one, odd in zip(found, ODD, strict=True):
        assert shown(one["text"]) == "[html]" + html(f"{odd} q{odd}")
        assert [shown(text) for _, text, _ in one["options"]] == [html(f"1{odd}"), html(f"{odd}2"), "3", "4"]
