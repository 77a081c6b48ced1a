"""Finds tables between ruling lines: the lines of a page that bound a table, and the fragments that form its rows and cells."""

import re
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import level_rows

TableRow = list[list[int]]  # the fragments of each cell
_Lines = Sequence["_Line"]
_Part = list[list[int]]  # the fragments of each line between two ruling lines

SAME = 25  # tenths of a point, like all lengths below without a unit; closer edges count as one
_VALUE = 6  # maximum average width of values, in letter sizes
_LINES_OF_A_CELL = 6  # maximum
_NUMBER = re.compile(r"[-+\u2212]?\d[\d.,]*%?")
_DIGITS, _LETTER = re.compile(r"\d+"), re.compile(r"[^\W\d_]")
Box = tuple[int, int, int, int]  # tenths of a point
Edge = tuple[int, int, int]  # its position, start and end in tenths of a point
_JOINT = 40  # maximum gap between two pieces of the same line
_ENDS = 60  # maximum difference between the ends of lines of the same table
_NARROW = 50  # two vertical lines that are closer have no column between them
_SHORTEST = 400  # minimum length of a line that bounds a table
_DOUBLE = 80  # maximum height between two lines without room for text
_WORD = 3  # minimum characters of the longest text in at least half of a table's rows; a chart's are shorter
_GUTTER = 45  # minimum width of the space between two columns; gaps between drawn underscores are narrower
_CROSSING = 5  # one line in this many may cross the space between two columns
_APART = 6  # minimum gap between cells, in tenths of the letter size; words of justified lines are nearer
_PARAGRAPH = 30  # if the shortest cells of the lines average more characters, a part of many lines is prose
_FAR = 1 << 30
_LINES_OF_A_HEAD = 4  # maximum lines of a header between two ruling lines; a listing in a frame has more
_EACH = 4  # from this many parts on, each part is probably one row; one fewer if columns are ruled
_HEADING = 4  # maximum height of a heading for a group of rows, in letter sizes
_CAPTION = 60  # a text across the table with this many characters is not a heading for rows


def cuts_at(f: Fragments, edges: Sequence[int], lines: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """By number, the positions of the spaces at which fragments that hold several cells are to be cut; none for right-to-left text."""
    cuts: dict[int, list[int]] = {}
    for line in lines if not f.rtl else ():
        spans = {n: _span(f, edges, n) for n in line}
        columns = sorted([column for first, last in spans.values() for column in range(first, last + 1)])
        for n, (first, last) in spans.items() if columns == list(range(len(edges) + 1)) else ():
            spaces = [place for place, char in enumerate(f.text[n]) if char == " "] if first < last else []
            if spaces:
                step = (f.x1[n] - f.x0[n]) / len(f.text[n])
                places = [(edge - f.x0[n]) / step for edge in edges[first:last]]
                cuts[n] = sorted({min(spaces, key=lambda space: abs(space - place)) for place in places})
    return cuts


def _span(f: Fragments, edges: Sequence[int], n: int) -> tuple[int, int]:
    """The first and the last column that a fragment covers."""
    slack = f.size[n] // 2
    first = bisect(edges, f.x0[n] + slack)
    return first, max(first, bisect(edges, f.x1[n] - slack))


class Rows:
    """The rows of the parts of a table. A part is the lines between two ruling lines. From `each` parts on, each is probably a row."""

    def __init__(self, f: Fragments, edges: list[int], right: int, parts: list[_Part], each: int) -> None:
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

    def all(self) -> list[TableRow]:
        """The rows of all parts."""
        rows: list[TableRow] = []
        for number, part in enumerate(self._parts):
            many = len(self._parts) == 1 or self._is_many(part, head=number == 0)
            rows += self._spread(part) if many else [self._row([n for line in part for n in line])]
        return rows

    def _is_many(self, part: _Part, *, head: bool) -> bool:
        """Whether the lines of a part are several rows, rather than the lines of the cells of one row. Cells of a head are often wrapped."""
        f, columns = self._f, self._columns(part)
        most = max(map(len, columns))
        if most < 2 or (most > _LINES_OF_A_CELL and not self._each):
            return most > 1
        if self._is_spaced(columns[0]) or any(
            self._spans[n][0] < self._spans[n][1] for line in part if len(line) > 1 for n in line
        ):
            return True
        numbers = [sum(map(self._is_number, cells)) for cells in columns]
        if head or sum(count > 1 for count in numbers) > 1:
            return (
                sum(len(cells) > 1 and count > 0 for cells, count in zip(columns, numbers, strict=True)) > 1
            )
        full = [cells for cells in columns if len(cells) == most]
        widths = [fmean((f.x1[n] - f.x0[n]) / f.size[n] for cell in cells for n in cell) for cells in full]
        values = [cells for cells, width in zip(full, widths, strict=True) if width <= _VALUE]
        lists = len(full) > 1 and any(map(self._is_list, values))
        return len(values) > 1 or lists or (len(full) > 1 and not self._each)

    def _is_list(self, cells: TableRow) -> bool:
        """Whether each line of a column has a digit, as codes and dates have. A few lines must also have the same form."""
        texts = [_LETTER.sub("a", _DIGITS.sub("0", self._f.text[n])) for cell in cells for n in cell]
        return all("0" in text for text in texts) and (len(texts) >= _EACH or len(set(texts)) == 1)

    def _columns(self, part: list[list[int]]) -> list[TableRow]:
        """For each column, the fragments of each line that has fragments in the column."""
        columns: list[TableRow] = [[] for _ in range(len(self._edges) + 1)]
        for line in part:
            for column in {self._column[n] for n in line}:
                columns[column].append([n for n in line if self._column[n] == column])
        return columns

    def _is_spaced(self, cells: TableRow) -> bool:
        """Whether the lines of a column are too far apart to belong to one cell."""
        f = self._f
        names = [n for cell in cells for n in cell]
        gaps = [f.y0[below] - f.y1[above] - f.size[below] for above, below in pairwise(names)]
        return bool(gaps) and 10 * max(gaps) > -2 * f.size[names[0]]

    def _is_number(self, cell: list[int]) -> bool:
        return _NUMBER.fullmatch(" ".join([self._f.text[n] for n in cell])) is not None

    def _row(self, inside: list[int]) -> TableRow:
        row: TableRow = [[] for _ in range(len(self._edges) + 1)]
        for n in inside:
            column, last = self._column[n], self._spans[n][1]
            beside = row[column] and self._f.x1[row[column][-1]] <= self._f.x0[n]
            row[column + 1 if beside and column < last else column].append(n)
        return row

    def _spread(self, part: list[list[int]]) -> list[TableRow]:
        """One row for each line, except that a cell half-way between two rows and a wrapped line are added to the row above."""
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
        """Whether the row continues cells of the row above except its first cell.

        The cells above are then at least twice as wide as a value and reach the last quarter of their columns.
        """
        f, edges = self._f, [*self._edges, self._right]
        filled = [column for column, cell in enumerate(row) if cell]
        if filled[0] == 0 or not all(above[column] for column in (0, *filled)):
            return False
        ends = [(column, f.x0[above[column][0]], f.x1[above[column][-1]]) for column in filled]
        return all(
            4 * x1 > 3 * edges[column] + edges[column - 1]
            and x1 - x0 >= 2 * _VALUE * f.size[above[column][0]]
            for column, x0, x1 in ends
        )


@dataclass
class Ruled:
    """A table between ruling lines, and its rows from the top down."""

    box: Box
    rows: list[TableRow]  # cells in reading direction
    cuts: dict[int, list[int]]  # positions in the text of a fragment at which another cell begins

    @cached_property
    def fragments(self) -> frozenset[int]:
        """The fragments of all cells."""
        return frozenset(n for row in self.rows for cell in row for n in cell)


class _Line(NamedTuple):
    at: int
    start: int
    end: int


def ruled_tables(f: Fragments, rules: Sequence[Box]) -> list[Ruled]:
    """The tables of a page. Its fragments must have their boxes on the page as displayed."""
    level = lines_of([(y0, x0, x1) for x0, y0, x1, y1 in rules if x1 - x0 > y1 - y0])
    groups = _groups(level)
    if not groups:
        return []
    upright = lines_of([(x0, y0, y1) for x0, y0, x1, y1 in rules if y1 - y0 > x1 - x0])
    middles = sorted([(y0 + y1 >> 1, n) for n, (y0, y1) in enumerate(zip(f.y0, f.y1, strict=True))])
    tables: list[Ruled] = []
    for group in groups:
        tables += _Finder(f, group, level, upright, middles).tables()
    return [table for table in tables if not any(table.fragments < other.fragments for other in tables)]


def lines_of(edges: list[Edge]) -> list[_Line]:
    """The lines that edges form. Edges may be pieces of lines."""
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
    """Groups of lines with the same ends, each of more than one line."""
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
    return [one for one in groups if len(one) > 1]


class _Finder:
    """Finds the tables between lines with the same ends."""

    def __init__(
        self, f: Fragments, group: _Lines, level: _Lines, upright: _Lines, middles: list[tuple[int, int]]
    ) -> None:
        self._f = f
        self._left, self._right = group[0].start, group[0].end
        self._upright = [line for line in upright if self._left + 80 < line.at < self._right - 80]
        places = [line.at for line in self._upright]  # ascending
        # By position, the vertical lines at nearly the same place
        self._near = {
            at: self._upright[bisect_left(places, at - SAME) : bisect(places, at + SAME)] for at in places
        }
        self._ruled = {line.at for line in group}
        ends = [self._left, self._right, *places]
        # lines below some of the columns, such as beside a cell that spans rows; an underlined word ends elsewhere
        near = [one for one in level if all(any(abs(x - end) < _JOINT for end in ends) for x in one[1:])]
        self._partial = [line for line in near if line not in group]
        self._level = self._with_open_ends()
        left, right = 2 * (self._left - _ENDS), 2 * (self._right + _ENDS)
        self._inside = [one for one in middles if left <= f.x0[one[1]] + f.x1[one[1]] <= right + 1]

    def _with_open_ends(self) -> list[int]:
        """The positions of the lines, and of the ends of vertical lines between or beyond them, such as below an open last row."""
        found = set(self._ruled)
        for above, below in pairwise(sorted({-_FAR, *self._ruled, _FAR})):
            down = [line.end for line in self._upright if line.start <= above + _DOUBLE < line.end]
            up = [line.start for line in self._upright if line.start < below - _DOUBLE <= line.end]
            found |= {at for at in (max(down, default=below), min(up, default=above)) if above < at < below}
        return sorted(found)

    def tables(self) -> list[Ruled]:
        """The tables: runs of parts that hold rows and columns. A long part without vertical lines does not join parts that have some."""
        found: list[Ruled] = []
        run: list[list[_Part]] = []
        start = end = 0
        was_ruled = False
        for above, below in pairwise(self._level):
            parts = self._parts(above, below)
            part = [line for lines in parts for line in lines]
            if not part and below - above <= _DOUBLE:
                continue
            ruled = bool(self._columns_between(above, below))
            longer = sum(map(len, run[-1])) if run and ruled else len(part)
            changes = run and ruled != was_ruled and longer > _LINES_OF_A_HEAD
            belongs = ruled or self._is_part(part, above, below)
            if changes or not belongs:
                found += self._table(run, start, end)
                run = []
            if belongs:
                start = start if run else above
                end = below
                run.append(parts)
            was_ruled = ruled
        return found + self._table(run, start, end)

    def _parts(self, top: int, bottom: int) -> list[_Part]:
        """The lines of fragments between two ruling lines, cut at partial lines. A cell beside a partial line is in the part where it begins."""
        f = self._f
        inside = self._inside[bisect(self._inside, (top, _FAR)) : bisect(self._inside, (bottom, -1))]
        cuts = [line for line in self._partial if top + _DOUBLE < line.at < bottom - _DOUBLE]
        places = [at for last, at in pairwise([-_FAR, *(cut.at for cut in cuts)]) if at > last + SAME]
        parts: list[list[tuple[int, int, int]]] = [[] for _ in range(len(places) + 1)]
        for middle, n in inside:
            x = f.x0[n] + f.x1[n] >> 1
            above = [cut.at for cut in cuts if cut.at < middle and cut.start < x < cut.end]
            parts[bisect(places, max(above, default=-_FAR))].append((middle, f.y1[n] - f.y0[n], n))
        lines = [level_rows(part, 4) for part in parts]
        for line in [line for part in lines for line in part]:
            line.sort(key=f.x0.__getitem__, reverse=f.rtl)
        return lines

    def _is_part(self, part: list[list[int]], top: int, bottom: int) -> bool:
        """Whether a part holds cells, or a single heading for rows, and no prose."""
        several = [shown for shown in map(self._apart, part) if len(shown) > 1]
        if not several:
            near = bool(part) and bottom - top < _HEADING * self._f.size[part[0][0]]
            ruled = near and top in self._ruled and bottom in self._ruled
            return ruled and len(part) == 1 and sum(len(self._f.text[n]) for n in part[0]) < _CAPTION
        chars = fmean(map(min, several))
        alone = max((self._f.x1[n] - self._f.x0[n] for n, *rest in part if not rest), default=0)
        narrow = 2 * alone < self._right - self._left  # empty cells are beside a lone text
        return len(part) < 4 or (chars < _PARAGRAPH and (narrow or len(several) * 3 >= len(part)))

    def _apart(self, line: Sequence[int]) -> list[int]:
        """The number of characters of each text in a line that is separate from the others."""
        f = self._f
        found = [0]
        for last, n in pairwise([line[0], *line]):
            if 10 * f.gap(last, n) > _APART * f.size[n]:
                found.append(0)
            found[-1] += len(f.text[n])
        return found

    def _columns_between(self, top: int, bottom: int) -> list[int]:
        """The positions of the vertical lines that cover most of the height from `top` to `bottom`."""
        positions: list[int] = []
        for at, near in self._near.items():
            covered = sum([max(0, min(end, bottom) - max(start, top)) for _, start, end in near])
            if 10 * covered >= 6 * (bottom - top) and not any(
                abs(other - at) <= _NARROW for other in positions
            ):
                positions.append(at)
        return positions

    def _table(self, whole: list[list[_Part]], top: int, bottom: int) -> list[Ruled]:
        """The table that a run of parts forms, or none. A single part forms none: it may be a listing, a note or columns of prose."""
        run = [part for parts in whole for part in parts]
        if len(whole) < 2:
            return []
        ruled = self._columns_between(top, bottom)
        if not ruled and len(run[0]) > _LINES_OF_A_HEAD:
            return []
        lines = [line for part in run for line in part]
        shown = [
            (a + b) // 2 for a, b in self._gutters(lines) if not any(a - SAME < at < b + SAME for at in ruled)
        ]
        edges = self._parting(shown, ruled, lines)
        if not edges:
            return []
        rows = Rows(self._f, edges, self._right, run, _EACH - bool(ruled)).all()
        filled = sum(bool(cell) for row in rows for cell in row)
        worded = sum(any(len(self._f.text[n]) >= _WORD for cell in row for n in cell) for row in rows)
        if 2 * worded < len(rows) or len(rows) < 2 or 10 * filled < 4 * len(rows) * (len(edges) + 1):
            return []
        cuts = cuts_at(self._f, edges, lines)
        rows = [row[::-1] for row in rows] if self._f.rtl else rows
        return [Ruled((self._left, top, self._right, bottom), rows, cuts)]

    def _parting(
        self, gaps: Sequence[int], ruled: Sequence[int], lines: Sequence[Sequence[int]]
    ) -> list[int]:
        """The ruled edges, and the gaps that have fragments on both sides in the same line. Other gaps are beside a wide header."""
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
        changes: Counter[int] = Counter()  # change of the number of covering lines at each position
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
        alone = [(f.x0[n], f.x1[n]) for line in several for n in line]  # a column with few cells
        used += [(a, b) for a, b in alone if not any(a < right and left < b for left, right in used)]
        return [(a[1], b[0]) for a, b in pairwise(sorted(used)) if b[0] - a[1] > _GUTTER]
