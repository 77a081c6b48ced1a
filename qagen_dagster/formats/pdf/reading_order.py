"""The reading order of a page's fragments, as rows of text.

Most pages are drawn in reading order, and one pass checks it: each fragment lies below the previous one, beside it on
the same row, or at the top of a column to its right. Otherwise `columns.py` searches for columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from qagen_dagster.formats.pdf.columns import blocks_in_order
from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.sidebars import parted

Row = list[int]  # the fragments of one visual line, in reading direction

_MAX_COLUMN_JUMPS = 12
_PROSE = 14  # average characters per line from which a run of lines is a column and not cells
_FORMULA = 3  # letter sizes that a part of a formula may stand above the part drawn before it


def rows_in_order(fragments: Fragments) -> tuple[Fragments, list[Row]]:
    """Rows of the page in reading order; text in other directions follows the upright text.

    Also returns the fragments: those of turned text have boxes as if the page were turned.
    """
    every = range(len(fragments.text))
    rtl = fragments.rtl
    turned = {} if fragments.upright else _turned(fragments)
    if not turned:
        return fragments, _upright_rows(fragments, every, rtl=rtl)
    fragments = _set_upright(fragments, turned)
    rows = _upright_rows(fragments, [n for n in every if n not in turned], rtl=rtl)
    for way in dict.fromkeys(turned.values()):
        rows += _upright_rows(fragments, [n for n in every if turned.get(n) == way], rtl=rtl)
    return fragments, rows


def _turned(fragments: Fragments) -> dict[int, str]:
    """Fragments in other directions than left to right or right to left, with their direction."""
    f = fragments
    suspects = [
        n
        for n, (x0, y0, x1, y1, base, text) in enumerate(
            zip(f.x0, f.y0, f.x1, f.y1, f.base, f.text, strict=True)
        )
        if (y1 - y0 > x1 - x0 or base + base < y0 + y1) and len(text) > 1
    ]
    ways = {n: _direction(f, n) for n in suspects}
    return {n: way for n, way in ways.items() if way}


def _direction(f: Fragments, n: int) -> str:
    width, height = f.x1[n] - f.x0[n], f.y1[n] - f.y0[n]
    if height > max(1.5 * width, 1.6 * f.size[n]):
        return "up" if f.base[n] * 2 > f.y0[n] + f.y1[n] else "down"
    return "over" if f.base[n] < f.y0[n] + height * 0.3 and width > height else ""


_Box = tuple[int, int, int, int]
# Each function turns a box so that its text runs left to right and its lines follow downwards.
_FRAMES: dict[str, Callable[[int, int, int, int], _Box]] = {
    "down": lambda x0, y0, x1, y1: (y0, -x1, y1, -x0),
    "up": lambda x0, y0, x1, y1: (-y1, x0, -y0, x1),
    "over": lambda x0, y0, x1, y1: (-x1, -y1, -x0, -y0),
}


def _set_upright(f: Fragments, turned: dict[int, str]) -> Fragments:
    boxes = list(zip(f.x0, f.y0, f.x1, f.y1, strict=True))
    for n, way in turned.items():
        boxes[n] = _FRAMES[way](*boxes[n])
    x0, y0, x1, y1 = (list(side) for side in zip(*boxes, strict=True))
    return replace(f, x0=x0, y0=y0, x1=x1, y1=y1)


def _upright_rows(fragments: Fragments, which: Sequence[int], *, rtl: bool) -> list[Row]:
    if not which:
        return []
    rows: list[Row] = []
    for part in [which] if rtl else parted(fragments, which):
        drawn = None if rtl else _as_drawn(fragments, part)
        rows += blocks_in_order(fragments, part, rtl=rtl) if drawn is None else drawn
    for row in rows:
        if len(row) > 1:
            row.sort(key=fragments.x0.__getitem__, reverse=rtl)
            _drop_overprints(fragments, row)
    return rows


def _as_drawn(f: Fragments, which: Sequence[int]) -> list[Row] | None:
    """Rows in drawing order, if that is a reading order, else None."""
    rows: list[Row] = []
    row: Row = []
    start = jumps = formulas = 0  # `start` is the first row of the current column
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
        elif (
            y1 > top - _FORMULA * sizes[n] and lefts[n] < edge + 2 * sizes[n] and len(f.text[n]) < 2 * _PROSE
        ):
            formulas += 1  # a limit or a denominator: it is read as drawn, but only a few are accepted
            if lefts[n] >= edge - sizes[n] or f.text[n] == f.text[row[-1]]:
                row.append(n)
            else:
                row = [n]
                rows.append(row)
                top, bottom = min(top, y0), max(bottom, y1)
            edge = max(edge, rights[n])
            continue
        else:
            jumps += 1
            if jumps > _MAX_COLUMN_JUMPS or not _starts_column(f, rows[start:], n):
                return None
            start = len(rows)
            row = [n]
        rows.append(row)
        top, bottom, edge = y0, y1, rights[n]
    if formulas * 6 > len(which) + 12 or (jumps and not _is_prose(f, rows[start:])):
        return None
    return rows


def _starts_column(f: Fragments, column: list[Row], n: int) -> bool:
    """Whether fragment `n` lies right of all rows of the previous column that stand beside or below it."""
    beside = [row for row in column if f.y1[row[0]] > f.y0[n]]
    if len(beside) < 2 or (len(beside) == len(column) and f.y1[n] < f.y0[beside[0][0]]):
        return False
    edge = max([f.x1[row[-1]] for row in beside])
    return f.x0[n] >= edge - f.size[n] // 2 and _is_prose(f, beside)


def _is_prose(f: Fragments, rows: list[Row]) -> bool:
    return sum([len(f.text[n]) for row in rows for n in row]) >= _PROSE * len(rows)


def _drop_overprints(f: Fragments, row: Row) -> None:
    """Remove text drawn twice at one place, which some programs do for bold."""
    keep = [row[0]]
    for n in row[1:]:
        last = keep[-1]
        if f.text[n] != f.text[last] or abs(f.x0[n] - f.x0[last]) >= f.size[last] // 3:
            keep.append(n)
    row[:] = keep
