"""The answer that the form of a piece gives: the cell of a row, the value of a label, a spelled-out abbreviation, a definition.

It shares no rule with the generator, so that it does not share its mistakes.
"""

from __future__ import annotations

import re

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.answering.retrieval import Query
from qagen_dagster.models.embedded.answering.units import Unit
from qagen_dagster.models.embedded.text.values import terms

ABBREVIATION = re.compile(r"(\S{2,12}) stand for\?$")
DEFINED = re.compile(r"(?:what|who) (?:is|are|was|were) (?:an? |the )?([^?\"]{4,60})\?$", re.IGNORECASE)
_STOP = word_set("the a an of in on at to for from by with and or is are was were be its their that which")


def by_form(asked: Query, unit: Unit) -> str:
    """The answer in a row, a labelled line or a sentence of a fixed form; empty if the form gives none."""
    if unit.cells:
        return _cell(asked, unit)
    if unit.label:
        return unit.body.strip() if _label_asked(asked, unit) else ""
    return _expansion(asked, unit.text) or _consequence(asked, unit.text) or _defined(asked, unit.text)


def _label_asked(asked: Query, unit: Unit) -> bool:
    """Whether the question asks for this label: it contains the whole label, quoted or as most of the question."""
    label = set(terms(unit.label))
    if any(unit.label.lower() == quoted.lower() for quoted in asked.quoted):
        return True
    return bool(label) and label <= asked.terms and len(label) >= 0.3 * len(asked.terms)


def _cell(asked: Query, unit: Unit) -> str:
    """The cell under the header asked for, in a row that the question names."""
    rows = [
        index
        for index, cell in enumerate(unit.cells)
        if cell and set(terms(cell)) and set(terms(cell)) <= asked.terms
    ]
    named = bool(rows) or (len(unit.cells) > 0 and unit.table < 0)
    scores = [
        (len(set(terms(head)) & asked.terms) / max(1, len(set(terms(head)))), index)
        for index, head in enumerate(unit.header)
        if index not in rows and unit.cells[index]
    ]
    if not scores or (not named and len(unit.header) < 5):
        return ""
    best, column = max(scores, key=lambda item: (item[0], -item[1]))
    return unit.cells[column] if best >= 0.5 else ""


def _consequence(asked: Query, text: str) -> str:
    """The part of a sentence after the condition that the question repeats."""
    condition = re.sub(r"^what happens ", "", asked.text.lower()).rstrip("?")
    if condition == asked.text.lower().rstrip("?") or not text.lower().startswith(condition):
        return ""
    return text[len(condition) :].strip(" ,.;")


def _defined(asked: Query, text: str) -> str:
    """The text after "is" in a sentence about exactly the thing asked for."""
    found = re.search(r"\b(?:is|are|was|were|means)\b\s+(.*)", text)
    if found is None or not DEFINED.match(asked.text):
        return ""
    said = set(terms(text[: found.start()]))
    same = len(said & asked.terms) / max(1, len(said | asked.terms))
    return found.group(1).rstrip(".; ") if same >= 0.6 else ""


def _expansion(asked: Query, text: str) -> str:
    short = ABBREVIATION.search(asked.text)
    at = text.find(f"({short.group(1)})") if short else -1
    if short is None or at < 0:
        return ""
    before = text[:at].split()
    letters = sum(char.isalpha() for char in short.group(1).rstrip("s"))
    count, start = 0, len(before)
    while start > 0 and count < letters:
        start -= 1
        count += before[start].lower() not in _STOP
    found = " ".join(before[start:])
    return found if found[:1].lower() == short.group(1)[:1].lower() else ""
