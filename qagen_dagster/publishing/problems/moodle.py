r"""Moodle XML: a category per problem. Items become multiple choice, numerical or essay questions."""

from __future__ import annotations

import re
from itertools import groupby

from lxml import etree

from qagen_dagster.publishing.moodle_xml import Element, category, html_of, text_of, written
from qagen_dagster.publishing.problems.markup import html
from qagen_dagster.records.problems.result import BankExport, BankItem

_PLAIN = re.compile(r"\s*\$?\s*(-?\d{1,12}(?:\.\d{1,12})?)\s*\$?\s*")
_SHARES = {
    1: "100", 2: "50", 3: "33.33333", 4: "25", 5: "20", 6: "16.66667", 7: "14.28571", 8: "12.5", 9: "11.11111", 10: "10",
}  # fmt: skip  # the fractions that Moodle accepts


class MoodleXml:
    """One file for Moodle's question bank."""

    name = "moodle"

    def export(self, bank: BankExport) -> dict[str, bytes]:
        root = etree.Element("quiz")
        for problem, items in groupby(bank.items, key=lambda item: item.problem):
            root.append(category(bank.title, problem))
            root.extend([_question(item) for item in items])
        return written(root)


def _question(item: BankItem) -> Element:
    number = _PLAIN.fullmatch(item.answer or "") if not item.options else None
    kind = "multichoice" if item.options else "numerical" if number else "essay"
    question = etree.Element("question", {"type": kind})
    text_of(question, "name", item.id)
    html_of(question, "questiontext", html(item.statement))
    html_of(question, "generalfeedback", html(item.solution))
    etree.SubElement(question, "defaultgrade").text = "1"
    etree.SubElement(question, "idnumber").text = item.id[:100]  # the width of Moodle's database column
    if item.options:
        _choices(question, item)
    elif number:
        answer = etree.SubElement(question, "answer", {"fraction": "100", "format": "moodle_auto_format"})
        etree.SubElement(answer, "text").text = number.group(1)
        etree.SubElement(answer, "tolerance").text = "0"
    else:
        etree.SubElement(question, "responseformat").text = "editor"
        html_of(question, "graderinfo", html(item.solution))
    _tags(question, item)
    return question


def _choices(question: Element, item: BankItem) -> None:
    right = sum(option.right for option in item.options)
    wrong = len(item.options) - right
    for name, value in (
        ("single", "true" if right == 1 else "false"),
        ("shuffleanswers", "false"),  # solutions may name options by letter
        ("answernumbering", "abc"),
    ):
        etree.SubElement(question, name).text = value
    for option in item.options:
        answer = html_of(question, "answer", html(option.text))
        share = _SHARES.get(right, "0") if option.right else "0"
        if not option.right and right != 1:
            share = f"-{_SHARES.get(wrong, '0')}"
        answer.set("fraction", share)


def _tags(question: Element, item: BankItem) -> None:
    tags = etree.SubElement(question, "tags")
    known = item.classification
    for tag in (item.made, *((known.difficulty.value, known.topic) if known is not None else ())):
        text_of(tags, "tag", tag)
