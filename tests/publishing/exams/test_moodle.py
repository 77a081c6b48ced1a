"""Moodle XML through a parser that is not ours."""

from __future__ import annotations

from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from moodle_xml_parser.parser import parse_bytes

from qagen_dagster.publishing.exams.formats import MoodleXml
from qagen_dagster.publishing.markup import paragraphs, with_fences
from tests.support.exams.items import HARD_OPTIONS, HARD_STEM, bank, hard_item, item, question

TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("$\\{}<>&"), min_size=1, max_size=40
).filter(str.strip)


def test_questions_come_back() -> None:
    plain, hard = item(), hard_item()
    found = parse_bytes(MoodleXml().export(bank(plain, hard))["moodle.xml"])["multichoice"]
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
        MoodleXml().export(bank(item(question("x", "B", A=text, B="1", C="2", D="3"))))["moodle.xml"]
    )["multichoice"]
    assert found.options[0].answer == unescape(with_fences(text).strip())


def test_categories_are_schemas() -> None:
    root = etree.fromstring(MoodleXml().export(bank(item(), hard_item()))["moodle.xml"])
    assert [element.findtext("text") for element in root.iter("category")] == [
        "$course$/top/Mini & <Test> // one/M1 Hidden Proportionality // Scaling",
        "$course$/top/Mini & <Test> // one/P2 Scaling Laws & <Dimensions>",
    ]
