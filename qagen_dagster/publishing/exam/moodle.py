r"""Moodle XML: multiple choice questions in categories by schema. Formulas stand between \( \), for Moodle's filter."""

from __future__ import annotations

from itertools import groupby
from typing import TypeAlias

from lxml import etree

from qagen_dagster.publishing.exam.feedback import feedback, is_key, letters, solution
from qagen_dagster.publishing.exam.markup import paragraphs, with_fences
from qagen_dagster.publishing.exam.segments import xml_text
from qagen_dagster.records.exam_bank import ExamItem, ItemBank

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name


class MoodleXml:
    """One file for Moodle's question bank."""

    name = "moodle"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        root = etree.Element("quiz")
        for schema, items in groupby(bank.items, key=lambda item: (item.schema_id, item.schema_title)):
            root.append(_category(f"$course$/top/{_step(bank.name)}/{_step(' '.join(schema))}"))
            root.extend([_question(item) for item in items])
        etree.indent(root, " ")
        return {"moodle.xml": etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"}


def _category(path: str) -> Element:
    question = etree.Element("question", {"type": "category"})
    _text(question, "category", path)
    return question


def _question(item: ExamItem) -> Element:
    question = etree.Element("question", {"type": "multichoice"})
    _text(question, "name", item.id)
    _html(question, "questiontext", paragraphs(item.question.stem, with_fences))
    _html(question, "generalfeedback", paragraphs(solution(item), with_fences))
    for name, value in (
        ("defaultgrade", "1"),
        ("penalty", "0.3333333"),
        ("hidden", "0"),
        ("idnumber", item.id[:100]),  # Moodle's column is no wider
        ("single", "true"),
        ("shuffleanswers", "false"),  # solutions may speak of options by letter
        ("answernumbering", "ABCD"),
    ):
        etree.SubElement(question, name).text = value
    for letter in letters(item):
        answer = _html(question, "answer", with_fences(item.question.options[letter]))
        answer.set("fraction", "100" if is_key(item, letter) else "0")
        _html(answer, "feedback", paragraphs(feedback(item, letter), with_fences))
    tags = etree.SubElement(question, "tags")
    for tag in (item.schema_id, item.difficulty.value):
        _text(tags, "tag", tag)
    return question


def _text(parent: Element, name: str, value: str) -> Element:
    child = etree.SubElement(parent, name)
    etree.SubElement(child, "text").text = xml_text(value)
    return child


def _html(parent: Element, name: str, value: str) -> Element:
    child = _text(parent, name, value)
    child.set("format", "html")
    return child


def _step(name: str) -> str:
    """One step of a category's path; Moodle reads `//` as a slash."""
    return " ".join(name.replace("/", "//").split())
