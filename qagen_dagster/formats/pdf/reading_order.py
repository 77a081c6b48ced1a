"""The reading order of a page's fragments, as rows of text.

Most pages are drawn in reading order. One pass checks this: each fragment lies below the previous fragment, beside it on
the same row, or at the top of a column to its right. Other pages are cut recursively into columns, bands and cells.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter, itemgetter
from statistics import median
from typing import NamedTuple, TypeVar

from qagen_dagster.formats.pdf.fragments import Fragments

_DEPTH = 8  # maximum depth of nested cuts; deeper cuts separate letters, not columns
_MIN_PROSE = 11  # minimum average characters per row of a column
_WIDE = "\u2e7f"  # later characters count as twice as wide as letters
_CELL_PROSE = 18  # minimum average characters per line of a cell that is read as a paragraph
_ORDER = attrgetter("order")
Row = list[int]  # the fragments of one visual line, in reading direction
Line = tuple[str, Row]  # the text of a line and its fragments; a blank line has none
_PROSE = 14  # the same for a page in drawing order: minimum average characters per row; cells have fewer
_Box = tuple[int, int, int, int]
_Thing = TypeVar("_Thing")
# For each direction of text, a function that turns a box so that text runs left to right and lines follow downwards.
_FRAMES: dict[str, Callable[[int, int, int, int], _Box]] = {
    "down": lambda x0, y0, x1, y1: (y0, -x1, y1, -x0),
    "up": lambda x0, y0, x1, y1: (-y1, x0, -y0, x1),
    "over": lambda x0, y0, x1, y1: (-x1, -y1, -x0, -y0),
}


class _Item(NamedTuple):
    """A fragment. `top` and `bottom` are the edges of its letters, without the margins of its box; `order` is its number."""

    top: int
    bottom: int
    order: int
    x0: int
    x1: int
    size: int
    chars: int  # letters of wide scripts count double


@dataclass
class _Band:
    """Items that overlap in height, and the horizontal ranges that they cover."""

    top: int
    bottom: int
    items: list[_Item]
    spans: list[tuple[int, int]]


def blocks_in_order(f: Fragments, which: Sequence[int]) -> list[Row]:
    """The fragments with the numbers `which`, as rows in reading order. The fragments within a row are not sorted."""
    items = [_item(f, number) for number in which]
    cutter = _Cutter(f, int(median([item.size for item in items])) or 10)
    return [row for part in cutter.margins(cutter.bands(items)) for row in cutter.region(part, 0)]


def _item(f: Fragments, n: int) -> _Item:
    trim = (f.y1[n] - f.y0[n]) // 5
    text = f.text[n]
    chars = len(text) if text.isascii() else sum([1 + (char > _WIDE) for char in text])
    return _Item(f.y0[n] + trim, f.y1[n] - trim, n, f.x0[n], f.x1[n], f.size[n], chars)


@dataclass(frozen=True)
class _Cutter:
    f: Fragments
    size: int  # size of the page's ordinary letters

    def margins(self, bands: list[_Band]) -> list[list[_Band]]:
        """The bands of the running head, the body and the running foot. White space separates a head or foot. Up to three bands are one part."""
        if len(bands) <= 3:
            return [bands]
        start = 1 if bands[1].top - bands[0].bottom > self.size else 0
        end = len(bands) - (1 if bands[-1].top - bands[-2].bottom > self.size else 0)
        return [part for part in (bands[:start], bands[start:end], bands[end:]) if part]

    def region(self, bands: list[_Band], depth: int) -> list[Row]:
        """The rows of one part of the page."""
        rows: list[Row] = []
        for group, spans in self._groups(bands):
            inside = [item for band in group for item in band.items]
            if len(spans) == 1 or len(group) == 1 or depth >= _DEPTH:
                rows.extend(self._rows(inside))
                continue
            columns = self._columns(inside, spans)
            if len(columns) == 1:
                rows.extend(self._cells(inside, spans))
            for column in reversed(columns) if self.f.rtl else columns:
                if len(columns) > 1:
                    rows.extend(self.region(self.bands(column), depth + 1))
        return rows

    def bands(self, items: list[_Item]) -> list[_Band]:
        """Items grouped by overlapping height, from the top down."""
        bands: list[_Band] = []
        for group in _overlapping([(item.top, item.bottom, item) for item in sorted(items)]):
            spans = [(item.x0, item.x1) for item in group]
            bottom = max([item.bottom for item in group])
            bands.append(_Band(group[0].top, bottom, group, self._union(spans) if len(spans) > 1 else spans))
        return bands

    def _union(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The horizontal ranges that the spans cover. Gaps narrower than a letter do not count."""
        covered: list[tuple[int, int]] = []
        gap = self.size * 4 // 5
        spans = sorted(spans)
        start, end = spans[0]
        for left, right in spans:
            if left >= end + gap:
                covered.append((start, end))
                start = left
            elif right <= end:
                continue
            end = right
        covered.append((start, end))
        return covered

    def _groups(self, bands: list[_Band]) -> list[tuple[list[_Band], list[tuple[int, int]]]]:
        """Groups of neighbouring bands that share a free gutter or all have none, each with the horizontal ranges that it covers."""
        groups: list[tuple[list[_Band], list[tuple[int, int]]]] = []
        for band in bands:
            if groups:
                members, spans = groups[-1]
                both = self._union(spans + band.spans)
                if len(both) > 1 or (len(spans) == 1 and len(band.spans) == 1):
                    members.append(band)
                    groups[-1] = (members, both)
                    continue
            groups.append(([band], band.spans))
        return groups

    def _columns(self, items: list[_Item], spans: list[tuple[int, int]]) -> list[list[_Item]]:
        """The items split at the gutters that separate columns of prose; one list if there are no such gutters."""
        columns: list[list[_Item]] = []
        rest = sorted(items, key=_ORDER)
        for _, edge in spans[:-1]:
            left = [item for item in rest if item.x0 < edge]
            right = [item for item in rest if item.x0 >= edge]
            if self._are_columns(rest, left, right, edge):
                columns.append(left)
                rest = right
        columns.append(rest)
        return columns

    def _are_columns(self, both: list[_Item], left: list[_Item], right: list[_Item], edge: int) -> bool:
        rows = [len(_overlapping([(item.top, item.bottom, item) for item in side])) for side in (left, right)]
        if min(rows) < 2:
            return False
        chars = min(_chars(left) / rows[0], _chars(right) / rows[1])
        if chars < _MIN_PROSE:
            return False
        sides = [item.x0 >= edge for item in both]
        changes = sum(a != b for a, b in pairwise(sides))
        return changes <= max(3, 0.15 * max(rows))

    def _cells(self, items: list[_Item], spans: list[tuple[int, int]]) -> list[Row]:
        """The rows of a table: texts at the same height. Paragraphs side by side are read one after the other."""
        cells = self._stacked(items, spans)
        rows: list[Row] = []
        edges = [(min([item.top for item in cell]), max([item.bottom for item in cell])) for cell in cells]
        for part in _overlapping([(*edge, cell) for edge, cell in zip(edges, cells, strict=True)]):
            paragraphs = [cell for cell in part if len(cell) > 1 and _chars(cell) >= _CELL_PROSE * len(cell)]
            part.sort(key=lambda cell: cell[0].x0, reverse=self.f.rtl)
            if len(paragraphs) > 1:
                for cell in part:
                    rows.extend(self._rows(cell))
            else:
                rows.extend(self._rows([item for cell in part for item in cell]))
        return rows

    def _stacked(self, items: list[_Item], spans: list[tuple[int, int]]) -> list[list[_Item]]:
        """Runs of lines drawn one after the other, each close below the previous one in the same column."""
        cells: list[list[_Item]] = []
        column = -1
        ends = [end for _, end in spans]
        for item in sorted(items, key=_ORDER):
            place = bisect(ends, item.x0)
            last = cells[-1][-1] if cells else None
            if last and place == column and -item.size < item.top - last.bottom < item.size * 0.8:
                cells[-1].append(item)
            else:
                cells.append([item])
            column = place
        return cells

    def _rows(self, items: Iterable[_Item]) -> list[Row]:
        spans = [(item.top + item.bottom >> 1, item.bottom - item.top, item.order) for item in items]
        return level_rows(spans, 6)


def level_rows(spans: Iterable[tuple[int, int, int]], apart: int) -> list[Row]:
    """Rows of fragments from the top down. `spans` holds the middle, the height and the number of each fragment.

    The middle of a fragment is at most `apart` tenths of the smaller height below the middle of the first fragment of its row.
    """
    rows: list[Row] = []
    middle = height = 0
    for centre, tall, n in sorted(spans, key=itemgetter(0)):
        if rows and 10 * (centre - middle) <= apart * min(tall, height):
            rows[-1].append(n)
        else:
            rows.append([n])
            middle, height = centre, tall
    return rows


def _chars(items: list[_Item]) -> int:
    return sum([item.chars for item in items])


def _overlapping(things: list[tuple[int, int, _Thing]]) -> list[list[_Thing]]:
    """Things grouped by overlapping height, from the top down. Each thing comes with its top and its bottom."""
    groups: list[list[_Thing]] = []
    bottom = 0
    for top, low, thing in sorted(things, key=itemgetter(0)):
        if groups and top < bottom:
            groups[-1].append(thing)
            bottom = max(bottom, low)
        else:
            groups.append([thing])
            bottom = low
    return groups


def rows_in_order(fragments: Fragments) -> tuple[Fragments, list[Row]]:
    """The fragments, and the page's rows in reading order. Text in other directions follows the horizontal text.

    Turned fragments are returned with the boxes that they have on a page turned until their text is horizontal.
    """
    every = range(len(fragments.text))
    turned = {} if fragments.upright else _turned(fragments)
    if not turned:
        return fragments, _upright_rows(fragments, every)
    fragments = _set_upright(fragments, turned)
    rows = _upright_rows(fragments, [n for n in every if n not in turned])
    for way in dict.fromkeys(turned.values()):
        rows += _upright_rows(fragments, [n for n in every if turned.get(n) == way])
    return fragments, rows


def _turned(fragments: Fragments) -> dict[int, str]:
    """By number, the directions ("up", "down" or "over") of the fragments that are turned."""
    f = fragments
    each = zip(f.x0, f.y0, f.x1, f.y1, f.base, f.text, strict=True)
    suspects = [
        n
        for n, (x0, y0, x1, y1, base, text) in enumerate(each)
        if (y1 - y0 > x1 - x0 or base + base < y0 + y1) and len(text) > 1
    ]
    ways = {n: _direction(f, n) for n in suspects}
    return {n: way for n, way in ways.items() if way}


def _direction(f: Fragments, n: int) -> str:
    width, height = f.x1[n] - f.x0[n], f.y1[n] - f.y0[n]
    if height > max(1.5 * width, 1.6 * f.size[n]):
        return "up" if f.base[n] * 2 > f.y0[n] + f.y1[n] else "down"
    # The baseline is that of the first letter, and large brackets of TeX hang below theirs.
    return "over" if f.text[n][0].isalnum() and f.base[n] < f.y0[n] + height * 0.3 and width > height else ""


def _set_upright(f: Fragments, turned: dict[int, str]) -> Fragments:
    boxes = list(zip(f.x0, f.y0, f.x1, f.y1, strict=True))
    for n, way in turned.items():
        boxes[n] = _FRAMES[way](*boxes[n])
    x0, y0, x1, y1 = (list(side) for side in zip(*boxes, strict=True))
    return replace(f, x0=x0, y0=y0, x1=x1, y1=y1)


def _upright_rows(f: Fragments, which: Sequence[int]) -> list[Row]:
    if not which:
        return []
    drawn = None if f.rtl else _as_drawn(f, which)
    rows = blocks_in_order(f, which) if drawn is None else drawn
    for row in rows:
        if len(row) > 1:
            row.sort(key=f.x0.__getitem__, reverse=f.rtl)
    return rows


def _as_drawn(f: Fragments, which: Sequence[int]) -> list[Row] | None:
    """The rows in drawing order, if that is a reading order; else None."""
    rows: list[Row] = []
    row: Row = []
    start = jumps = 0  # `start` is the first row of the current column
    edge, top, bottom = 0, -1_000_000, -1_000_000
    sizes, lefts, rights, tops, bottoms = f.size, f.x0, f.x1, f.y0, f.y1
    for n in which:
        y0, y1 = tops[n], bottoms[n]
        reach = (y1 - y0 if y1 - y0 < bottom - top else bottom - top) * 2 // 5
        if y0 >= bottom - reach or y0 + y1 > top + bottom + reach + reach:
            row = [n]
        elif y1 > top + reach and (lefts[n] >= edge - sizes[n] or rights[n] <= lefts[row[0]]):
            row.append(n)
            edge = max(edge, rights[n])
            continue
        else:
            jumps += 1
            if not _starts_column(f, rows[start:], n):
                return None
            start = len(rows)
            row = [n]
        rows.append(row)
        top, bottom, edge = y0, y1, rights[n]
    if jumps and not _is_prose(f, rows[start:]):
        return None
    return rows


def _starts_column(f: Fragments, column: list[Row], n: int) -> bool:
    """Whether fragment `n` begins a column. If so, it lies to the right of all rows of `column` beside or below it."""
    beside = [row for row in column if f.y1[row[0]] > f.y0[n]]
    if len(beside) < 2 or (len(beside) == len(column) and f.y1[n] < f.y0[beside[0][0]]):
        return False
    edge = max([f.x1[row[-1]] for row in beside])
    return f.x0[n] >= edge - f.size[n] // 2 and _is_prose(f, beside)


def _is_prose(f: Fragments, rows: list[Row]) -> bool:
    return sum([len(f.text[n]) for row in rows for n in row]) >= _PROSE * len(rows)
