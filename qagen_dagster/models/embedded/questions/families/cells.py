"""Questions from table cells: a property of a row, and defaults of options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.questions.naming import (
    PLAIN_NUMBER,
    PREPOSITION,
    property_name,
    row_words,
    type_of,
)
from qagen_dagster.models.embedded.text.frame import quoted
from qagen_dagster.models.embedded.text.tables import Row, Table
from qagen_dagster.models.embedded.text.vocabulary import HEAD_NOUNS

_EMPTY = frozenset(
    {"", "-", "\u2013", "—", "none", "n/a", "yes", "no", "x", "✓", "✗", "true/false", "all", "any", "0"}
)


def cell_questions(tables: Sequence[Table], context: Context) -> Iterator[Candidate]:
    """Questions for every table whose rows have names, and which a name or its section tells from the others."""
    places = [_place(table, context) for table in tables]
    for table, place in zip(tables, places, strict=True):
        named = len(table.rows) > 1 and len(set(table.column(0))) == len(table.rows)
        if not named or not (table.label or table.ruled) or places.count(place) > 1:
            continue
        yield from _by_row(table, place, context)


def _place(table: Table, context: Context) -> str:
    """The frame that names the table."""
    inner = context.inner(table.section)
    return context.frame(
        table=table.label or (f"the table in the {quoted(inner)} section" if inner else "the table")
    )


def _by_row(table: Table, place: str, context: Context) -> Iterator[Candidate]:
    first = table.header.cells[0]
    numeric = any(PLAIN_NUMBER.match(label) for label in table.column(0))
    if numeric and first.lower() not in HEAD_NOUNS and not property_name(first, context):
        return  # numbers name a row only if they are of a named kind, such as years
    for column, head in list(enumerate(table.header.cells))[1:]:
        name, values = property_name(head, context), table.column(column)
        if head.lower() in ("default", "default value", "defaults"):
            asked = "what is the default value of"
        elif name:
            asked = f"what is the {name} {'for' if ' in ' in name or PREPOSITION.search(name) else 'of'}"
        else:
            continue
        for row in table.rows:
            cell = row.cells[column]
            if values.count(cell) == 1 and _askable(row, cell):
                words = f"{asked} {row_words(first, row.cells[0], context)}?"
                quality = 0.8 - 0.03 * len(cell.split())
                yield Candidate(words, cell, (row.quote,), "cell", type_of(cell), quality, place)


def _askable(row: Row, cell: str) -> bool:
    """Whether the row has a name, and is data: a row of equal cells is a second header."""
    label, *values = row.cells
    return (
        cell.lower() not in _EMPTY
        and not (cell.startswith("(") and cell.endswith(")"))
        and "](" not in cell  # the rest of a badge that links
        and 0 < len(label.split()) <= 7
        and label.lower() not in ("total", "note", "notes")
        and len(cell.split()) <= 16
        and len(cell) < 140
        and (len(values) < 2 or len(set(values)) > 1 or bool(PLAIN_NUMBER.match(cell)))
    )
