"""Tables between ruling lines: which lines of a page bound one, and which fragments form its rows and cells."""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from qagen_dagster.formats.pdf.fragments import Fragments

Box = tuple[int, int, int, int]  # tenths of a point
TableRow = list[list[int]]  # the fragments of each cell

_SAME = 25  # tenths of a point between lines that count as one
_JOINT = 40  # between the pieces of one line
_ENDS = 60  # between the ends of lines of one table
_SHORTEST = 400  # of a line that bounds a table
_DOUBLE = 80  # height of the space between two lines without room for text
_WORD = 3  # characters that a cell of every other row has at least; the grid of a chart has fewer
_GUTTER = 30  # least width of the space between two columns
_CROSSING = 5  # of this many rows, one may cross the space between two columns
_PARAGRAPH = 30  # average characters of a cell from which a part of many lines is prose
_FAR = 1 << 30
_VALUE = 6  # average width of cells that are values, in letter sizes
_LINES_OF_A_HEAD = 4  # between lines above and below; a listing in a frame has more
_LINES_OF_A_CELL = 6
_FEW_LINES = 3  # of a part; of more lines one may be that of a raised or lowered letter
_EACH = 4  # parts between lines from which each is probably one row; one fewer if columns are ruled
_HEADING = 4  # most height of a heading of rows, in letter sizes
_CAPTION = 60  # characters of a line across the table that is more than a heading of rows
_NUMBER = re.compile(r"[-+\u2212]?\d[\d.,]*%?")
_NUMBERS = re.compile(r"[-+\u2212]?\d[\d.,]*%?(?: [-+\u2212]?\d[\d.,]*%?)+")


@dataclass
class Ruled:
    """A table between ruling lines, and its rows from the top down."""

    box: Box
    rows: list[TableRow]  # cells in reading direction
    cuts: dict[int, list[int]]  # where in the text of a fragment another cell begins


@dataclass(frozen=True)
class _Line:
    at: int
    start: int
    end: int


def ruled_tables(f: Fragments, rules: Sequence[Box]) -> list[Ruled]:
    """The tables of a page whose boxes of fragments are those of the page as displayed."""
    level = _lines([(y0, x0, x1) for x0, y0, x1, y1 in rules if x1 - x0 > y1 - y0])
    groups = _groups(level)
    if not groups:
        return []
    upright = _lines([(x0, y0, y1) for x0, y0, x1, y1 in rules if y1 - y0 > x1 - x0])
    tables: list[Ruled] = []
    for group in groups:
        tables += _Finder(f, group, upright).tables()
    return [
        one for one in tables if not any(_holds(other.box, one.box) for other in tables if other is not one)
    ]


def _holds(outer: Box, inner: Box) -> bool:
    return (
        outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]
    ) and outer != inner


def _lines(edges: list[tuple[int, int, int]]) -> list[_Line]:
    """Lines from their pieces: position, start and end."""
    found: list[_Line] = []
    edges.sort()
    following = 0
    while following < len(edges):
        first, following = following, bisect(edges, (edges[following][0] + _SAME, _FAR, _FAR))
        level = edges[first:following]
        at, pieces = level[0][0], sorted((start, end) for _, start, end in level)
        start, end = pieces[0]
        for low, high in pieces[1:]:
            if low > end + _JOINT:
                found.append(_Line(at, start, end))
                start, end = low, high
            end = max(end, high)
        found.append(_Line(at, start, end))
    return found


def _groups(level: Sequence[_Line]) -> list[list[_Line]]:
    """Lines with the same ends, at least three of them."""
    groups: list[list[_Line]] = []
    for line in level:
        if line.end - line.start < _SHORTEST:
            continue
        for group in groups:
            if abs(group[0].start - line.start) < _ENDS and abs(group[0].end - line.end) < _ENDS:
                group.append(line)
                break
        else:
            groups.append([line])
    return [group for group in groups if len(group) > 2]


class _Finder:
    """Tables between lines with the same ends."""

    def __init__(self, f: Fragments, group: Sequence[_Line], upright: Sequence[_Line]) -> None:
        self._f = f
        self._left, self._right = group[0].start, group[0].end
        self._upright = [line for line in upright if self._left + 80 < line.at < self._right - 80]
        self._at = [line.at for line in self._upright]  # ascending
        self._ruled = {line.at for line in group}
        self._level = self._with_open_ends()
        self._inside = [
            n
            for n in range(len(f.text))
            if self._left - _ENDS <= f.x0[n] + f.x1[n] >> 1 <= self._right + _ENDS
        ]

    def _with_open_ends(self) -> list[int]:
        """The positions of the lines, and where upright lines end between or beyond them, as in an open last row."""
        found = set(self._ruled)
        for above, below in pairwise(sorted({-_FAR, *self._ruled, _FAR})):
            down = [line.end for line in self._upright if line.start <= above + _DOUBLE < line.end]
            up = [line.start for line in self._upright if line.start < below - _DOUBLE <= line.end]
            found |= {at for at in (max(down, default=below), min(up, default=above)) if above < at < below}
        return sorted(found)

    def tables(self) -> list[Ruled]:
        """Runs of parts of rows and columns."""
        found: list[Ruled] = []
        run: list[list[list[int]]] = []  # by part: its lines of fragments
        start = end = 0
        for above, below in pairwise(self._level):
            part = self._part(above, below)
            if not part and below - above <= _DOUBLE:
                continue
            if self._is_part(part, above, below):
                start = start if run else above
                end = below
                run.append(part)
            else:
                found += self._table(run, start, end)
                run = []
        return found + self._table(run, start, end)

    def _part(self, top: int, bottom: int) -> list[list[int]]:
        """The lines of fragments between two ruling lines."""
        f = self._f
        inside = [n for n in self._inside if top < f.y0[n] + f.y1[n] >> 1 < bottom]
        lines: list[list[int]] = []
        middle = high = 0
        for n in sorted(inside, key=lambda n: f.y0[n] + f.y1[n]):
            centre, tall = f.y0[n] + f.y1[n] >> 1, f.y1[n] - f.y0[n]
            if lines and 10 * (centre - middle) <= 4 * min(tall, high):
                lines[-1].append(n)
            else:
                lines.append([n])
                middle, high = centre, tall
        for line in lines:
            line.sort(key=f.x0.__getitem__, reverse=f.rtl)
        return lines

    def _is_part(self, part: list[list[int]], top: int, bottom: int) -> bool:
        """Whether it holds cells, or one heading of rows, and no prose."""
        if self._columns_between(top, bottom):
            return True
        several = [line for line in part if len(line) > 1]
        if not several:
            near = bool(part) and bottom - top < _HEADING * self._f.size[part[0][0]]
            ruled = near and top in self._ruled and bottom in self._ruled
            return ruled and len(part) == 1 and sum(len(self._f.text[n]) for n in part[0]) < _CAPTION
        chars = fmean(len(self._f.text[n]) for line in several for n in line)
        return len(part) < 4 or (chars < _PARAGRAPH and len(several) * 3 >= len(part))

    def _columns_between(self, top: int, bottom: int) -> list[int]:
        """Positions of upright lines of which most of this height is covered."""
        positions: list[int] = []
        for at in dict.fromkeys(self._at):
            near = self._upright[bisect_left(self._at, at - _SAME) : bisect(self._at, at + _SAME)]
            covered = sum(max(0, min(one.end, bottom) - max(one.start, top)) for one in near)
            if 10 * covered >= 6 * (bottom - top) and not any(
                abs(other - at) <= _SAME for other in positions
            ):
                positions.append(at)
        return positions

    def _table(self, run: list[list[list[int]]], top: int, bottom: int) -> list[Ruled]:
        if len(run) < 2:
            return []
        ruled = self._columns_between(top, bottom)
        if not ruled and len(run[0]) > _LINES_OF_A_HEAD:
            return []
        free = self._gutters([line for part in run for line in part])
        shown = [(a + b) // 2 for a, b in free if not any(a - _SAME < at < b + _SAME for at in ruled)]
        edges = sorted([*ruled, *self._parting(shown, [line for part in run for line in part])])
        if not edges:
            return []
        rows = [
            row for part in _Rows(self._f, edges, self._right, run, _EACH - bool(ruled)).all() for row in part
        ]
        filled = sum(bool(cell) for row in rows for cell in row)
        worded = sum(any(len(self._f.text[n]) >= _WORD for cell in row for n in cell) for row in rows)
        if 2 * worded < len(rows) or len(rows) < 2 or 10 * filled < 4 * len(rows) * (len(edges) + 1):
            return []
        cuts = _cuts(self._f, edges, [line for part in run for line in part])
        rows = [row[::-1] for row in rows] if self._f.rtl else rows
        return [Ruled((self._left, top, self._right, bottom), rows, cuts)]

    def _parting(self, edges: Sequence[int], lines: Sequence[Sequence[int]]) -> list[int]:
        """The edges with fragments on both sides in one line; others are only the gap beside a wide head."""
        middles = [[self._f.x0[n] + self._f.x1[n] >> 1 for n in line] for line in lines]
        kept: list[int] = []
        for edge, right in pairwise([*edges, self._right]):
            left = kept[-1] if kept else self._left
            if any(
                any(left < at < edge for at in line) and any(edge < at < right for at in line)
                for line in middles
            ):
                kept.append(edge)
        return kept

    def _gutters(self, lines: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """The spaces between columns that almost no line crosses."""
        f = self._f
        several = [line for line in lines if len(line) > 1]
        if len(several) < 2:
            return []
        changes: Counter[int] = Counter()  # of the number of lines that cover a position
        for line in several:
            for n in line:
                changes[f.x0[n]] += 1
                changes[f.x1[n]] -= 1
        used: list[tuple[int, int]] = []
        allowed = len(several) // _CROSSING
        start, covering = 0, 0
        for x in sorted(changes):
            before, covering = covering, covering + changes[x]
            if covering > allowed >= before:
                start = x
            elif before > allowed >= covering:
                used.append((start, x))
        alone = [(f.x0[n], f.x1[n]) for line in several for n in line]  # in a column with few cells
        used += [(a, b) for a, b in alone if not any(a < right and left < b for left, right in used)]
        return [(a[1], b[0]) for a, b in pairwise(sorted(used)) if b[0] - a[1] > _GUTTER]


def _cuts(f: Fragments, edges: Sequence[int], lines: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """The spaces at which fragments that hold several cells are to be cut: between numbers, and at columns."""
    cuts: dict[int, list[int]] = {}
    for line in lines:
        spans = {n: _span(f, edges, n) for n in line}
        full = sorted(column for a, b in spans.values() for column in range(a, b + 1)) == list(
            range(len(edges) + 1)
        )
        for n, (first, last) in spans.items():
            text = f.text[n]
            spaces = [place for place, char in enumerate(text) if char == " "]
            if _NUMBERS.fullmatch(text):
                cuts[n] = spaces
            elif full and spaces and not f.rtl:
                step = (f.x1[n] - f.x0[n]) / len(text)
                places = ((edge - f.x0[n]) / step for edge in edges[first:last])
                cuts[n] = sorted({min(spaces, key=lambda space: abs(space - place)) for place in places})
    return {n: places for n, places in cuts.items() if places}


def _span(f: Fragments, edges: Sequence[int], n: int) -> tuple[int, int]:
    """The first and the last column that a fragment reaches into."""
    slack = f.size[n] // 2
    first = bisect(edges, f.x0[n] + slack)
    return first, max(first, bisect(edges, f.x1[n] - slack))


class _Rows:
    """The rows of each part of a table."""

    def __init__(
        self, f: Fragments, edges: list[int], right: int, parts: list[list[list[int]]], each: int
    ) -> None:
        self._f = f
        self._right = right
        self._edges = edges
        self._parts = parts
        self._each = len(parts) >= each

    def all(self) -> list[list[TableRow]]:
        """By part, its rows."""
        return [
            self._spread(part) if self._is_many(part) else [self._row([n for line in part for n in line])]
            for part in self._parts
        ]

    def _is_many(self, part: list[list[int]]) -> bool:
        """Whether the lines of a part are rows, and not the lines of one row's cells."""
        counts = self._counts(part)
        most = max(counts)
        if most < 2 or most > _LINES_OF_A_CELL:
            return most > 1
        if any(self._is_wide(n) for line in part if len(line) > 1 for n in line):
            return True
        if sum(self._numbers(part, column) > 1 for column in range(len(counts))) > 1:
            return True
        least = most - (most > _FEW_LINES and part is not self._parts[0])  # lines of a head are one row
        full = [column for column, count in enumerate(counts) if count >= least]
        values = sum(self._width(part, column) <= _VALUE for column in full)
        return values > 1 or (len(full) > 1 and not self._each)

    def _numbers(self, part: list[list[int]], column: int) -> int:
        """How many lines have a number in a column."""
        shown = [" ".join([self._f.text[n] for n in line if self._column(n) == column]) for line in part]
        return sum(_NUMBER.fullmatch(text) is not None for text in shown)

    def _width(self, part: list[list[int]], column: int) -> float:
        """The average width of the fragments in a column, in letter sizes."""
        f = self._f
        return fmean(
            (f.x1[n] - f.x0[n]) / f.size[n] for line in part for n in line if self._column(n) == column
        )

    def _counts(self, part: list[list[int]]) -> list[int]:
        counts = [0] * (len(self._edges) + 1)
        for line in part:
            for column in {self._column(n) for n in line}:
                counts[column] += 1
        return counts

    def _column(self, n: int) -> int:
        first, last = _span(self._f, self._edges, n)
        return first if last > first else bisect(self._edges, self._f.x0[n] + self._f.x1[n] >> 1)

    def _is_wide(self, n: int) -> bool:
        """Whether the fragment reaches over several columns."""
        first, last = _span(self._f, self._edges, n)
        return first < last

    def _row(self, inside: list[int]) -> TableRow:
        row: TableRow = [[] for _ in range(len(self._edges) + 1)]
        for n in inside:
            column, last = self._column(n), _span(self._f, self._edges, n)[1]
            beside = row[column] and self._f.x1[row[column][-1]] <= self._f.x0[n]
            row[column + 1 if beside and column < last else column].append(n)
        return row

    def _spread(self, part: list[list[int]]) -> list[TableRow]:
        """One row for each line, but a cell half-way between two rows and a wrapped line belong to the row above."""
        rows: list[TableRow] = []
        for before, line, after in zip([[], *part], part, [*part[1:], []], strict=False):
            row = self._row(line)
            if rows and (self._is_between(before, row, after) or self._is_wrapped(rows[-1], row)):
                rows[-1] = [a + b for a, b in zip(rows[-1], row, strict=True)]
            else:
                rows.append(row)
        return rows

    def _is_between(self, above: list[int], row: TableRow, below: list[int]) -> bool:
        f = self._f
        if not below or any(cell and up for cell, up in zip(row, self._row(above), strict=True)):
            return False
        step = min(f.y0[n] + f.y1[n] for n in below) - max(f.y0[n] + f.y1[n] for n in above)
        return step < 4 * min(f.size[n] for n in (*above, *below))

    def _is_wrapped(self, above: TableRow, row: TableRow) -> bool:
        """Whether the row is only the next line of a cell that reaches the right edge of its column."""
        f = self._f
        filled = [column for column, cell in enumerate(row) if cell]
        column = filled[0]
        if len(filled) > 1 or column == 0 or not above[0] or not above[column]:
            return False
        last, first = above[column][-1], row[column][0]
        left, right = ([*self._edges, self._right])[column - 1 : column + 1]
        return abs(f.x0[first] - f.x0[above[column][0]]) < _SAME and f.x1[last] > right - (right - left) // 4
