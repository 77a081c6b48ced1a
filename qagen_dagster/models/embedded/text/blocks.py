"""Segmentation of lines into blocks: headings, paragraphs, list items, tables, code; each with its section path.

It handles Markdown, and plain text as extracted from PDFs and court opinions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.text.passage import Passage, join_lines, plain


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
    marker: str = ""  # of a list item: "-", "1.", "Step 1."
    body_column: int = 0
    known: frozenset[str] = field(default=frozenset(), compare=False, repr=False)  # words around

    @cached_property
    def passage(self) -> Passage:
        return join_lines(self.lines, first_column=self.body_column, known=self.known)


_UNKNOWN = "\ufffd"  # stands for letters that could not be read; no fact is taken from such a block
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


def _heading_of(text: str) -> tuple[int, str] | None:
    """Level and title of a marked heading, and of the heading of references, which few parsers miss."""
    if marked := _HEADING.match(text):
        return len(marked.group(1)), plain(marked.group(2))[0].strip()
    return (2, text.strip()) if _REFERENCES.match(text.strip()) else None


def is_double_spaced(lines: Sequence[Line]) -> bool:
    """Whether every other line is blank, as in court opinions."""
    texts = [line.text.strip() for line in lines]
    pairs = sum(bool(a) and bool(b) for a, b in pairwise(texts))
    filled = sum(map(bool, texts))
    return filled >= 12 and pairs < 0.3 * filled and sum(map(len, texts)) > 40 * filled


def segment(lines: Sequence[Line], headings: Mapping[int, str] | None = None) -> list[Block]:
    """All blocks of `lines`, in order; `headings` maps lines known to be headings to their titles."""
    return _Segmenter(lines, headings or {}).run()


class _Segmenter:
    """One pass over the lines; `pending` collects the lines of the current block."""

    def __init__(self, lines: Sequence[Line], headings: Mapping[int, str]) -> None:
        self.lines = lines
        self.headings = headings
        self.loose = is_double_spaced(lines)
        self.known = frozenset(
            word.lower() for line in lines for word in re.findall(r"[A-Za-z]{3,}(?![A-Za-z-])", line.text)
        )
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
            self.blocks.append(
                Block(self.kind, tuple(self.pending), path, self.marker, self.column, self.known)
            )
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
        text = line.text
        found, title = _heading_of(text), self.headings.get(line.number)
        if found or title:
            level, marked = found or (2, "")
            self._heading(line, level, title or marked)
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
        if (
            self.kind in (Kind.TABLE, Kind.CODE)
            or (self.pending and self._at_paragraph(line))
            or (self.pending and self.pending[-1].page != line.page)
        ):
            self._flush()
        self.pending.append(line)

    def _at_break(self, line: Line) -> bool:
        """Whether a key-value line starts a block; it does not if it continues a sentence."""
        if not self.pending:
            return True
        before = self._last_filled()
        return bool(_KEY_VALUE.match(before)) or before.rstrip().endswith(":")

    def _at_paragraph(self, line: Line) -> bool:
        before = self._last_filled()
        indent = len(line.text) - len(line.text.lstrip())
        deeper = indent >= 3 + len(before) - len(before.lstrip())
        return deeper and before.rstrip()[-1:] in '.:!?"”' and (self.loose or self.kind is Kind.TEXT)

    def _last_filled(self) -> str:
        return next((line.text for line in reversed(self.pending) if line.text.strip()), "")

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
