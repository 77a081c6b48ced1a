"""Loose lettering inside figures, moved out of the text flow to one line above the figure's caption.

It is found by the lines alone, because looking at the drawings would cost as much as reading the page again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Row

MARK = " \u00b7 "  # separates two pieces of lettering
_FIGURE = re.compile(
    r"(?:Figure|FIGURE|Fig\.|FIG\.|Abbildung|Abb\.) ?[A-Z]?\d[\d.-]*[a-z]?(?: *[:.|(\u2013\u2014]|  | ?$| [A-Z])"
)
_CAPTION = re.compile(r"(?:Figure|FIGURE|Fig\.|FIG\.|Table|TABLE|Tabelle|Abbildung|Abb\.) ?[A-Z]?\d")
_HEADING = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,3}\.? +[^\W\d_]{2}")
_WALL_CHARS = 25  # minimum characters of a line that is text and not lettering
_WALL_WORDS = 4
_LABEL_CHARS = 26  # average characters that pieces of lettering have at most
_CODE_CHARS = 6  # average characters that lines of a listing have at least
_HEAD = 900  # tenths of a point: a separate line above this height is a running head
_MAX_LINE = 1_000  # characters of lettering on one line

_Line = tuple[str, Row]


def merge_lettering(f: Fragments, lines: list[_Line], cells: Container[int] = ()) -> list[_Line]:
    """The lines, with the loose lettering above each figure's caption merged into a line before the caption.

    Fragments of tables, `cells`, are none.
    """
    captions = [n for n, (text, row) in enumerate(lines) if row and _FIGURE.match(text)]
    if not captions:
        return lines
    page = _page(f, lines)
    found: list[_Line] = []
    done = 0
    for caption in captions:
        start = _start(f, lines, caption, done, page, cells)
        run = [line for line in lines[start:caption] if line[1]]
        if len(run) > 1 and _is_loose(f, run):
            found += lines[done:start]
            found += _joined(f, run)
            done = caption
    return found + lines[done:]


class _Page(NamedTuple):
    """The page's usual letter size and line starts, in tenths of a point."""

    size: int
    starts: frozenset[int]


def _page(f: Fragments, lines: Sequence[_Line]) -> _Page:
    sizes: Counter[int] = Counter()
    starts: Counter[int] = Counter()
    for text, row in lines:
        if row and len(text) >= _WALL_CHARS:
            sizes[f.size[row[0]]] += len(text)
            starts[f.x0[row[0]] // 10] += 1
    usual = [start for start, count in starts.items() if count > 2]
    near = frozenset(one for start in usual for one in range(start - 1, start + 2))
    return _Page(sizes.most_common(1)[0][0] if sizes else 0, near)


def _start(
    f: Fragments, lines: Sequence[_Line], caption: int, least: int, page: _Page, cells: Container[int]
) -> int:
    """The first line of the run of non-text lines above a caption."""
    foot = f.y0[lines[caption][1][0]]
    n = caption
    while n > least:
        text, row = lines[n - 1]
        below = row and max(f.y1[one] for one in row) > foot + 30
        if row and (below or row[0] in cells or _is_text(f, text, row, page)):
            break
        n -= 1
    last = lines[n - 1][1] if n else []
    while n < caption and last and _follows(f, last, lines[n][1]):
        last = lines[n][1]
        n += 1
    if n == 0 and caption > 2 and not lines[1][1] and f.y1[lines[0][1][0]] < _HEAD:
        n = 1
    while n < caption and not lines[n][1]:
        n += 1
    return n


def _is_text(f: Fragments, text: str, row: Row, page: _Page) -> bool:
    """Whether a line belongs to a paragraph, a heading or a caption."""
    if _CAPTION.match(text):
        return True
    size = max(f.size[one] for one in row)
    if " | " in text or size * 100 < 88 * page.size:
        return False
    if len(text) >= _WALL_CHARS and len(text.split()) >= _WALL_WORDS:
        return True
    if size * 100 < 97 * page.size:
        return False
    return _HEADING.match(text) is not None or (
        f.x0[row[0]] // 10 in page.starts and sum(map(str.isalpha, text)) > _WALL_WORDS
    )


def _follows(f: Fragments, above: Row, below: Row) -> bool:
    """Whether a line continues the paragraph or caption above it."""
    if not below:
        return False
    a, b = above[0], below[0]
    return (
        abs(f.size[a] - f.size[b]) <= 4
        and -f.size[a] < f.y0[b] - f.y1[a] < f.size[a] * 3 // 5
        and f.y0[b] > f.y0[a]
        and abs(f.x0[a] - f.x0[b]) <= 2 * f.size[a]
    )


def _is_loose(f: Fragments, run: Sequence[_Line]) -> bool:
    """Whether the lines are scattered short lettering, and neither a table nor a listing."""
    cells = [text.split(" | ") for text, _ in run]
    count = sum(map(len, cells))
    if sum(len(text) for text, _ in run) > _LABEL_CHARS * count:
        return False
    widths = Counter(len(one) for one in cells if len(one) > 2)
    common = widths.most_common(1)[0] if widths else (0, 0)
    if common[1] > 2 and common[1] * 2 > len(run):
        return False
    return not _is_listing(f, run)


def _is_listing(f: Fragments, run: Sequence[_Line]) -> bool:
    """Whether the lines begin at few positions and follow each other evenly, as code does."""
    if len(run) < 3 or sum(len(text) for text, _ in run) < _CODE_CHARS * len(run):
        return False
    starts = Counter(f.x0[row[0]] // 10 for _, row in run)
    steps = [f.y1[b[0]] - f.y1[a[0]] for (_, a), (_, b) in pairwise(run)]
    usual = median(steps)
    even = sum(abs(step - usual) * 10 <= usual for step in steps)
    aligned = sum(count for _, count in starts.most_common(3))
    return usual > 0 and even * 10 >= 7 * len(steps) and aligned * 3 >= 2 * len(run)


def _joined(f: Fragments, run: Sequence[_Line]) -> list[_Line]:
    """The lettering on one line, or on several if it is long."""
    lines: list[_Line] = []
    for text, row in run:
        part = text.replace(" | ", MARK)
        if lines and len(lines[-1][0]) + len(part) < _MAX_LINE:
            lines[-1] = (lines[-1][0] + MARK + part, lines[-1][1] + row)
        else:
            lines.append((part, list(row)))
    return lines
