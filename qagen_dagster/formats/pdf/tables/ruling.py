"""Tables between ruling lines: which lines of a page bound one, and which fragments form its rows and cells."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.tables.rows import Rows, TableRow, cuts_at
from qagen_dagster.formats.pdf.tables.wrapping import SAME

Box = tuple[int, int, int, int]  # tenths of a point

_JOINT = 40  # between the pieces of one line
_ENDS = 60  # between the ends of lines of one table
_NARROW = 50  # between two upright lines without a column
_SHORTEST = 400  # of a line that bounds a table
_DOUBLE = 80  # height of the space between two lines without room for text
_WORD = 3  # characters that a cell of every other row has at least; the grid of a chart has fewer
_GUTTER = 45  # least width of the space between two columns; underscores that are drawn are narrower
_CROSSING = 5  # of this many rows, one may cross the space between two columns
_APART = 6  # tenths of the letter size between two cells; words of justified lines are nearer
_PARAGRAPH = 30  # average characters of the shortest cell of a line, from which a part of many lines is prose
_FAR = 1 << 30
_HIGHEST = 4_500  # of a table between two lines; those of the head and foot of a page are further apart
_LINES_OF_A_HEAD = 4  # between lines above and below; a listing in a frame has more
_EACH = 4  # parts between lines from which each is probably one row; one fewer if columns are ruled
_HEADING = 4  # most height of a heading of rows, in letter sizes
_CAPTION = 60  # characters of a line across the table that is more than a heading of rows


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
    inside = [{n for row in one.rows for cell in row for n in cell} for one in tables]
    return [
        one
        for one, own in zip(tables, inside, strict=True)
        if not any(own < other or _holds(two.box, one.box) for two, other in zip(tables, inside, strict=True))
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
        first, following = following, bisect(edges, (edges[following][0] + SAME, _FAR, _FAR))
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
    """Lines with the same ends: more than two, or two with room for a short table."""
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
    return [one for one in groups if len(one) > 2 or (len(one) > 1 and one[1].at - one[0].at < _HIGHEST)]


class _Finder:
    """Tables between lines with the same ends."""

    def __init__(self, f: Fragments, group: Sequence[_Line], upright: Sequence[_Line]) -> None:
        self._f = f
        self._left, self._right = group[0].start, group[0].end
        self._upright = [line for line in upright if self._left + 80 < line.at < self._right - 80]
        self._at = [line.at for line in self._upright]  # ascending
        self._ruled = {line.at for line in group}
        self._level = self._with_open_ends()
        self._inside = sorted(
            [
                (top + bottom >> 1, n)
                for n, (x0, top, x1, bottom) in enumerate(zip(f.x0, f.y0, f.x1, f.y1, strict=True))
                if self._left - _ENDS <= x0 + x1 >> 1 <= self._right + _ENDS
            ]
        )

    def _with_open_ends(self) -> list[int]:
        """The positions of the lines, and where upright lines end between or beyond them, as in an open last row."""
        found = set(self._ruled)
        for above, below in pairwise(sorted({-_FAR, *self._ruled, _FAR})):
            down = [line.end for line in self._upright if line.start <= above + _DOUBLE < line.end]
            up = [line.start for line in self._upright if line.start < below - _DOUBLE <= line.end]
            found |= {at for at in (max(down, default=below), min(up, default=above)) if above < at < below}
        return sorted(found)

    def tables(self) -> list[Ruled]:
        """Runs of parts of rows and columns; long parts without upright lines do not join those that have them."""
        found: list[Ruled] = []
        run: list[list[list[int]]] = []  # by part: its lines of fragments
        start = end = 0
        was_ruled = False
        for above, below in pairwise(self._level):
            part = self._part(above, below)
            if not part and below - above <= _DOUBLE:
                continue
            ruled = bool(self._columns_between(above, below))
            changes = run and ruled != was_ruled and len(run[-1] if ruled else part) > _LINES_OF_A_HEAD
            belongs = ruled or self._is_part(part, above, below)
            if changes or not belongs:
                found += self._table(run, start, end)
                run = []
            if belongs:
                start = start if run else above
                end = below
                run.append(part)
            was_ruled = ruled
        return found + self._table(run, start, end)

    def _part(self, top: int, bottom: int) -> list[list[int]]:
        """The lines of fragments between two ruling lines."""
        f = self._f
        lines: list[list[int]] = []
        middle = high = 0
        for centre, n in self._inside[bisect(self._inside, (top, _FAR)) : bisect(self._inside, (bottom, -1))]:
            tall = f.y1[n] - f.y0[n]
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
        several = [shown for shown in map(self._apart, part) if len(shown) > 1]
        if not several:
            near = bool(part) and bottom - top < _HEADING * self._f.size[part[0][0]]
            ruled = near and top in self._ruled and bottom in self._ruled
            return ruled and len(part) == 1 and sum(len(self._f.text[n]) for n in part[0]) < _CAPTION
        chars = fmean(map(min, several))
        alone = max((self._f.x1[n] - self._f.x0[n] for n, *rest in part if not rest), default=0)
        narrow = 2 * alone < self._right - self._left  # empty cells stand beside these lines
        return len(part) < 4 or (chars < _PARAGRAPH and (narrow or len(several) * 3 >= len(part)))

    def _apart(self, line: Sequence[int]) -> list[int]:
        """The number of characters of each text that stands apart from the others of a line."""
        f = self._f
        found = [0]
        for last, n in pairwise([line[0], *line]):
            gap = max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n])
            if 10 * gap > _APART * f.size[n]:
                found.append(0)
            found[-1] += len(f.text[n])
        return found

    def _columns_between(self, top: int, bottom: int) -> list[int]:
        """Positions of upright lines of which most of this height is covered."""
        positions: list[int] = []
        for at in dict.fromkeys(self._at):
            near = self._upright[bisect_left(self._at, at - SAME) : bisect(self._at, at + SAME)]
            covered = sum(max(0, min(one.end, bottom) - max(one.start, top)) for one in near)
            if 10 * covered >= 6 * (bottom - top) and not any(
                abs(other - at) <= _NARROW for other in positions
            ):
                positions.append(at)
        return positions

    def _table(self, run: list[list[list[int]]], top: int, bottom: int) -> list[Ruled]:
        if not run:
            return []
        ruled = self._columns_between(top, bottom)
        if not ruled and len(run) > 1 and len(run[0]) > _LINES_OF_A_HEAD:
            return []
        lines = [line for part in run for line in part]
        shown = [
            (a + b) // 2 for a, b in self._gutters(lines) if not any(a - SAME < at < b + SAME for at in ruled)
        ]
        edges = self._parting(shown, ruled, lines)
        if not edges:
            return []
        rows = [
            row for part in Rows(self._f, edges, self._right, run, _EACH - bool(ruled)).all() for row in part
        ]
        filled = sum(bool(cell) for row in rows for cell in row)
        worded = sum(any(len(self._f.text[n]) >= _WORD for cell in row for n in cell) for row in rows)
        if 2 * worded < len(rows) or len(rows) < 2 or 10 * filled < 4 * len(rows) * (len(edges) + 1):
            return []
        if len(run) == 1 and not self._is_list(rows):
            return []
        cuts = cuts_at(self._f, edges, lines)
        rows = [row[::-1] for row in rows] if self._f.rtl else rows
        return [Ruled((self._left, top, self._right, bottom), rows, cuts)]

    def _is_list(self, rows: Sequence[TableRow]) -> bool:
        """Whether rows between two lines, without a head, are cells beside names and no listing."""
        full = [row for row in rows if row[0] and sum(map(bool, row)) > 1]
        numbered = all(self._f.text[n].isdecimal() for row in full for n in row[0])
        return len(full) > 2 and 10 * len(full) >= 8 * len(rows) and (len(rows[0]) > 2 or not numbered)

    def _parting(
        self, gaps: Sequence[int], ruled: Sequence[int], lines: Sequence[Sequence[int]]
    ) -> list[int]:
        """Ruled edges, and gaps with fragments on both sides in one line; others are only beside a wide head."""
        middles = [[self._f.x0[n] + self._f.x1[n] >> 1 for n in line] for line in lines]
        kept: list[int] = []
        for edge, right in pairwise([*sorted([*gaps, *ruled]), self._right]):
            left = kept[-1] if kept else self._left
            if edge in ruled or any(
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
