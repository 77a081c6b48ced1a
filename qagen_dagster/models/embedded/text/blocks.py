"""Groups lines into blocks (headings, paragraphs, list items, tables, code), each with its section path, and reads tables.

The lines are Markdown, or plain text as extracted from PDFs and court opinions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.text.passages import Passage, Quote, join_lines, plain


class Kind(StrEnum):
    HEADING = "heading"
    TEXT = "text"
    ITEM = "item"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True)
class Block:
    """Consecutive lines of one kind. `section` is the path of headings above, outermost first."""

    kind: Kind
    lines: tuple[Line, ...]
    section: tuple[str, ...] = ()
    marker: str = ""  # the beginning of a list item: "-", "1.", "Step 1."
    body_column: int = 0  # the column at which the text of a list item begins

    @cached_property
    def passage(self) -> Passage:
        return join_lines(self.lines, first_column=self.body_column)


_UNKNOWN = "\ufffd"  # an unreadable letter; a block with one counts as code and gives no question
_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:>\s?)*([-*+•\u2013]|\(?\d{1,2}[.)]|Step \d{1,2}[.:]|\([a-z]\))\s+(?=\S)")
_RULE = re.compile(r"^\s*([-_*=~])\s*(?:\1\s*){2,}$")
_ADMONITION = re.compile(r"^\s*(?:!!!|\?\?\?|:::|%%|\{%|<)")
_PAGE_NUMBER = re.compile(r"^\W*(?:[Pp]age\s+)?\d{1,4}(?:\s+of\s+\d{1,4})?\W*$")
_REFERENCES = re.compile(
    r"^(?:\d{1,2}\.? )?(?:references|bibliography|works cited|literature cited)$", re.IGNORECASE
)
_KEY_VALUE = re.compile(r"^\s*[A-Z][\w /()'-]{1,38}:\s+\S")


def is_double_spaced(lines: Sequence[Line]) -> bool:
    """Whether blank lines separate most lines, as in court opinions."""
    texts = [line.text.strip() for line in lines]
    pairs = sum(bool(a) and bool(b) for a, b in pairwise(texts))
    filled = sum(map(bool, texts))
    return filled >= 12 and pairs < 0.3 * filled and sum(map(len, texts)) > 40 * filled


def segment(lines: Sequence[Line], headings: Mapping[int, str] | None = None) -> list[Block]:
    """All blocks of `lines`, in order; `headings` maps the numbers of lines that are known to be headings to their titles."""
    return _Segmenter(lines, headings or {}).run()


class _Segmenter:
    """One pass over the lines; `pending` collects the lines of the current block."""

    def __init__(self, lines: Sequence[Line], headings: Mapping[int, str]) -> None:
        self.lines = lines
        self.headings = headings
        self.loose = is_double_spaced(lines)
        self.blocks: list[Block] = []
        self.pending: list[Line] = []
        self.kind = Kind.TEXT
        self.marker, self.column = "", 0
        start = lines[0].number if lines else 0
        above = [number for number in headings if number < start]
        self.path = [(2, headings[max(above)])] if above else list[tuple[int, str]]()
        self.fenced = self.commented = False
        self.blanks = 0

    def run(self) -> list[Block]:
        for line in self.lines:
            self._take(line)
        self._flush()
        return self.blocks

    def _flush(self) -> None:
        while self.pending and not self.pending[-1].text.strip():
            self.pending.pop()
        if self.pending:
            if any(_UNKNOWN in line.text for line in self.pending):
                self.kind = Kind.CODE
            path = tuple(title for _, title in self.path)
            self.blocks.append(Block(self.kind, tuple(self.pending), path, self.marker, self.column))
        self.pending, self.kind, self.marker, self.column = [], Kind.TEXT, "", 0

    def _take(self, line: Line) -> None:
        if self.commented or line.text.lstrip().startswith("<!--"):
            self._flush()
            self.commented = "-->" not in line.text
        elif _FENCE.match(line.text):
            self._flush()
            self.fenced = not self.fenced
        elif self.fenced:
            self._add(Kind.CODE, line)
        elif not line.text.strip():
            self._blank(line)
            return
        else:
            self._content(line)
        self.blanks = 0

    def _blank(self, line: Line) -> None:
        self.blanks += 1
        if self.loose and self.blanks < 3 and self.pending and self.kind in (Kind.TEXT, Kind.ITEM):
            self.pending.append(line)  # kept, so that a quote across the gap matches the document
        else:
            self._flush()

    def _content(self, line: Line) -> None:
        text, title = line.text, self.headings.get(line.number)
        if marked := _HEADING.match(text):
            self._heading(line, len(marked.group(1)), title or plain(marked.group(2))[0].strip())
        elif title or _REFERENCES.match(text.strip()):
            self._heading(line, 2, title or text.strip())
        elif (text.lstrip().startswith("|") and text.count("|") >= 2) or " | " in text:
            self._add(Kind.TABLE, line)
        elif _RULE.match(text) or _ADMONITION.match(text) or _PAGE_NUMBER.match(text):
            self._flush()
        elif item := _ITEM.match(text):
            self._flush()
            self.kind, self.marker, self.column = Kind.ITEM, item.group(1), item.end()
            self.pending.append(line)
        elif _KEY_VALUE.match(text) and self._at_break(line):
            self._flush()
            self.pending.append(line)
        else:
            self._running(line)

    def _running(self, line: Line) -> None:
        if self.kind in (Kind.TABLE, Kind.CODE) or (self.pending and self.pending[-1].page != line.page):
            self._flush()
        self.pending.append(line)

    def _at_break(self, line: Line) -> bool:
        """Whether a key-value line starts a block. It does not if it continues a sentence."""
        if not self.pending:
            return True
        before = next((line.text for line in reversed(self.pending) if line.text.strip()), "")
        return bool(_KEY_VALUE.match(before)) or before.rstrip().endswith(":")

    def _heading(self, line: Line, level: int, title: str) -> None:
        self._flush()
        self.path = [entry for entry in self.path if entry[0] < level]
        path = tuple(name for _, name in self.path)
        self.blocks.append(Block(Kind.HEADING, (line,), path))
        self.path.append((level, title))

    def _add(self, kind: Kind, line: Line) -> None:
        if self.kind is not kind:
            self._flush()
            self.kind = kind
        self.pending.append(line)


_SEPARATOR = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_HEAD = re.compile(r"^[A-Z][\w %°()/.,&-]{0,50}$")


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
    """A table with a header row. `label` is set in visual mode if the table has a number."""

    header: Row
    rows: tuple[Row, ...]
    section: tuple[str, ...]
    label: str = ""

    def column(self, index: int) -> list[str]:
        return [row.cells[index] for row in self.rows]


def _cells(text: str) -> tuple[str, ...]:
    body = text.strip().removeprefix("|")
    body = body[:-1] if body.endswith("|") and not body.endswith("\\|") else body
    parts = re.split(r"(?<!\\)\|", body)
    return tuple(plain(part)[0].strip() for part in parts)


def read_table(block: Block) -> Table | None:
    """The table of a block; None if it has no header, or rows of different lengths."""
    lines = [line for line in block.lines if line.text.strip()]
    marks = [index for index, line in enumerate(lines) if _SEPARATOR.match(line.text)]
    if len(marks) > 1 or (marks and marks[0] != 1):
        return None
    parsed = [Row(line, _cells(line.text)) for index, line in enumerate(lines) if index not in marks]
    if len(parsed) < 2 or len({len(row.cells) for row in parsed}) != 1:
        return None
    header, *rows = parsed
    heads = header.cells
    # Without a separator, the first of at least three rows is a header if all its cells look like titles.
    headed = bool(marks) or (len(parsed) >= 3 and all(map(_HEAD.match, heads)))
    if len(heads) < 2 or len(set(heads)) < len(heads) or not all(heads[1:]) or not headed:
        return None
    return Table(header, tuple(rows), block.section)


def tables(blocks: Sequence[Block]) -> list[Table]:
    """All tables, without their captions."""
    found = (read_table(block) for block in blocks if block.kind is Kind.TABLE)
    return [table for table in found if table is not None]
