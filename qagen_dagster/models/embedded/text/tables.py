"""Pipe tables: header, rows, captions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.text.blocks import Block, Kind
from qagen_dagster.models.embedded.text.passage import Quote, plain

_SEPARATOR = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_HEAD = re.compile(r"^[A-Z][\w %°()/.,&-]{0,50}$")
_CAPTION = re.compile(r"^\W{0,3}((?:Table|TABLE|Tab\.)\s+[\dIVXA-Z][\w.-]{0,6}?)[.:]?\s+(\S.*)$")


@dataclass(frozen=True)
class Row:
    line: Line
    cells: tuple[str, ...]  # without markup

    @property
    def quote(self) -> Quote:
        text = self.line.text.strip()
        return Quote(text, self.line.number, self.line.number)


@dataclass(frozen=True)
class Table:
    """A table with a header row. `label` and `caption` are empty without a caption."""

    header: Row
    rows: tuple[Row, ...]
    section: tuple[str, ...]
    label: str = ""
    caption: str = ""

    @property
    def ruled(self) -> bool:
        """Whether a line separates the header from the rows, as in Markdown."""
        return self.rows[-1].line.number > self.header.line.number + len(self.rows)

    def column(self, index: int) -> list[str]:
        return [row.cells[index] for row in self.rows]


def _cells(text: str) -> tuple[str, ...]:
    body = text.strip().removeprefix("|")
    body = body[:-1] if body.endswith("|") and not body.endswith("\\|") else body
    parts = re.split(r"(?<!\\)\|", body)
    return tuple(plain(part)[0].strip() for part in parts)


def read_table(block: Block, caption: tuple[str, str] = ("", "")) -> Table | None:
    """The table of a block, or None if it has no header or ragged rows."""
    lines = [line for line in block.lines if line.text.strip()]
    marks = [index for index, line in enumerate(lines) if _SEPARATOR.match(line.text)]
    if len(marks) > 1 or (marks and marks[0] != 1):
        return None
    parsed = [Row(line, _cells(line.text)) for index, line in enumerate(lines) if index not in marks]
    if len(parsed) < 2 or len({len(row.cells) for row in parsed}) != 1:
        return None
    header, rows = parsed[0], parsed[1:]
    if len(set(header.cells)) < len(header.cells):
        return None
    if len(header.cells) < 2 or not all(header.cells[1:]) or (not marks and not _looks_headed(parsed)):
        return None
    return Table(header, tuple(rows), block.section, *caption)


def _looks_headed(parsed: Sequence[Row]) -> bool:
    """Whether the first row is a header although no separator follows: it has only words and differs from the rest."""
    header = parsed[0].cells
    words = all(_HEAD.match(cell) for cell in header)
    return words and len(parsed) >= 3 and len(set(header)) == len(header)


def tables(blocks: Sequence[Block]) -> list[Table]:
    """All tables, with the captions directly before or after them."""
    found: list[Table] = []
    for index, block in enumerate(blocks):
        if block.kind is not Kind.TABLE:
            continue
        before = [_caption_at_end(other) for other in blocks[max(0, index - 1) : index]]
        after = [
            _caption(other.passage.text) for other in blocks[index + 1 : index + 2] if other.kind is Kind.TEXT
        ]
        caption = next((item for item in (*before, *after) if item), ("", ""))
        if table := read_table(block, caption):
            found.append(table)
    return found


def _caption_at_end(block: Block) -> tuple[str, str] | None:
    """The caption that a block is or ends with; in close type it directly follows the paragraph."""
    if block.kind is not Kind.TEXT:
        return None
    texts = [line.text.strip() for line in block.lines]
    for start in reversed(range(len(texts))):
        if found := _caption(" ".join(texts[start:])):
            return found
    return None


def _caption(text: str) -> tuple[str, str] | None:
    match = _CAPTION.match(text)
    if not match or len(text) > 400:
        return None
    return match.group(1).strip(), match.group(2).strip().rstrip(".")
