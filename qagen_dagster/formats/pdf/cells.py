"""Cells of tables without ruling lines, found by the positions of fragments alone.

These steps are applied to the lines of a page in this order: fragments that stand apart become cells; lines that continue the cells
above them are joined to the row of these cells; and rows that lack cells get empty cells.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Line, Row

SAME = 25  # tenths of a point; edges or lines that are closer count as one
BAR = " | "
SIGNS = frozenset("$\u20ac\u00a3\u00a5")  # such a sign belongs to the next number, at any distance
_MIN_CELLS = 3  # minimum cells of a row that shows the columns
_MIN_BETWEEN = 4  # minimum cells of a row that shows where a cell between others is empty
_PROSE = 40  # maximum characters of a line of one piece that does not end a table
_Span = tuple[int, int]  # left and right edge of a cell
Cells = list[list[int]]  # the fragments of each cell
_STRETCHED = 4  # minimum cells of a line that may be prose with wide spaces
_WORD = re.compile(r"[a-z][^\W\d_]*[,;:.]?")
_NUMERATOR = re.compile(r"(?:^|[\s(])\d{1,2}$")
_DENOMINATOR = re.compile(r"\^\d{1,2} ")
_HEADING_NUMBER = re.compile(r"[\d.]+")
_DOTS = re.compile(r"[. …·]+")
_WIDE = 18  # minimum distance between two cells, in tenths of the letter size
_CLOSE = 10  # the same if a line has several cells
_EXACT = 5  # tenths of a point between left edges of close cells
_NEAR = 7  # maximum gap between two lines of a cell, in tenths of a line's height
_CELLS = 12  # how many of the last cells are searched for the column of a line without cells


def breadth(f: Fragments, line: Sequence[int]) -> int:
    """The width of fragments that stand side by side, in tenths of a point."""
    if len(line) == 1:
        return f.x1[line[0]] - f.x0[line[0]]
    return max([f.x1[n] for n in line]) - min([f.x0[n] for n in line])


def goes_on(f: Fragments, above: Sequence[int], below: Sequence[int], width: int) -> bool:
    """Whether a line continues the cell above it. If so, its first word had no room in the line above.

    `width` is that of the widest line of the column.
    """
    return (
        abs(f.x0[below[0]] - f.x0[above[0]]) < SAME
        and not has_room(f, above, below, width)
        and has_words(f, above)
    )


def has_room(f: Fragments, above: Sequence[int], below: Sequence[int], width: int) -> bool:
    """Whether the first word of a line had room in the line above it."""
    first = min(below, key=f.x0.__getitem__)
    text = f.text[first]
    word = (f.x1[first] - f.x0[first]) * len(text.partition(" ")[0]) // len(text)
    return breadth(f, above) + word + f.size[first] // 2 < width


def has_words(f: Fragments, line: Sequence[int]) -> bool:
    """Whether a line of a cell has several words."""
    words = " ".join(f.text[n] for n in line).split()
    return sum(sum(map(str.isalpha, word)) > 1 for word in words) > 1


def begins_within(f: Fragments, line: Sequence[int]) -> bool:
    """Whether a line begins within a sentence: in lower case or with a bracket. Names of rows seldom do."""
    first = f.text[line[0]][:1]
    return first.islower() or first == "("


def unbroken(lines: Iterable[str]) -> str:
    """The lines of a cell joined to one line, with hyphenated words rejoined."""
    parts: list[str] = []
    for line in lines:
        last = parts[-1] if parts else ""
        if last.endswith("-") and last[-2:-1].isalpha() and line[:1].islower():
            parts[-1] = last[:-1]
        elif parts:
            parts.append(" ")
        parts.append(line)
    return "".join(parts)


def with_empty_cells(f: Fragments, lines: list[Line]) -> None:
    """Add empty cells before or between those of a row, according to the nearby row with the most cells."""
    wide: list[_Span] = []
    last: list[_Span] = []
    before, original = -1, ""  # number and text of the last row of cells, before cells were added
    for n, (text, row) in enumerate(lines):
        if len(row) < 2 and len(text) <= _PROSE:
            continue
        cells = _spans(f, row)
        if len(cells) < 2 or text.count(BAR) != len(cells) - 1:
            wide, before = [], -1
            continue
        if len(cells) > len(wide):
            if before >= 0 and len(cells) >= _MIN_CELLS:
                _fill(lines, before, original, last, cells, between=False)
            wide = cells
        elif len(cells) < len(wide) and len(wide) >= _MIN_CELLS:
            _fill(lines, n, text, cells, wide, between=len(wide) >= _MIN_BETWEEN)
        last, before, original = cells, n, text


def _spans(f: Fragments, row: Row) -> list[_Span]:
    """The edges of the cells of a row; a sign of a currency belongs to the number after it."""
    cells: list[_Span] = []
    start = -1
    for one in row:
        left = f.x0[one] if start < 0 else start
        if f.text[one] in SIGNS:
            start = left
        else:
            cells.append((left, f.x1[one]))
            start = -1
    return cells


def _fill(
    lines: list[Line], n: int, text: str, cells: Sequence[_Span], wide: Sequence[_Span], *, between: bool
) -> None:
    """Add the missing cells to row `n`, whose text is `text`, if each of its cells stands in one column of `wide`."""
    places: list[int] = []
    for left, right in cells:
        columns = [place for place, (x0, x1) in enumerate(wide) if x0 < right and left < x1]
        if len(columns) != 1 or (places and columns[0] <= places[-1]):
            return
        places.append(columns[0])
    if places[-1] == len(places) - 1 or (places[-1] - places[0] >= len(places) and not between):
        return
    shown = dict(zip(places, text.split(BAR), strict=True))
    filled = BAR.join(shown.get(place, "") for place in range(places[-1] + 1))
    lines[n] = (filled.replace("  ", " ").strip(), lines[n][1])


def cells_of(f: Fragments, rows: Sequence[Row], number: int) -> Cells:
    """The fragments of a row, split into cells where fragments stand clearly apart, or where a cell begins above or below."""
    row = rows[number]
    wide = _CLOSE if len(row) > 2 else _WIDE
    cells = [[row[0]]]
    for last, n in pairwise(row):
        gap = 10 * f.gap(last, n)
        if gap < _CLOSE * f.size[last] or f.text[last] in SIGNS or is_dotted(f, last, n):
            cells[-1].append(n)
        elif gap >= wide * f.size[last] or _is_below(f, rows, number, last, n):
            cells.append([n])
        else:
            cells[-1].append(n)
    return [row] if len(cells) >= _STRETCHED and _is_stretched(f, rows, number, cells) else cells


def _is_stretched(f: Fragments, rows: Sequence[Row], number: int, cells: Cells) -> bool:
    """Whether a row is a line of prose with wide spaces: most of its cells are words, and hardly any stands above or below a cell."""
    words = sum(_WORD.fullmatch(f.text[cell[0]]) is not None for cell in cells if len(cell) == 1)
    if words * 3 < len(cells) * 2:
        return False
    beside = [*rows[max(number - 1, 0) : number], *rows[number + 1 : number + 2]]
    aligned = sum(any(_begins_cell(f, other, cell[0]) for other in beside) for cell in cells[1:])
    return aligned * 3 < len(cells)


def _is_below(f: Fragments, rows: Sequence[Row], number: int, last: int, n: int) -> bool:
    """Whether the line above or below has a cell at the left edge of fragment `n`.

    After a label both lines must have one. After a sure label not even that is enough.
    """
    beside = [*rows[max(number - 1, 0) : number], *rows[number + 1 : number + 2]]
    return sum(_begins_cell(f, other, n) for other in beside) > _label_weight(f.text[last], f.text[n])


def _label_weight(text: str, after: str) -> int:
    """How certainly a text is a label: 2 for the number of a heading, a bullet or a prompt; 1 for another number before words;
    otherwise 0.
    """
    if not any(map(str.isalnum, text)):
        return 2
    if not _HEADING_NUMBER.fullmatch(text) or after[:1].isdigit():
        return 0
    return 1 if text.isdecimal() and after[:1].isalpha() else 2


def _begins_cell(f: Fragments, row: Row, n: int) -> bool:
    """Whether a cell of a line, other than its first, begins at the edge at which fragment `n` begins to be read."""
    edges = f.x1 if f.rtl else f.x0
    return any(
        abs(edges[m] - edges[n]) < _EXACT and f.gap(last, m) * 10 >= _CLOSE * f.size[last]
        for last, m in pairwise(row)
    )


def is_dotted(f: Fragments, last: int, n: int) -> bool:
    """Whether one of two fragments consists of dots, which lead to the other."""
    return bool(_DOTS.fullmatch(f.text[n]) or _DOTS.fullmatch(f.text[last]))


def joined(f: Fragments, cells: Cells) -> str:
    """The text of a line with bars between its cells."""
    return BAR.join([f.text[cell[0]] if len(cell) == 1 else _text(f, cell) for cell in cells])


def _text(f: Fragments, cell: Sequence[int]) -> str:
    parts = [f.text[cell[0]]]
    for last, n in pairwise(cell):
        if _NUMERATOR.search(parts[-1]) and _DENOMINATOR.match(f.text[n]):
            parts.append(f"/{f.text[n][1:]}")  # a small number below the small number before it
            continue
        is_number = (
            parts[-1][-1:].isdigit() and f.text[n][0].isdigit()
        )  # two numbers, or the library had joined them
        if is_number or f.gap(last, n) * 8 > f.size[last] or is_dotted(f, last, n):
            parts.append(" ")
        parts.append(f.text[n])
    return "".join(parts)


class _Part(NamedTuple):
    """A line of a run of lines with cells."""

    number: int
    cells: Cells
    top: int
    bottom: int


def join_wrapped(f: Fragments, lines: list[Line], cells: Mapping[int, Cells]) -> dict[int, int]:
    """Append lines that continue the cells above them to the row of these cells.

    Returns, for the number of each joined line, the number of its row.
    """
    joins: dict[int, int] = {}
    number = 0
    for start in cells:
        if start < number:
            continue
        run: list[_Part] = []
        lefts: list[int] = []  # left edges of the run's cells that are not the first of their lines
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


def _join(f: Fragments, run: Sequence[_Part], lines: list[Line], joins: dict[int, int]) -> None:
    widths: defaultdict[int, int] = defaultdict(int)  # width of the widest cell at each left edge
    for part in run:
        for cell in part.cells:
            place = f.x0[cell[0]] // SAME
            widths[place] = max(widths[place], breadth(f, cell))
    base = run[0].number
    rows: dict[int, list[Cells]] = {}  # for the number of a row's first line: the lines of each of its cells
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
    """The columns of a row that the cells of the next line continue; empty unless each cell continues a column."""
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
