"""Reading order of pages drawn in another order, by a recursive cut into columns, bands and cells."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter, itemgetter
from statistics import median
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Fragments

_DEPTH = 8  # of nested cuts
_MIN_PROSE = 11  # average characters per row that a column has at least
_WIDE = "\u2e7f"  # characters after it count as twice as wide as letters
_CELL_PROSE = 18  # average characters per line from which a cell of several lines is read as a paragraph


class _Item(NamedTuple):
    """A fragment, its height cut to where its letters really are, and its place in the drawing order."""

    top: int
    bottom: int
    order: int
    x0: int
    x1: int
    size: int
    chars: int  # letters of wide scripts count double


_ORDER = attrgetter("order")


@dataclass
class _Band:
    """Items that overlap in height, and the horizontal ranges that they cover."""

    top: int
    bottom: int
    items: list[_Item]
    spans: list[tuple[int, int]]


def blocks_in_order(fragments: Fragments, which: Sequence[int], *, rtl: bool) -> list[list[int]]:
    """Rows of the given fragments in reading order; the fragments of a row are not sorted."""
    items = [_item(fragments, number) for number in which]
    cutter = _Cutter(int(median([item.size for item in items])) or 10, rtl)
    return [row for part in cutter.margins(cutter.bands(items)) for row in cutter.region(part, 0)]


def _item(f: Fragments, n: int) -> _Item:
    trim = (f.y1[n] - f.y0[n]) // 5
    text = f.text[n]
    chars = len(text)
    if not (f.ascii or text.isascii()) and max(text) > _WIDE:
        chars += sum([char > _WIDE for char in text])
    return _Item(f.y0[n] + trim, f.y1[n] - trim, n, f.x0[n], f.x1[n], f.size[n], chars)


@dataclass(frozen=True)
class _Cutter:
    size: int  # size of the page's ordinary letters
    rtl: bool

    def margins(self, bands: list[_Band]) -> list[list[_Band]]:
        """Running head, body and foot, if white space separates the first or last band."""
        if len(bands) <= 3:
            return [bands]
        start = 1 if bands[1].top - bands[0].bottom > self.size else 0
        end = len(bands) - (1 if bands[-1].top - bands[-2].bottom > self.size else 0)
        return [part for part in (bands[:start], bands[start:end], bands[end:]) if part]

    def region(self, bands: list[_Band], depth: int) -> list[list[int]]:
        """The rows of one part of the page."""
        rows: list[list[int]] = []
        for group, spans in self._groups(bands):
            inside = [item for band in group for item in band.items]
            if len(spans) == 1 or len(group) == 1 or depth >= _DEPTH:
                rows.extend(self._rows(inside))
                continue
            columns = self._columns(inside, spans)
            if len(columns) == 1:
                rows.extend(self._cells(inside, spans))
            for column in reversed(columns) if self.rtl else columns:
                if len(columns) > 1:
                    rows.extend(self.region(self.bands(column), depth + 1))
        return rows

    def bands(self, items: list[_Item]) -> list[_Band]:
        """Items grouped by overlapping height, from the top down."""
        bands: list[_Band] = []
        for item in sorted(items):
            if bands and item.top < bands[-1].bottom:
                band = bands[-1]
                band.items.append(item)
                band.spans.append((item.x0, item.x1))
                if item.bottom > band.bottom:
                    band.bottom = item.bottom
            else:
                bands.append(_Band(item.top, item.bottom, [item], [(item.x0, item.x1)]))
        for band in bands:
            if len(band.spans) > 1:
                band.spans = self._union(band.spans)
        return bands

    def _union(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The horizontal ranges covered; gaps narrower than a letter do not count."""
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
        """Neighbouring bands that share a free gutter, or single bands."""
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
        """The items split at the gutters that separate columns of prose; one list if there are none."""
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
        rows_left, rows_right = _row_count(left), _row_count(right)
        if min(rows_left, rows_right) < 2:
            return False
        chars = min(_chars(left) / rows_left, _chars(right) / rows_right)
        if chars < _MIN_PROSE:
            return False
        sides = [item.x0 >= edge for item in both]
        changes = sum(a != b for a, b in pairwise(sides))
        return changes <= max(3, 0.15 * max(rows_left, rows_right))

    def _cells(self, items: list[_Item], spans: list[tuple[int, int]]) -> list[list[int]]:
        """Table rows by baseline; a cell that holds a paragraph stays together."""
        cells = self._stacked(items, spans)
        rows: list[list[int]] = []
        for part in _side_by_side(cells):
            paragraphs = [cell for cell in part if len(cell) > 1 and _chars(cell) >= _CELL_PROSE * len(cell)]
            part.sort(key=lambda cell: cell[0].x0, reverse=self.rtl)
            if paragraphs and (len(paragraphs) > 1 or paragraphs[0] is not part[-1]):
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

    def _rows(self, items: list[_Item]) -> list[list[int]]:
        """Items side by side form a row; rows from the top down."""
        rows: list[list[int]] = []
        middle = height = 0
        for item in sorted(items, key=lambda item: item.top + item.bottom):
            centre, tall = item.top + item.bottom >> 1, item.bottom - item.top
            if rows and centre - middle <= min(tall, height) * 0.6:
                rows[-1].append(item.order)
            else:
                rows.append([item.order])
                middle, height = centre, tall
        return rows


def _row_count(items: list[_Item]) -> int:
    count = bottom = 0
    for top, low, *_ in sorted(items):
        if not count or top >= bottom:
            count += 1
            bottom = low
        elif low > bottom:
            bottom = low
    return count


def _chars(items: list[_Item]) -> int:
    return sum([item.chars for item in items])


def _side_by_side(cells: list[list[_Item]]) -> list[list[list[_Item]]]:
    """Cells grouped into table rows by overlapping height, from the top down."""
    parts: list[list[list[_Item]]] = []
    bottom = 0
    tops = [min([item.top for item in cell]) for cell in cells]
    for top, cell in sorted(zip(tops, cells, strict=True), key=itemgetter(0)):
        if parts and top < bottom:
            parts[-1].append(cell)
        else:
            parts.append([cell])
            bottom = top
        bottom = max(bottom, *[item.bottom for item in cell])
    return parts
