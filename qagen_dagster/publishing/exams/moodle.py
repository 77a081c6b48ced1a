r"""Moodle XML: multiple choice questions in categories by schema. Formulas are between \( \), for Moodle's filter."""

from __future__ import annotations

from itertools import groupby

from lxml import etree

from qagen_dagster.publishing.exams.feedback import feedback, is_key, letters, solution
from qagen_dagster.publishing.markup import (
    Element,
    category,
    html_of,
    paragraphs,
    text_of,
    with_fences,
    written,
)
from qagen_dagster.records.exams.bank import ExamItem, ItemBank


class MoodleXml:
    """One file for Moodle's question bank."""

    name = "moodle"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        root = etree.Element("quiz")
        for schema, items in groupby(bank.items, key=lambda item: (item.schema_id, item.schema_title)):
            root.append(category(bank.name, " ".join(schema)))
            root.extend([_question(item) for item in items])
        return written(root)


def _question(item: ExamItem) -> Element:
    question = etree.Element("question", {"type": "multichoice"})
    text_of(question, "name", item.id)
    html_of(question, "questiontext", paragraphs(item.question.stem, with_fences))
    html_of(question, "generalfeedback", paragraphs(solution(item), with_fences))
    for name, value in (
        ("defaultgrade", "1"),
        ("penalty", "0.3333333"),
        ("hidden", "0"),
        ("idnumber", item.id[:100]),  # the width of Moodle's database column
        ("single", "true"),
        ("shuffleanswers", "false"),  # solutions may name options by letter
        ("answernumbering", "ABCD"),
    ):
        etree.SubElement(question, name).text = value
    for letter in letters(item):
        answer = html_of(question, "answer", with_fences(item.question.options[letter]))
        answer.set("fraction", "100" if is_key(item, letter) else "0")
        html_of(answer, "feedback", paragraphs(feedback(item, letter), with_fences))
    tags = etree.SubElement(question, "tags")
    for tag in (item.schema_id, item.difficulty.value):
        text_of(tags, "tag", tag)
    return question
