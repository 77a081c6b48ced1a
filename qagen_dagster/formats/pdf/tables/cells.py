"""The cells of lines of text without ruling lines, and lines that go on with the cells of the row above them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Row
from qagen_dagster.formats.pdf.tables.empty_cells import BAR, SIGNS

Cells = list[list[int]]  # the fragments of each cell
_Line = tuple[str, Row]

_DOTS = re.compile(r"[. …·]+")
_WIDE = 18  # tenths of the letter size between two cells
_CLOSE = 10  # the same if a line has several cells
_SAME = 25  # tenths of a point between left edges that count as one
_NEAR = 4  # tenths of the height of a line that the next line of a cell is below it at most


def cells_of(f: Fragments, row: Row) -> Cells:
    """The fragments of a line, parted where they stand clearly apart."""
    wide = _CLOSE if len(row) > 2 else _WIDE
    cells = [[row[0]]]
    for last, n in pairwise(row):
        gap = max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n])
        if gap * 10 < wide * f.size[last] or f.text[last] in SIGNS or is_dotted(f, last, n):
            cells[-1].append(n)
        else:
            cells.append([n])
    return cells


def is_dotted(f: Fragments, last: int, n: int) -> bool:
    """Whether one of two fragments is a row of dots."""
    return bool(_DOTS.fullmatch(f.text[n]) or _DOTS.fullmatch(f.text[last]))


def joined(f: Fragments, cells: Cells) -> str:
    """The text of a line with bars between its cells."""
    return BAR.join([_text(f, cell) for cell in cells])


def _text(f: Fragments, cell: Sequence[int]) -> str:
    parts = [f.text[cell[0]]]
    for last, n in pairwise(cell):
        gap = max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n])
        if gap * 8 > f.size[last] or is_dotted(f, last, n):
            parts.append(" ")
        parts.append(f.text[n])
    return "".join(parts)


@dataclass
class _Part:
    """A line of a run of lines with cells."""

    number: int
    cells: Cells
    top: int
    bottom: int


def join_wrapped(f: Fragments, lines: list[_Line], cells: Mapping[int, Cells]) -> dict[int, int]:
    """Add lines to the cells above that they go on with. Returns for the number of each such line that of its row."""
    joins: dict[int, int] = {}
    run: list[_Part] = []
    for number, (_, row) in enumerate([*lines, ("", [])]):
        if not row and number < len(lines):
            continue
        part = _Part(number, cells.get(number, [row]), 0, 0)
        if row:
            part.top, part.bottom = min(f.y0[n] for n in row), max(f.y1[n] for n in row)
        if row and (len(part.cells) > 1 or (run and _is_within(f, run, part))):
            run.append(part)
        else:
            _join(f, run, lines, joins)
            run = []
    return joins


def _is_within(f: Fragments, run: Sequence[_Part], part: _Part) -> bool:
    left = f.x0[part.cells[0][0]]
    return any(abs(f.x0[cell[0]] - left) < _SAME for other in run[-6:] for cell in other.cells[1:])


def _join(f: Fragments, run: Sequence[_Part], lines: list[_Line], joins: dict[int, int]) -> None:
    if sum(len(part.cells) > 1 for part in run) < 2:
        return
    every = [cell for part in run for cell in part.cells]
    base: _Part | None = None
    columns: list[Cells] = []
    for last, part in pairwise([run[0], *run]):
        height = part.bottom - part.top
        near = base and 10 * (part.top - last.bottom) < _NEAR * height
        places = _places(f, columns, part, every) if near else None
        if base and places:
            for place, cell in zip(places, part.cells, strict=True):
                columns[place].append(cell)
            joins[part.number] = base.number
            lines[base.number] = (
                BAR.join(" ".join(_text(f, cell) for cell in column) for column in columns),
                lines[base.number][1],
            )
        elif len(part.cells) > 1:
            base, columns = part, [[cell] for cell in part.cells]
        else:
            base = None


def _places(f: Fragments, columns: Sequence[Cells], part: _Part, every: Sequence[list[int]]) -> list[int]:
    """The columns of a row that all cells of the line go on with, if so: none is the first."""
    places: list[int] = []
    for cell in part.cells:
        left = f.x0[cell[0]]
        place = next(
            (n for n, column in enumerate(columns) if n and abs(f.x0[column[0][0]] - left) < _SAME), 0
        )
        if not place:
            return []
        right = max(f.x1[one[-1]] for one in every if abs(f.x0[one[0]] - left) < _SAME)
        above = columns[place][-1]
        text = f.text[cell[0]]
        first = (f.x1[cell[0]] - left) * len(text.partition(" ")[0]) // len(text)
        if f.x1[above[-1]] + first + f.size[cell[0]] // 4 < right - f.size[cell[0]] // 4:
            return []  # the first word has room in the line above
        if not _has_words(" ".join(f.text[n] for n in above)):
            return []
        places.append(place)
    return places


def _has_words(text: str) -> bool:
    """Whether a line of a cell has several words."""
    return sum(sum(map(str.isalpha, word)) > 1 for word in text.split()) > 1
