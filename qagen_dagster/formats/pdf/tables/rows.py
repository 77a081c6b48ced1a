"""The rows and cells of a ruled table whose columns are known."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import fmean

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.tables.wrapping import (
    SAME,
    begins_within,
    breadth,
    goes_on,
    has_room,
    has_words,
)

TableRow = list[list[int]]  # the fragments of each cell

_VALUE = 6  # average width of cells that are values, in letter sizes
_LINES_OF_A_CELL = 6
_NUMBER = re.compile(r"[-+\u2212]?\d[\d.,]*%?")
_NUMBERS = re.compile(r"[-+\u2212]?\d[\d.,]*%?(?: [-+\u2212]?\d[\d.,]*%?)+")


def cuts_at(f: Fragments, edges: Sequence[int], lines: Iterable[Sequence[int]]) -> dict[int, list[int]]:
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


class Rows:
    """The rows of each part of a table."""

    def __init__(
        self, f: Fragments, edges: list[int], right: int, parts: list[list[list[int]]], each: int
    ) -> None:
        self._f = f
        self._right = right
        self._edges = edges
        self._parts = parts
        self._each = len(parts) >= each
        self._spans = {n: _span(f, edges, n) for part in parts for line in part for n in line}
        self._column = {
            n: first if last > first else bisect(edges, f.x0[n] + f.x1[n] >> 1)
            for n, (first, last) in self._spans.items()
        }

    @cached_property
    def _widths(self) -> list[int]:
        """The width of the widest line in each column."""
        widths = [0] * (len(self._edges) + 1)
        for part in self._parts:
            for line in part:
                for column, cell in enumerate(self._row(line)):
                    if cell and all(self._spans[n][0] == self._spans[n][1] for n in cell):
                        widths[column] = max(widths[column], breadth(self._f, cell))
        return widths

    def all(self) -> list[list[TableRow]]:
        """By part, its rows."""
        return [
            self._spread(part)
            if len(self._parts) == 1 or self._is_many(part)
            else [self._row([n for line in part for n in line])]
            for part in self._parts
        ]

    def _is_many(self, part: list[list[int]]) -> bool:
        """Whether the lines of a part are rows, and not the lines of one row's cells."""
        counts = self._counts(part)
        most = max(counts)
        if most < 2 or (most > _LINES_OF_A_CELL and not self._each):
            return most > 1
        if self._is_spaced(part) or any(
            self._spans[n][0] < self._spans[n][1] for line in part if len(line) > 1 for n in line
        ):
            return True
        if sum(self._numbers(part, column) > 1 for column in range(len(counts))) > 1:
            return True
        full = [column for column, count in enumerate(counts) if count == most]
        values = sum(self._width(part, column) <= _VALUE for column in full)
        return (
            values > 1
            or len(full) == len(counts) > 2
            or (self._is_listed(part) if self._each else len(full) > 1)
        )

    def _is_listed(self, part: list[list[int]]) -> bool:
        """Whether most lines have several cells, and some of these had room for the next line, but none is wrapped."""
        f = self._f
        columns = [[cell for cell in lines if cell] for lines in zip(*map(self._row, part), strict=True)]
        most = sum(4 * len(lines) >= 3 * len(part) for lines in columns)
        listed = False
        for lines, width in zip(columns, self._widths, strict=True):
            room = [has_room(f, above, below, width) for above, below in pairwise(lines)]
            if any(room):
                listed = listed or 4 * len(lines) >= 3 * len(part)
            elif any(has_words(f, above) for above in lines[:-1]):
                return False
        return listed and most > 1 and len(part) > 2

    def _is_spaced(self, part: list[list[int]]) -> bool:
        """Whether lines of the first column are too far apart for those of one cell."""
        f = self._f
        names = [n for line in part for n in line if self._column[n] == 0]
        gaps = [f.y0[below] - f.y1[above] - f.size[below] for above, below in pairwise(names)]
        return bool(gaps) and 10 * max(gaps) > -2 * f.size[names[0]]

    def _numbers(self, part: list[list[int]], column: int) -> int:
        """How many lines have a number in a column."""
        shown = [" ".join([self._f.text[n] for n in line if self._column[n] == column]) for line in part]
        return sum(_NUMBER.fullmatch(text) is not None for text in shown)

    def _width(self, part: list[list[int]], column: int) -> float:
        """The average width of the fragments in a column, in letter sizes."""
        f = self._f
        return fmean(
            (f.x1[n] - f.x0[n]) / f.size[n] for line in part for n in line if self._column[n] == column
        )

    def _counts(self, part: list[list[int]]) -> list[int]:
        counts = [0] * (len(self._edges) + 1)
        for line in part:
            for column in {self._column[n] for n in line}:
                counts[column] += 1
        return counts

    def _row(self, inside: list[int]) -> TableRow:
        row: TableRow = [[] for _ in range(len(self._edges) + 1)]
        for n in inside:
            column, last = self._column[n], self._spans[n][1]
            beside = row[column] and self._f.x1[row[column][-1]] <= self._f.x0[n]
            row[column + 1 if beside and column < last else column].append(n)
        return row

    def _spread(self, part: list[list[int]]) -> list[TableRow]:
        """One row for each line, but a cell half-way between two rows and a wrapped line belong to the row above."""
        rows: list[TableRow] = []
        for before, line, after in zip([[], *part], part, [*part[1:], []], strict=False):
            row = self._row(line)
            if rows and (self._is_between(rows[-1], before, row, after) or self._is_wrapped(rows[-1], row)):
                rows[-1] = [a + b for a, b in zip(rows[-1], row, strict=True)]
            else:
                rows.append(row)
        return rows

    def _is_between(self, last: TableRow, above: list[int], row: TableRow, below: list[int]) -> bool:
        f = self._f
        if not below or any(cell and up for cell, up in zip(row, last, strict=True)):
            return False
        step = min(f.y0[n] + f.y1[n] for n in below) - max(f.y0[n] + f.y1[n] for n in above)
        return step < 4 * min(f.size[n] for n in (*above, *below))

    def _is_wrapped(self, above: TableRow, row: TableRow) -> bool:
        """Whether the row is only the next line of cells that reach the right edges of their columns.

        If these are several, each is longer than a value. A first cell goes on in lower case with words that had no room above.
        """
        filled = [column for column, cell in enumerate(row) if cell]
        if not all(above[column] for column in (0, *filled)):
            return False
        if filled[0] == 0:
            fewer = len(filled) < sum(map(bool, above)) and begins_within(self._f, row[0])
            return fewer and all(self._goes_on(above[column], row[column], column) for column in filled)
        f = self._f
        for column in filled:
            last, first, start = above[column][-1], row[column][0], above[column][0]
            left, right = ([*self._edges, self._right])[column - 1 : column + 1]
            if (
                abs(f.x0[first] - f.x0[start]) >= SAME
                or f.x1[last] <= right - (right - left) // 4
                or (len(filled) > 1 and f.x1[last] - f.x0[start] < 2 * _VALUE * f.size[start])
            ):
                return False
        return True

    def _goes_on(self, above: list[int], below: list[int], column: int) -> bool:
        f = self._f
        low = above[-1]
        last = [n for n in above if f.y1[n] > f.y0[low] + f.size[low] // 2]
        return goes_on(f, last, below, self._widths[column])
