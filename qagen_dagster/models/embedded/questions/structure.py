"""Questions from the form of a text: spelled-out abbreviations, table cells, labelled lines such as "Resolution: 1 mm"."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from qagen_dagster.english.abbreviations import SHORT, expansion
from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.conversation import quoted
from qagen_dagster.models.embedded.questions.candidate import (
    HEAD_NOUNS,
    PLAIN_NUMBER,
    PREPOSITION,
    Candidate,
    Context,
    property_name,
    row_words,
    type_of,
)
from qagen_dagster.models.embedded.text.blocks import Block, Kind, Row, Table
from qagen_dagster.models.embedded.text.passages import plain, split

_COMMON = word_set(
    "USA US UK EU UN FBI CIA PDF HTML XML JSON API CPU GPU RAM DNA RNA USB LED TV ID AI IT HTTP URL CEO NASA GPS"
)


def acronyms(blocks: Sequence[Block]) -> Iterator[Candidate]:
    """One question for each abbreviation whose letters begin the words before it."""
    for block in blocks:
        for sentence in split(block.passage) if block.kind in (Kind.TEXT, Kind.ITEM) else ():
            text = sentence.passage.text
            for match in SHORT.finditer(text):
                name = match.group(1)
                long_form = expansion(text[: match.start()], name)
                if long_form and name not in _COMMON:
                    asked = f"what does {'the abbreviation ' if name.endswith('s') else ''}{name} stand for?"
                    yield Candidate(asked, long_form, (sentence.passage.quote(),), "acronym", "definition")


_EMPTY = frozenset(
    {"", "-", "\u2013", "—", "none", "n/a", "yes", "no", "x", "✓", "✗", "true/false", "all", "any", "0"}
)


def cell_questions(tables: Sequence[Table], context: Context, *, visual: bool = False) -> Iterator[Candidate]:
    """Questions for every table whose rows have names. The question names the table in visual mode, and if
    another one has the same columns; its label or its section must tell it."""
    places = [_place(table, context) for table in tables]
    for table, place in zip(tables, places, strict=True):
        named = len(table.rows) > 1 and len(set(table.column(0))) == len(table.rows)
        others = [other for other in tables if other is not table]
        heads = set(table.header.cells[1:])
        alone = not visual and not any(heads & set(other.header.cells) for other in others)
        if not named or (places.count(place) > 1 and not alone):
            continue
        yield from _by_row(table, context.frame() if alone else place, context)


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


_BOLD_KEY = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\*\*|__)`?([^*_`]{2,48}?)`?\s*(:?)(?:\*\*|__)\s*(:?)\s+(\S.*)$")
_PLAIN_KEY = re.compile(r"^([A-Z][\w ,/'\u2019()-]{1,44}?):\s+(\S.*)$")
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|can|must|should|may)\b")


def keyed(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """Questions for the values of labels, such as "Supply voltage: 5 V", that the lines give once."""
    entries = [(block, *_entry(block)) for block in blocks]
    times = Counter(key for _, key, _ in entries)
    for block, key, value in entries:
        if not key or times[key] > 1 or not 1 <= len(value.split()) <= 14 or len(key.split()) > 5:
            continue
        if value.endswith((":", "?")) or (_VERB.search(value) and len(value.split()) > 4):
            continue
        name, plural = property_name(key, context), key.endswith("s") and not key.endswith(("ss", "us", "is"))
        if name and not plural and not context.long:
            quotes, frame = (block.passage.quote(),), context.frame(block.section)
            yield Candidate(f"what is the {name}?", value, quotes, "key", type_of(value), 0.65, frame)


def _entry(block: Block) -> tuple[str, str]:
    """The label and the value of a labelled line; empty if it is none."""
    if block.kind not in (Kind.TEXT, Kind.ITEM):
        return "", ""
    bold = _BOLD_KEY.match(block.lines[0].text) if len(block.lines) == 1 else None
    if bold and not bold.group(1).rstrip().endswith("."):
        return bold.group(1).strip(), plain(bold.group(4))[0].strip(" .")
    text = block.passage.text
    found = _PLAIN_KEY.match(text) if len(text) < 160 else None
    return (found.group(1).strip(), found.group(2).strip(" .")) if found else ("", "")
