"""The reading order of a page's fragments: rows of text in the order in which a person reads them.

What belongs here: directions, and the cheap proof that the order of drawing is the reading order. What does not: the
search for columns where it is not (`pdf_columns.py`).

Most pages are drawn in reading order, and one pass proves it: each fragment lies below the one before, beside it on the
same row, or at the top of a column to its right.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from qagen_dagster.formats.pdf_columns import blocks_in_order
from qagen_dagster.formats.pdf_lines import Fragment, Fragments

Row = list[Fragment]  # one visual line, in reading direction

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
_MAX_COLUMN_JUMPS = 12
_PROSE = 14  # characters per line, on average, from which a run of lines is a column and not cells


def rows_in_order(fragments: Fragments) -> list[Row]:
    """Rows of the page in reading order; text set in other directions follows the upright text.

    The boxes of such turned rows are as if the page were turned.
    """
    rtl = not fragments.ascii and _is_rtl(fragments.items)
    if not fragments.turned:
        return _upright_rows(fragments.items, rtl=rtl)
    upright: list[Fragment] = []
    turned: dict[str, list[Fragment]] = {}
    for fragment in fragments.items:
        way = _direction(fragment)
        if way:
            turned.setdefault(way, []).append(_FRAMES[way](fragment))
        else:
            upright.append(fragment)
    rows = _upright_rows(upright, rtl=rtl)
    for those in turned.values():
        rows.extend(_upright_rows(those, rtl=rtl))
    return rows


def _direction(fragment: Fragment) -> str:
    """ "" for upright text, else which way it runs."""
    x0, y0, x1, y1, size = fragment[:5]
    if len(fragment.text) < 2:
        return ""
    if fragment.vertical:
        return "down"
    if y1 - y0 > max(1.5 * (x1 - x0), 1.6 * size):
        return "up" if fragment.origin_y > (y0 + y1) // 2 else "down"
    over = fragment.origin_y < y0 + (y1 - y0) * 0.4 and fragment.origin_x > (x0 + x1) // 2
    return "over" if over and x1 - x0 > y1 - y0 else ""


# Each turns a fragment's box so that its text runs left to right and its lines follow downwards.
_FRAMES: dict[str, Callable[[Fragment], Fragment]] = {
    "down": lambda f: f._replace(x0=f.y0, y0=-f.x1, x1=f.y1, y1=-f.x0),
    "up": lambda f: f._replace(x0=-f.y1, y0=f.x0, x1=-f.y0, y1=f.x1),
    "over": lambda f: f._replace(x0=-f.x1, y0=-f.y1, x1=-f.x0, y1=-f.y0),
}


def unturned(fragment: Fragment, way: str) -> Fragment:
    """A fragment of a turned row with its box where it is on the page."""
    return _FRAMES[{"down": "up", "up": "down"}.get(way, way)](fragment)


def _upright_rows(fragments: list[Fragment], *, rtl: bool) -> list[Row]:
    if not fragments:
        return []
    rows = None if rtl else _as_drawn(fragments)
    if rows is None:
        rows = blocks_in_order(fragments, rtl=rtl)
    for row in rows:
        if len(row) > 1:
            row.sort(reverse=rtl)
            _drop_overprints(row)
    return rows


def _is_rtl(fragments: list[Fragment]) -> bool:
    text = "".join([fragment.text for fragment in fragments])
    return not text.isascii() and len(_RTL.findall(text)) * 2 > len(text)


def _as_drawn(fragments: list[Fragment]) -> list[Row] | None:
    """Rows in the order of drawing, if that is a reading order, else None."""
    rows: list[Row] = []
    row: Row = []
    start = 0  # index in `rows` of the column being read
    edge = jumps = height = 0
    middle = -1_000_000
    for fragment in fragments:
        x0, y0, x1, y1, size, *_ = fragment
        tall = y1 - y0
        centre = (y0 + y1) // 2
        reach = (tall if tall < height else height) * 2 // 5
        if centre > middle + reach:
            row = [fragment]
        elif centre >= middle - reach:
            if x0 < edge - size:
                return None
            row.append(fragment)
            edge = x1
            continue
        else:
            jumps += 1
            if jumps > _MAX_COLUMN_JUMPS or not _starts_column(rows, start, fragment):
                return None
            start = len(rows)
            row = [fragment]
        rows.append(row)
        middle, height, edge = centre, tall, x1
    return rows if not jumps or _is_prose(rows[start:]) else None


def _starts_column(rows: list[Row], start: int, fragment: Fragment) -> bool:
    """Whether `fragment` lies right of all rows of the column before that stand beside or below it."""
    beside = [row for row in rows[start:] if row[0].y1 > fragment.y0]
    if len(beside) < 2 or (len(beside) == len(rows) - start and fragment.y1 < beside[0][0].y0):
        return False
    edge = max(row[-1].x1 for row in beside)
    return fragment.x0 >= edge - fragment.size // 2 and _is_prose(beside)


def _is_prose(rows: list[Row]) -> bool:
    return sum(len(f.text) for row in rows for f in row) >= _PROSE * len(rows)


def _drop_overprints(row: Row) -> None:
    """Takes out text drawn twice at one place, which is how some programs make bold."""
    keep = [row[0]]
    for fragment in row[1:]:
        last = keep[-1]
        if fragment.text != last.text or abs(fragment.x0 - last.x0) >= last.size // 3:
            keep.append(fragment)
    row[:] = keep
