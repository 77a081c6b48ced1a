"""Questions from table cells: row by column, defaults of options, variables, and which row is highest.

What belongs here: choosing cells and naming row and column. Reading the table belongs to `tables`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qagen_dagster.models.embedded.candidate import Candidate
from qagen_dagster.models.embedded.context import Context
from qagen_dagster.models.embedded.entries import owner_of, sentence_case
from qagen_dagster.models.embedded.language import parse
from qagen_dagster.models.embedded.tables import Row, Table

_EMPTY = frozenset(
    {"", "-", "\u2013", "—", "none", "n/a", "yes", "no", "x", "✓", "✗", "true/false", "all", "any", "0"}
)
_CODE_HEAD = re.compile(
    r"^(?:option|flag|parameter|setting|field|key|argument|property|variable|environment variable|name|command)s?$",
    re.I,
)
_NUMBER = re.compile(r"^[-\u2212±<>≤≥~]?\s?\d[\d,]*(?:\.\d+)?\s?(?:%|[A-Za-z°µ/]{0,6})$")
_PLAIN_NUMBER = re.compile(r"^\d[\d,]*(?:\.\d+)?$")


def cell_questions(tables: Sequence[Table], context: Context) -> Iterator[Candidate]:
    """Questions for every table."""
    for table in tables:
        place = place_of(table, context)
        if len(table.rows) == 1:
            yield from _single_row(table, context)
        elif place and len(set(table.column(0))) == len(table.rows):
            yield from _by_row(table, place)
            yield from _extremes(table, place)


def place_of(table: Table, context: Context) -> str:
    """The frame that names the table, or empty if nothing names it."""
    name = context.title if context.case else f'"{context.title}"'
    if not context.title:
        return ""
    if table.label:
        return f"According to {table.label} of {name}, "
    inner = context.inner(table.section)
    return f'According to the "{inner}" table in {name}, ' if inner else f"According to the table in {name}, "


def _single_row(table: Table, context: Context) -> Iterator[Candidate]:
    """One row: its columns are properties of the thing the document is about."""
    owner = owner_of(table.section, context)
    for head, cell in zip(table.header.cells, table.rows[0].cells, strict=True):
        if owner and 1 <= len(head.split()) <= 3 and cell.lower() not in _EMPTY:
            yield _candidate(f"What is the {head} of {owner}?", cell, table, table.rows[0], 0.5)


def _by_row(table: Table, place: str) -> Iterator[Candidate]:
    heads = parse([f"the {head}" for head in table.header.cells])
    first = table.header.cells[0]
    for column in range(1, len(table.header.cells)):
        head = table.header.cells[column]
        root = next(token for token in heads[column] if token.dep_ == "ROOT")
        noun = root.pos_ in ("NOUN", "PROPN") and len(head.split()) <= 6
        plural = root.tag_ in ("NNS", "NNPS")
        values = table.column(column)
        for row in table.rows:
            cell, label = row.cells[column], row.cells[0]
            if not _askable(label, cell, head):
                continue
            question = f"{place}{_words_for(head, noun, plural)} {_row_name(first, label)}?"
            quality = 0.7 - 0.03 * len(cell.split()) + 0.1 * (values.count(cell) == 1) - 0.2 * (not noun)
            yield _candidate(question, cell, table, row, quality)


def _askable(label: str, cell: str, head: str) -> bool:
    if cell.lower() in _EMPTY or not label or len(label.split()) > 7 or len(cell.split()) > 16 or not head:
        return False
    return len(head) > 1 and label.lower() not in ("total", "note", "notes", "") and len(cell) < 140


def _words_for(head: str, noun: bool, plural: bool) -> str:
    if head.lower() in ("default", "default value", "defaults"):
        return "what is the default value of"
    if noun:
        return f"what {'are' if plural else 'is'} the {sentence_case(head)} {'for' if '(' in head or ' of ' in head else 'of'}"
    return f'what is given under "{head}" for'


def _row_name(first: str, label: str) -> str:
    if _PLAIN_NUMBER.match(label):
        return (
            f"{sentence_case(first)} {label}" if first.isalpha() else f'the row in which "{first}" is {label}'
        )
    if _CODE_HEAD.match(first) or re.match(r"^--?\w|^\w+[_.]\w+$", label):
        kind = first.lower().rstrip("s") if _CODE_HEAD.match(first) and first.lower() not in ("name",) else ""
        if re.fullmatch(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", label):
            kind = "environment variable"
        return f"the {kind} `{label}`".replace("  ", " ")
    if first and len(first.split()) <= 3 and first[0].isalpha() and first.lower() not in label.lower():
        return f'the {sentence_case(first)} "{label}"'
    return f'"{label}"'


def _extremes(table: Table, place: str) -> Iterator[Candidate]:
    """Which row has the highest or lowest number of a column: an answer from comparing rows."""
    first = table.header.cells[0]
    if (
        not 3 <= len(table.rows) <= 6
        or not first
        or len(first.split()) > 3
        or _PLAIN_NUMBER.match(table.rows[0].cells[0])
    ):
        return
    for column in range(1, len(table.header.cells)):
        head = table.header.cells[column]
        texts = table.column(column)
        if not all(_PLAIN_NUMBER.match(text) for text in texts):
            continue
        numbers = [float(text.replace(",", "")) for text in texts]
        for word, best in (("highest", max(numbers)), ("lowest", min(numbers))):
            if numbers.count(best) == 1 and len(set(numbers)) >= 3:
                row = table.rows[numbers.index(best)]
                question = f"{place}which {sentence_case(first)} has the {word} {_without_unit(head)}?"
                yield Candidate(
                    question, row.cells[0], tuple(other.quote for other in table.rows), "extreme", "comparison",
                    0.7, table.section, anchored=True,
                )  # fmt: skip


def _without_unit(head: str) -> str:
    return sentence_case(re.sub(r"\s*\([^()]*\)$", "", head))


def _candidate(question: str, cell: str, table: Table, row: Row, quality: float) -> Candidate:
    kind = "numeric" if any(char.isdigit() for char in cell) else "factual"
    return Candidate(question, cell, (row.quote,), "cell", kind, quality, table.section, anchored=True)
