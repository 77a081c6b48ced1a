"""The cells of lines of text without ruling lines, and lines that go on with the cells of the row above them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Row
from qagen_dagster.formats.pdf.tables.empty_cells import BAR, SIGNS
from qagen_dagster.formats.pdf.tables.wrapping import SAME, begins_within, breadth, goes_on, unbroken

Cells = list[list[int]]  # the fragments of each cell
_Line = tuple[str, Row]

_NUMBER = re.compile(r"[\d.]+")
_DOTS = re.compile(r"[. …·]+")
_WIDE = 18  # tenths of the letter size between two cells
_CLOSE = 10  # the same if a line has several cells
_EXACT = 5  # tenths of a point between left edges of close cells
_NEAR = 4  # tenths of the height of a line that the next line of a cell is below it at most
_LINES = 6  # of a cell at most, and of rows above a single cell that show its column


def cells_of(f: Fragments, row: Row, beside: Sequence[Row]) -> Cells:
    """The fragments of a line, parted where they stand clearly apart, or where a cell begins above or below."""
    wide = _CLOSE if len(row) > 2 else _WIDE
    cells = [[row[0]]]
    for last, n in pairwise(row):
        gap = max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n])
        if f.text[last] in SIGNS or is_dotted(f, last, n):
            cells[-1].append(n)
        elif gap * 10 >= wide * f.size[last] or (
            gap * 10 >= _CLOSE * f.size[last]
            and not _NUMBER.fullmatch(f.text[last])  # of a heading
            and any(_begins_cell(f, other, n) for other in beside)
        ):
            cells.append([n])
        else:
            cells[-1].append(n)
    return cells


def _begins_cell(f: Fragments, row: Row, n: int) -> bool:
    """Whether a cell of a line begins at the left edge of a fragment."""
    return any(
        abs(f.x0[one] - f.x0[n]) < _EXACT and (f.x0[one] - f.x1[last]) * 10 >= _CLOSE * f.size[last]
        for last, one in pairwise(row)
    )


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


@dataclass(frozen=True)
class _Part:
    """A line of a run of lines with cells."""

    number: int
    cells: Cells
    top: int
    bottom: int


def join_lines(f: Fragments, lines: list[_Line], cells: dict[int, Cells], *, jump: bool) -> dict[int, int]:
    """Join the lines of cells to one line for each row: it gets their text.

    `jump`: a line begins above the one before it. Returns for the number of each line that is joined that of its row.
    """
    joins = _join_stacked(f, lines) if jump else {}
    for number in (*joins, *joins.values()):
        cells.pop(number, None)
    if cells:
        _join_wrapped(f, lines, cells, joins)
    return joins


def _join_stacked(f: Fragments, lines: list[_Line]) -> dict[int, int]:
    """Join the lines of rows whose cells follow each other with all their lines."""
    found: list[list[list[int]]] = []  # by row and cell, the numbers of its lines
    number = 0
    while number < len(lines):
        row = _stacked(f, lines, number)
        if len(row) > 1 and max(map(len, row)) > 1:
            found.append(row)
            number = row[-1][-1]
        number += 1
    joins: dict[int, int] = {}
    for row in found:
        edges = [_left(f, lines, cell) for cell in row[:2]]
        if sum(abs(_left(f, lines, other[1]) - edges[1]) < SAME for other in found) > 1:
            cells = [unbroken(_text(f, lines[n][1]) for n in cell) for cell in row]
            base = row[0][0]
            lines[base] = (BAR.join(cells), lines[base][1])
            joins.update((n, base) for cell in row for n in cell if n != base)
    return joins


def _left(f: Fragments, lines: Sequence[_Line], numbers: Sequence[int]) -> int:
    return f.x0[lines[numbers[0]][1][0]]


def _stacked(f: Fragments, lines: Sequence[_Line], first: int) -> list[list[int]]:
    """The lines of the cells of a row: each cell begins at one height, right of the lines of the one before it."""
    cells = [[first]]
    above = lines[first][1]
    top = f.y0[above[0]] if above else 0
    right = f.x1[above[-1]] if above else 0
    for number in range(first + 1, len(lines) if above else 0):
        row = lines[number][1]
        if not row:
            break
        left, high, tall = f.x0[row[0]], f.y0[row[0]], f.y1[row[0]] - f.y0[row[0]]
        if abs(high - top) * 10 < _NEAR * tall and left >= right:
            cells.append([number])
        elif (
            abs(left - _left(f, lines, cells[-1])) < SAME
            and 0 < high - f.y0[lines[number - 1][1][0]] < 2 * tall
            and len(cells[-1]) < _LINES
        ):
            cells[-1].append(number)
        else:
            break
        right = max(right, f.x1[row[-1]])
    return cells


def _join_wrapped(
    f: Fragments, lines: list[_Line], cells: Mapping[int, Cells], joins: dict[int, int]
) -> None:
    """Join lines with the cells above that they go on with."""
    run: list[_Part] = []
    for number, (_, row) in enumerate(lines):
        if not row or number in joins:
            continue
        part = _Part(number, cells.get(number, [row]), min(f.y0[n] for n in row), max(f.y1[n] for n in row))
        if len(part.cells) == 1 and not _is_within(f, run, row[0]):
            _join(f, run, lines, joins)
            run = []
        else:
            run.append(part)
    _join(f, run, lines, joins)


def _is_within(f: Fragments, run: Sequence[_Part], first: int) -> bool:
    """Whether a single cell may be part of the rows above it."""
    if run and len(run[-1].cells) > 1 and f.x1[first] < f.x0[run[-1].cells[1][0]]:
        return True
    return any(abs(f.x0[cell[0]] - f.x0[first]) < SAME for part in run[-_LINES:] for cell in part.cells[1:])


def _join(f: Fragments, run: Sequence[_Part], lines: list[_Line], joins: dict[int, int]) -> None:
    if len(run) < 2:
        return
    widths: defaultdict[int, int] = defaultdict(int)  # of the widest cells, by their left edges
    for part in run:
        for cell in part.cells:
            place = f.x0[cell[0]] // SAME
            widths[place] = max(widths[place], breadth(f, cell))
    base = run[0]
    columns: list[Cells] = []
    for last, part in pairwise([run[0], *run]):
        is_near = 10 * (part.top - last.bottom) < _NEAR * (part.bottom - part.top)
        places = _places(f, columns, part.cells, widths) if is_near else []
        if places:
            for place, cell in zip(places, part.cells, strict=True):
                columns[place].append(cell)
            joins[part.number] = base.number
            text = BAR.join(unbroken(_text(f, cell) for cell in column) for column in columns)
            lines[base.number] = (text, lines[base.number][1])
        else:
            base, columns = part, [[cell] for cell in part.cells] if len(part.cells) > 1 else []


def _places(f: Fragments, columns: Sequence[Cells], cells: Cells, widths: Mapping[int, int]) -> list[int]:
    """The columns of a row with whose cells all cells of the next line go on, if so."""
    places: list[int] = []
    for cell in cells:
        at = f.x0[cell[0]] // SAME
        width = max(widths.get(place, 0) for place in (at - 1, at, at + 1))
        for place, column in enumerate(columns):
            if goes_on(f, column[-1], cell, width) and place not in places:
                places.append(place)
                break
        else:
            return []
    if 0 in places and not (1 < len(cells) < len(columns) and begins_within(f, cells[0])):
        return []
    return places
