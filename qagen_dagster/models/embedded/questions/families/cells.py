"""Questions from table cells: row by column, defaults of options, variables, and the row with the highest number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.questions.context import Context
from qagen_dagster.models.embedded.questions.families.entries import owner_of
from qagen_dagster.models.embedded.questions.naming import (
    PLAIN_NUMBER,
    column_words,
    in_sentence,
    property_name,
    row_words,
)
from qagen_dagster.models.embedded.text.tables import Row, Table
from qagen_dagster.models.embedded.text.vocabulary import HEAD_NOUNS, word_set

_EMPTY = frozenset(
    {"", "-", "\u2013", "—", "none", "n/a", "yes", "no", "x", "✓", "✗", "true/false", "all", "any", "0"}
)
_UNORDERED = frozenset(
    {"year", "number", "code", "address", "identifier", "date", "version", "phone", "default"}
)


def cell_questions(tables: Sequence[Table], context: Context) -> Iterator[Candidate]:
    """Questions for every table."""
    for table in tables:
        place = place_of(table, context)
        if len(table.rows) == 1:
            yield from _single_row(table, context)
        elif place and len(set(table.column(0))) == len(table.rows):
            if table.header.cells[0].lower() in _TRANSPOSED:
                yield from _by_column(table, place, context)
                continue
            yield from _by_row(table, place, context)
            yield from _extremes(table, place, context)


def place_of(table: Table, context: Context) -> str:
    """The frame that names the table, or empty if it has no name."""
    name = context.title if context.case else f'"{context.title}"'
    if not context.title:
        return ""
    if table.label:
        return f"According to {table.label} of {name}, "
    inner = context.inner(table.section)
    return (
        f'According to the table in the "{inner}" section of {name}, '
        if inner
        else f"According to the table in {name}, "
    )


def _single_row(table: Table, context: Context) -> Iterator[Candidate]:
    """Questions about a single row, whose columns are properties of the document's subject."""
    owner = owner_of(table.section, context)
    for head, cell in zip(table.header.cells, table.rows[0].cells, strict=True):
        if owner and 1 <= len(head.split()) <= 3 and cell.lower() not in _EMPTY:
            yield _candidate(f"What is the {head} of {owner}?", cell, table, table.rows[0], 0.5)


def _by_row(table: Table, place: str, context: Context) -> Iterator[Candidate]:
    first = table.header.cells[0]
    for column in range(1, len(table.header.cells)):
        head, values = table.header.cells[column], table.column(column)
        asked = column_words(head, context)
        natural = "given under" not in asked
        for row in table.rows if _names_rows(table, context) else ():
            if _repeats(row.cells[1:]):
                continue
            cell, label = row.cells[column], row.cells[0]
            if _askable(label, cell, head):
                question = f"{place}{asked} {row_words(first, label, context)}?"
                quality = (
                    0.7 - 0.03 * len(cell.split()) + 0.1 * (values.count(cell) == 1) - 0.35 * (not natural)
                )
                yield _candidate(question, cell, table, row, quality)


def _by_column(table: Table, place: str, context: Context) -> Iterator[Candidate]:
    """Questions about tables whose rows are properties and whose columns are things."""
    for row in table.rows:
        name = property_name(row.cells[0], context)
        for head, cell in zip(table.header.cells[1:], row.cells[1:], strict=True):
            if name and _askable(row.cells[0], cell, head) and len(head.split()) <= 4:
                yield _candidate(f'{place}what is the {name} for "{head}"?', cell, table, row, 0.65)


def _repeats(cells: Sequence[str]) -> bool:
    """Whether all cells are equal: such a row is a second header or a heading, not data."""
    return len(cells) > 1 and len(set(cells)) == 1 and not PLAIN_NUMBER.match(cells[0])


_TRANSPOSED = frozenset(
    {
        "property",
        "parameter",
        "characteristic",
        "attribute",
        "quantity",
        "feature",
        "measure",
        "specification",
    }
)


def _names_rows(table: Table, context: Context) -> bool:
    """Whether the first column identifies rows: by words, or by numbers of a named kind (years, sizes)."""
    first = table.header.cells[0]
    numeric = sum(bool(PLAIN_NUMBER.match(label)) for label in table.column(0))
    return numeric == 0 or first.lower() in HEAD_NOUNS or bool(property_name(first, context))


def _askable(label: str, cell: str, head: str) -> bool:
    if (
        cell.lower() in _EMPTY
        or head.lower().rstrip("s.") in ("unit", "no", "notes", "reference", "ref")
        or (cell.startswith("(") and cell.endswith(")"))
        or not label
        or len(label.split()) > 7
        or len(cell.split()) > 16
    ):
        return False
    return len(head) > 1 and label.lower() not in ("total", "note", "notes") and len(cell) < 140


def _extremes(table: Table, place: str, context: Context) -> Iterator[Candidate]:
    """Which row has the highest or lowest number of a column: the answer needs a comparison of rows."""
    first = table.header.cells[0]
    if (
        not 3 <= len(table.rows) <= 6
        or not 1 <= len(first.split()) <= 3
        or PLAIN_NUMBER.match(table.rows[0].cells[0])
    ):
        return
    for column in range(1, len(table.header.cells)):
        name, _, unit = property_name(table.header.cells[column], context).partition(" in ")
        texts = table.column(column)
        if (
            not in_sentence(first, context)[:1].islower()
            or not name
            or name.split()[-1] in _UNORDERED
            or not all(PLAIN_NUMBER.match(text) for text in texts)
        ):
            continue
        numbers = [float(text.replace(",", "")) for text in texts]
        for word, best in zip(_superlatives(name, unit), (max(numbers), min(numbers)), strict=True):
            if numbers.count(best) == 1 and len(set(numbers)) >= 3:
                row = table.rows[numbers.index(best)]
                question = f"{place}which {in_sentence(first, context)} has the {word} {name}?"
                yield Candidate(
                    question, row.cells[0], tuple(other.quote for other in table.rows), "extreme", "comparison",
                    0.7, table.section, anchored=True,
                )  # fmt: skip


def _superlatives(name: str, unit: str) -> tuple[str, str]:
    """The superlatives of a property for the rows with the most and the least of it."""
    head = name.split()[-1].lower()
    if head in _SIZES:
        return "greatest", "smallest"
    if unit.lower().rstrip("s") in _SPANS and head not in _LEVELS:
        return "longest", "shortest"
    return "highest", "lowest"


_SIZES = word_set(
    "length width depth height thickness area size distance volume mass weight diameter range amount number share"
)
_LEVELS = word_set("rate price cost fee age score index level ratio speed density")
_SPANS = word_set("day week month year hour minute second h min s d")


def _candidate(question: str, cell: str, table: Table, row: Row, quality: float) -> Candidate:
    kind = "numeric" if any(char.isdigit() for char in cell) else "factual"
    return Candidate(question, cell, (row.quote,), "cell", kind, quality, table.section, anchored=True)
