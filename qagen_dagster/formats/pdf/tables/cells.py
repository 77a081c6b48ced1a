"""The cells of lines of text without ruling lines, and lines that go on with the cells of the row above them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

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
_NEAR = 7  # tenths of the height of a line that the next line of a cell is below it at most
_CELLS = 12  # above a single cell, of which one shows its column


def cells_of(f: Fragments, rows: Sequence[Row], number: int) -> Cells:
    """The fragments of a row, parted where they stand clearly apart, or where a cell begins above or below."""
    row = rows[number]
    wide = _CLOSE if len(row) > 2 else _WIDE
    cells = [[row[0]]]
    for last, n in pairwise(row):
        gap = 10 * max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n])
        if gap < _CLOSE * f.size[last] or f.text[last] in SIGNS or is_dotted(f, last, n):
            cells[-1].append(n)
        elif gap >= wide * f.size[last] or _is_below(f, rows, number, last, n):
            cells.append([n])
        else:
            cells[-1].append(n)
    return cells


def _is_below(f: Fragments, rows: Sequence[Row], number: int, last: int, n: int) -> bool:
    """Whether a cell above or below a row begins at the left edge of a fragment, which follows a name or a value."""
    beside = [*rows[max(number - 1, 0) : number], *rows[number + 1 : number + 2]]
    return sum(_begins_cell(f, other, n) for other in beside) > _is_label(f.text[last], f.text[n])


def _is_label(text: str, after: str) -> int:
    """2 for the number of a heading, a bullet or a prompt, 1 for another number before words, else 0."""
    if not any(map(str.isalnum, text)):
        return 2
    if not _NUMBER.fullmatch(text) or after[:1].isdigit():
        return 0
    return 1 if text.isdecimal() and after[:1].isalpha() else 2


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
    return BAR.join([f.text[cell[0]] if len(cell) == 1 else _text(f, cell) for cell in cells])


def _text(f: Fragments, cell: Sequence[int]) -> str:
    parts = [f.text[cell[0]]]
    for last, n in pairwise(cell):
        gap = max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n])
        if gap * 8 > f.size[last] or is_dotted(f, last, n):
            parts.append(" ")
        parts.append(f.text[n])
    return "".join(parts)


class _Part(NamedTuple):
    """A line of a run of lines with cells."""

    number: int
    cells: Cells
    top: int
    bottom: int


def join_wrapped(f: Fragments, lines: list[_Line], cells: Mapping[int, Cells]) -> dict[int, int]:
    """Join lines with the cells above that they go on with: the row gets their text.

    Returns for the number of each line that is joined that of its row.
    """
    joins: dict[int, int] = {}
    number = 0
    for start in cells:
        if start < number:
            continue
        run: list[_Part] = []
        lefts: list[int] = []  # of the cells in the run that are no first cells
        for number in range(start, len(lines)):
            row = lines[number][1]
            if not row:
                continue
            first = row[0]
            parted = cells.get(number)
            if parted:
                lefts += [f.x0[cell[0]] for cell in parted[1:]]
            elif not any(abs(left - f.x0[first]) < SAME for left in reversed(lefts[-_CELLS:])):
                break
            run.append(_Part(number, parted or [row], f.y0[first], f.y1[first]))
        if len(run) > 1:
            _join(f, run, lines, joins)
    return joins


def _join(f: Fragments, run: Sequence[_Part], lines: list[_Line], joins: dict[int, int]) -> None:
    widths: defaultdict[int, int] = defaultdict(int)  # of the widest cells, by their left edges
    for part in run:
        for cell in part.cells:
            place = f.x0[cell[0]] // SAME
            widths[place] = max(widths[place], breadth(f, cell))
    base = run[0].number
    rows: dict[int, list[Cells]] = {}  # by the number of their first line: the lines of each cell
    columns: list[Cells] = []
    for last, part in pairwise([run[0], *run]):
        is_near = 10 * (part.top - last.bottom) < _NEAR * (part.bottom - part.top)
        places = _places(f, columns, part.cells, widths) if is_near else []
        if places:
            for place, cell in zip(places, part.cells, strict=True):
                columns[place].append(cell)
            joins[part.number] = base
            rows[base] = columns
        else:
            base, columns = part.number, [[cell] for cell in part.cells] if len(part.cells) > 1 else []
    for base, columns in rows.items():
        text = BAR.join(unbroken(_text(f, cell) for cell in column) for column in columns)
        lines[base] = (text, lines[base][1])


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
