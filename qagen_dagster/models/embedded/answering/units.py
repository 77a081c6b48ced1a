"""The pieces of a document that the reader searches: sentences, table rows, labelled lines, entries and steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment
from qagen_dagster.models.embedded.text.passage import Passage, Quote, plain
from qagen_dagster.models.embedded.text.sentences import split
from qagen_dagster.models.embedded.text.tables import tables

_LABEL = re.compile(r"^([^:.]{2,60}):\s+(\S.*)$", re.DOTALL)
_BOLD = re.compile(r"^\s*(?:[-*+•]\s+)?(\*\*\*|\*\*_|\*\*|__)(.{2,60}?)(\*\*\*|_\*\*|\*\*|__):?\s*(?=\S)")


@dataclass(frozen=True)
class Unit:
    """A piece with its exact quote. Labelled lines have `label` and `body`, table rows `header` and `cells`."""

    text: str
    quote: Quote
    section: tuple[str, ...] = ()
    label: str = ""
    body: str = ""
    header: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    table: int = 0  # line of the header, which identifies the table
    caption: str = ""


def units(known: dict[int, Line], headings: dict[int, str]) -> list[Unit]:
    """All pieces of the lines known so far; `headings` are lines known to be headings."""
    found: list[Unit] = []
    run: list[Line] = []
    for number in [*sorted(known), None]:
        if run and (number is None or number != run[-1].number + 1):
            blocks = segment(run, headings)
            found += [unit for block in blocks for unit in _of_block(block)]
            found += _of_tables(blocks)
            run = []
        if number is not None:
            run.append(known[number])
    return found


def _of_tables(blocks: Sequence[Block]) -> Iterator[Unit]:
    for table in tables(blocks):
        header = table.header.cells
        # A single row needs no name: its columns are properties of the document's subject.
        place = table.header.line.number * (1 if len(table.rows) > 1 else -1)
        for row in table.rows:
            pairs = "; ".join(f"{head}: {cell}" for head, cell in zip(header, row.cells, strict=True) if cell)
            caption = f"{table.label} {table.caption}".strip()
            yield Unit(pairs, row.quote, table.section, "", "", header, row.cells, place, caption)


def _of_block(block: Block) -> Iterator[Unit]:
    if block.kind not in (Kind.TEXT, Kind.ITEM) or not block.passage.text:
        return
    passage, section = block.passage, block.section
    number = re.search(r"\d+", block.marker)
    if number:
        yield Unit(passage.text, passage.quote(), section, f"step {number.group()}", passage.text)
    label, body = _labelled(block, passage)
    if label:
        yield Unit(passage.text, passage.quote(), section, label, body)
    for sentence in split(passage):
        yield Unit(sentence.passage.text, sentence.passage.quote(), section)


def _labelled(block: Block, passage: Passage) -> tuple[str, str]:
    bold = _BOLD.match(block.lines[0].text)
    if bold:
        label = plain(bold.group(2))[0].strip(" .:`")
        at = passage.text.find(label) + len(label)
        return label, passage.text[at:].lstrip(" .:")
    match = _LABEL.match(passage.text)
    return (match.group(1), match.group(2)) if match and len(passage.text) < 240 else ("", "")
