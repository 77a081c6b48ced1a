"""Tables that a program printed in letters of one width: a column of blanks parts the cells of all their rows."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Row
from qagen_dagster.formats.pdf.tables.empty_cells import BAR

_Line = tuple[str, Row]

_VALUE = re.compile(r"[-+<]?\d(?:[\d.,:]*[\d.])?(?:e[-+]?\d+)?%?|<?NA>?|NaN|-?Inf")
_FONT = re.compile(r"mono|cour|tt\d|typewr|consol|menlo", re.IGNORECASE)
_SAME = 0.02  # of the width of letters


class _Word(NamedTuple):
    """A word and where it begins and ends, in letters from the left; `apart`: more than one blank is before it."""

    start: int
    end: int
    text: str
    apart: bool


def part_printed(f: Fragments, lines: list[_Line], joined: set[int]) -> None:
    """Part the cells of rows of numbers among the lines, and those of the row above them, but not those `joined`."""
    block: list[Row] = []
    for number in range(len(lines) + 1):
        text, row = lines[number] if number < len(lines) and number not in joined else ("", [])
        values = sum(_VALUE.fullmatch(word) is not None for word in text.split())
        width = _width(f, row) if values > 1 else 0.0
        if block and (not width or not _is_like(width, _width(f, block[0]))):
            _part(f, lines, number - len(block), block, joined)
            block = []
        if width:
            block.append(row)


def _width(f: Fragments, row: Row) -> float:
    """The width of a line's letters if it is the same for all, else 0."""
    if not row or not all(_FONT.search(f.font[n].name) for n in row):
        return 0.0
    average = sum(f.x1[n] - f.x0[n] for n in row) / sum(len(f.text[n]) for n in row)
    return average if all(_is_like((f.x1[n] - f.x0[n]) / len(f.text[n]), average) for n in row) else 0.0


def _is_like(width: float, other: float) -> bool:
    return abs(width - other) <= _SAME * other


def _part(f: Fragments, lines: list[_Line], first: int, block: Sequence[Row], joined: set[int]) -> None:
    """Part rows if they have several columns, and their head."""
    width = _width(f, [n for row in block for n in row]) if len(block) > 1 else 0.0
    if not width:
        return
    left = min(f.x0[n] for row in block for n in row)
    rows = [_words(f, row, left, width) for row in block]
    ends = _ends(rows)
    if len(ends) < 2:
        return
    above = lines[first - 1][1] if first and first - 1 not in joined else []
    if above and _is_like(_width(f, above), width):
        head = _words(f, above, left, width)
        if 2 * len({word.end for word in head}.intersection(ends[1:])) >= len(ends) - 1:
            lines[first - 1] = (_shown(_by_column(head, ends)), above)
    for number, words in enumerate(rows, first):
        lines[number] = (_shown(_by_column(words, ends)), lines[number][1])


def _words(f: Fragments, row: Row, left: int, width: float) -> list[_Word]:
    return [
        _Word(start + one.start(), start + one.end(), one[0], n != row[0] and not one.start())
        for n in row
        for start in [round((f.x0[n] - left) / width)]
        for one in re.finditer(r"\S+", f.text[n])
        if one[0] != "|"
    ]


def _ends(rows: Sequence[Sequence[_Word]]) -> list[int]:
    """Where columns end, of which half have only values. Words before the first of these are one column."""
    columns: list[list[_Word]] = []
    end = -1
    for word in sorted(word for words in rows for word in words):
        if word.start > end:
            columns.append([])
        columns[-1].append(word)
        end = max(end, word.end)
    values = [all(_VALUE.fullmatch(word.text) for word in column) for column in columns]
    names = values.index(True) if True in values else len(columns)
    if 2 * sum(values) < len(columns) - names:
        return []
    inner = [n for n in range(1, names) if not any(word.apart for word in columns[n])]
    return [max(word.end for word in column) for n, column in enumerate(columns, 1) if n not in inner]


def _by_column(words: Sequence[_Word], ends: Sequence[int]) -> list[list[str]]:
    """The words of a line by the column in which they end: values and their heads stand at its right."""
    cells: list[list[str]] = [[] for _ in ends]
    for word in words:
        cells[min(bisect_left(ends, word.end), len(ends) - 1)].append(word.text)
    return cells


def _shown(cells: Sequence[Sequence[str]]) -> str:
    last = max((n for n, cell in enumerate(cells) if cell), default=0)
    return BAR.join(map(" ".join, cells[: last + 1])).replace("  ", " ").strip()
