"""The export formats of item banks."""

from __future__ import annotations

import json
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from moodle_xml_parser.parser import parse_bytes

from qagen_dagster.publishing.exams.formats import BANK_EXPORTERS, gift_file, inspect_samples, moodle_file
from qagen_dagster.publishing.markup import paragraphs, with_fences
from qagen_dagster.records.exams.bank import ItemBank
from qagen_dagster.records.exams.submissions import LETTERS
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
        source.write_bytes(gift_file(of)["gift.txt"])
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


def test_questions_come_back_from_gift(read: Any) -> None:
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


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("$\\{}<>&"), min_size=1, max_size=40
).filter(str.strip)


def test_questions_come_back_from_moodle() -> None:
    plain, hard = item(), hard_item()
    found = parse_bytes(moodle_file(bank(plain, hard))["moodle.xml"])["multichoice"]
    assert [one.name for one in found] == [plain.id, hard.id]
    assert [(one.answer, one.score_fraction) for one in found[0].options] == [
        ("\\(1\\)", 0), ("\\(2\\)", 100), ("\\(3\\)", 0), ("\\(4\\)", 0),
    ]  # fmt: skip
    assert found[1].text_pre_parse == unescape(paragraphs(HARD_STEM, with_fences))
    assert [one.answer for one in found[1].options] == [
        unescape(with_fences(text)) for text in HARD_OPTIONS.values()
    ]
    assert found[1].options[1].feedback == "<p>adds B = \\(\\frac{1}{2}\\) twice #1</p>"
    assert found[1].single
    assert not found[1].shuffle_answers


@given(TEXT)
def test_any_option_comes_back(text: str) -> None:
    (found,) = parse_bytes(
        moodle_file(bank(item(question("x", "B", A=text, B="1", C="2", D="3"))))["moodle.xml"]
    )["multichoice"]
    assert found.options[0].answer == unescape(with_fences(text).strip())


def test_categories_are_schemas() -> None:
    root = etree.fromstring(moodle_file(bank(item(), hard_item()))["moodle.xml"])
    assert [element.findtext("text") for element in root.iter("category")] == [
        "$course$/top/Mini & <Test> // one/M1 Hidden Proportionality // Scaling",
        "$course$/top/Mini & <Test> // one/P2 Scaling Laws & <Dimensions>",
    ]


def test_each_line_is_a_sample() -> None:
    plain, hard = item(), hard_item()
    lines = inspect_samples(bank(plain, hard))["inspect.jsonl"].decode().splitlines()
    first, second = map(json.loads, lines)
    assert set(first) == {"id", "input", "choices", "target", "metadata"}
    assert (first["id"], first["choices"], first["target"]) == (plain.id, ["$1$", "$2$", "$3$", "$4$"], "B")
    assert second["input"] == HARD_STEM
    assert second["choices"][LETTERS.index(second["target"])] == "$\\dfrac{3}{4}$"
    assert second["metadata"]["difficulty"] == "hard"
    assert set(second["metadata"]["distractor_map"]) == set("BCDE")


def test_names_are_unique_and_files_apart() -> None:
    names = [one.name for one in BANK_EXPORTERS]
    assert names == ["qti", "qti3", "canvas", "moodle", "gift", "inspect", "latex", "html"]
    files = [path for one in BANK_EXPORTERS for path in one.export(bank(item(), hard_item()))]
    assert len(set(files)) == len(files) == 8


def test_an_empty_bank_has_files_too() -> None:
    for one in BANK_EXPORTERS:
        assert one.export(bank())
