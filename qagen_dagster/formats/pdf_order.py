"""The reading order of a page's fragments: rows of text in the order in which a person reads them.

What belongs here: geometry alone. What does not: MuPDF, characters, pages of a document.

Most pages are drawn in reading order, and a cheap pass proves it: each fragment lies below the one before, beside it on
the same row, or at the top of a column to its right. Only where that fails are columns looked for, by recursive cuts
along white space (the XY-cut of Nagy and Seth 1984), guided by the order of drawing: columns of prose are drawn one after
the other, the cells of a table row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from qagen_dagster.formats.pdf_columns import blocks_in_order
from qagen_dagster.formats.pdf_lines import Fragment

Row = list[Fragment]  # one visual line, in reading direction

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
_MAX_COLUMN_JUMPS = 12
_PROSE = 14  # characters per line, on average, from which a run of lines is a column and not cells


def rows_in_order(fragments: list[Fragment]) -> list[Row]:
    """Rows of the page in reading order; text set in other directions follows the upright text."""
    if not fragments:
        return []
    upright: list[Fragment] = []
    turned: dict[str, list[Fragment]] = {}
    for fragment in fragments:
        if (
            fragment.y1 - fragment.y0 > fragment.x1 - fragment.x0
            or fragment.origin_y < fragment.y0 + fragment.y1 >> 1
        ):
            way = _direction(fragment)
            if way:
                turned.setdefault(way, []).append(fragment)
                continue
        upright.append(fragment)
    rows = _upright_rows(upright)
    for way, those in turned.items():
        rows.extend(_upright_rows([_FRAMES[way](fragment) for fragment in those]))
    return rows


def _direction(fragment: Fragment) -> str:
    """ "" for upright text, else which way it runs."""
    x0, y0, x1, y1, size = fragment[:5]
    tall = y1 - y0 > max(1.5 * (x1 - x0), 1.6 * size)
    if fragment.vertical and len(fragment.text) > 1:
        return "down"
    if tall and len(fragment.text) > 1:
        return "up" if fragment.origin_y > (y0 + y1) // 2 else "down"
    over = fragment.origin_y < y0 + (y1 - y0) * 0.4
    return "over" if over and x1 - x0 > y1 - y0 and fragment.origin_x > (x0 + x1) // 2 else ""


# Each turns a fragment's box so that its text runs left to right and its lines follow downwards.
_FRAMES: dict[str, Callable[[Fragment], Fragment]] = {
    "down": lambda f: f._replace(x0=f.y0, y0=-f.x1, x1=f.y1, y1=-f.x0),
    "up": lambda f: f._replace(x0=-f.y1, y0=f.x0, x1=-f.y0, y1=f.x1),
    "over": lambda f: f._replace(x0=-f.x1, y0=-f.y1, x1=-f.x0, y1=-f.y0),
}


def _upright_rows(fragments: list[Fragment]) -> list[Row]:
    if not fragments:
        return []
    rtl = _is_rtl(fragments)
    rows = None if rtl else _as_drawn(fragments)
    if rows is None:
        rows = blocks_in_order(fragments, rtl=rtl)
    for row in rows:
        if len(row) > 1:
            row.sort(key=lambda f: f.x0, reverse=rtl)
            _drop_overprints(row)
    return rows


def _is_rtl(fragments: list[Fragment]) -> bool:
    text = "".join(fragment.text for fragment in fragments)
    return not text.isascii() and len(_RTL.findall(text)) * 2 > len(text)


def _as_drawn(fragments: list[Fragment]) -> list[Row] | None:
    """Rows in the order of drawing, if that is a reading order, else None."""
    rows: list[Row] = []
    row: Row = []
    start = 0  # index in `rows` of the column being read
    middle = -1_000_000
    half = jumps = 0
    for fragment in fragments:
        centre = fragment.y0 + fragment.y1 >> 1
        reach = fragment.y1 - fragment.y0
        reach = (reach if reach < half else half) * 2 // 5
        if centre > middle + reach:
            row = [fragment]
            rows.append(row)
        elif centre >= middle - reach:
            if fragment.x0 < row[-1].x1 - fragment.size:
                return None
            row.append(fragment)
            continue
        else:
            jumps += 1
            if jumps > _MAX_COLUMN_JUMPS or not _starts_column(rows, start, fragment):
                return None
            start = len(rows)
            row = [fragment]
            rows.append(row)
        middle, half = centre, fragment.y1 - fragment.y0
    if jumps and not _is_prose(rows[start:]):
        return None
    return rows


def _starts_column(rows: list[Row], start: int, fragment: Fragment) -> bool:
    """Whether `fragment` lies right of all rows of the column before that stand beside or below it."""
    beside = [row for row in rows[start:] if row[0].y1 > fragment.y0]
    if len(beside) < 2 or len(beside) == len(rows) - start and fragment.y1 < beside[0][0].y0:
        return False
    edge = max(row[-1].x1 for row in beside)
    return fragment.x0 >= edge - fragment.size // 2 and _is_prose(beside)


def _is_prose(rows: list[Row]) -> bool:
    return sum(len(f.text) for row in rows for f in row) >= _PROSE * len(rows)


def _drop_overprints(row: Row) -> None:
    """Takes out text drawn twice at one place, which is how some programs make bold."""
    keep = [row[0]]
    for before, fragment in pairwise(row):
        same = fragment.text == before.text and abs(fragment.x0 - before.x0) < before.size // 3
        if not same:
            keep.append(fragment)
    row[:] = keep
