"""Groups the lines of a text into blocks: wrapped prose is one block; each list item and each heading is a block of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.index.abbreviations import CONNECTIVES

_NARROW = 45  # columns: line breaks of a narrower paragraph do not show its width
_FILLED = 0.8  # of the width: a line that ends earlier, with room for the next word, was ended on purpose
_WIDE = "\u2e80"  # from here on, characters are about two columns wide
LIST_MARKER = re.compile(
    r"(?:[-*+•‣▪●◦\u2043\u2013—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})\)|(?:\d{1,3}(?:\.\d{1,2}){0,3}|[a-z]|[ivxIVX]{2,5})\.)\s+(?=\S)"
)
_OWN_LINE = re.compile(r"\||#{1,6}\s|```|[-=_*~]{3,}\s*$")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_FIRST_WORD = re.compile(r"\S{1,24}")
_QUOTES = "\"'“\u2018«([*_"


@dataclass(frozen=True)
class _Line:
    text: str  # stripped
    start: int
    end: int

    @property
    def columns(self) -> int:
        return _columns(self.text)


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every block. Between blocks there is only white space."""
    for paragraph in _paragraphs(text):
        width = max(_NARROW, *(line.columns for line in paragraph), 0)
        begin, previous = paragraph[0].start, paragraph[0]
        for line in paragraph[1:]:
            if not _goes_on(previous, line, width):
                yield begin, previous.end
                begin = line.start
            previous = line
        yield begin, previous.end


def _paragraphs(text: str) -> Iterator[list[_Line]]:
    lines, position = list[_Line](), 0
    for raw in text.splitlines(keepends=True):
        stripped = raw.strip()
        if stripped:
            begin = position + len(raw) - len(raw.lstrip())
            lines.append(_Line(stripped, begin, begin + len(stripped)))
        elif lines:
            yield lines
            lines = []
        position += len(raw)
    if lines:
        yield lines


def _goes_on(line: _Line, following: _Line, width: int) -> bool:
    """Whether `following` continues `line`."""
    if _OWN_LINE.match(line.text) or _OWN_LINE.match(following.text) or LIST_MARKER.match(following.text):
        return False
    first = following.text.lstrip(_QUOTES)[:1]
    if first.islower() or line.text[-1] in ",-\u2010":
        return True
    last = _LAST_WORD.search(line.text, max(0, len(line.text) - 24))
    if last and last.group() in CONNECTIVES:
        return True
    if line.text[-1] == ":":
        return False
    word = _FIRST_WORD.match(following.text)
    room = width * _FILLED - line.columns - 1
    wide = following.text[0] >= _WIDE
    return room < (2 if wide else len(word.group()) if word else 0)


def _columns(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char >= _WIDE for char in text)
