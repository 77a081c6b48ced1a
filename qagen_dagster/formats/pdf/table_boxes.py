"""Finds tables on a PDF page: between ruling lines, in grids of boxes, and in rows of aligned numbers."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from qagen_dagster.formats.pdf.captions import Piece, Text, area
from qagen_dagster.formats.pdf.cells import SAME
from qagen_dagster.formats.pdf.figures import Shape
from qagen_dagster.formats.pdf.mupdf import SCALE, Rect, intersection, union
from qagen_dagster.formats.pdf.ruled_tables import Box, Edge, Ruled, lines_of

_MAX_LONE = 7  # maximum successive rows without numbers between rows of numbers
_MAX_HEADS = 4
_HEADING = 40  # maximum characters of a heading of rows between the heads of a table and its first row
_NUMBER = re.compile(
    r"[$\u20ac\u00a3(+\u2212\u2013<>~\u2248-]{0,3}\s?\d[\d.,:/\u00b1\u2013 -]*\s?[%)\u00b0kKMB*\u2020\u2021a-d]{0,3}|[\u2014\u2013-]|\$"
)
_NAME = re.compile(r"[^\W\d_]{2}")
_CONTENTS = re.compile(r"(?:\.\s?){5,}")


def boxes_of_ruled_tables(shapes: Sequence[Shape], text: Text, written: Sequence[Ruled]) -> list[Rect]:
    """The boxes of tables with ruled or boxed cells. Page borders and empty forms are left out.

    `written` holds the tables that the text shows as rows.
    """
    good = [shape.box for shape in shapes if _is_grid(shape, text)]
    for x0, y0, x1, y1 in [table.box for table in written]:
        good.append((x0 / SCALE, y0 / SCALE, x1 / SCALE, y1 / SCALE))
    boxes: list[Rect] = []  # of two boxes that overlap, only the larger
    for box in sorted(good, key=area, reverse=True):
        if not any(area(intersection(box, outer)) > 0.5 * area(box) for outer in boxes):
            boxes.append(box)
    return sorted(boxes, key=lambda box: (box[1], box[0]))


def _is_grid(shape: Shape, text: Text) -> bool:
    """Whether the lines and boxes of a shape form rows and columns, and at least two fifths of the cells have text."""
    if len(shape.parts) < 4 or shape.pictures > 3:
        return False
    x0, y0, x1, y1 = _scaled(shape.box)
    level, upright = _edges(shape)
    rows = _levels(level, 0.8 * (x1 - x0))
    inner = [x for x in _levels(upright, 0.55 * (y1 - y0)) if x0 + 80 < x < x1 - 80]
    if len(rows) < 3 or not inner:
        return False
    columns = sorted({x0, *inner, x1})
    inside = [_scaled(one.box) for one in text.inside(shape.box)]
    taken = {(bisect(rows, b + d >> 1), bisect(columns, a + c >> 1)) for a, b, c, d in inside}
    return len(taken) >= max(4, 0.4 * (len(rows) - 1) * (len(columns) - 1))


def _scaled(box: Rect) -> Box:
    """A box in tenths of a point."""
    x0, y0, x1, y1 = box
    return int(x0 * SCALE), int(y0 * SCALE), int(x1 * SCALE), int(y1 * SCALE)


def _edges(shape: Shape) -> tuple[list[Edge], list[Edge]]:
    """The horizontal and the upright edges of a shape's lines and boxes."""
    level: list[Edge] = []
    upright: list[Edge] = []
    for part in shape.parts:
        a, b, c, d = _scaled(part.box)
        if d - b > SAME and c - a > SAME and part.items > 1:
            continue  # a path of several lines whose course is unknown
        level += [(b, a, c), (d, a, c)] if c - a > SAME else []
        upright += [(a, b, d), (c, b, d)] if d - b > SAME else []
    return level, upright


def _levels(edges: list[Edge], least: float) -> list[int]:
    """The positions at which collinear edges together have at least the length `least`."""
    lengths: Counter[int] = Counter()
    for line in lines_of(edges):
        lengths[line.at] += line.end - line.start
    return sorted(at for at, length in lengths.items() if length >= least)


def number_tables(text: Text) -> list[Rect]:
    """The boxes of tables without ruling lines: runs of rows with two or more numbers in aligned columns."""
    found: list[Rect] = []
    run: list[list[Piece]] = []
    lone = 0
    rows = [list(row) for _, row in groupby(text.pieces, key=attrgetter("line"))]
    for row in [*rows, []]:
        full = len(row) > 2 and _numbers(row) > 1
        near = bool(run and row) and _is_below(run[-1][0].box, row[0], 2.2)
        prose = any(one in text.prose and one.box[2] - one.box[0] > 0.55 * text.width for one in row)
        if (full and (near or not run)) or (near and lone < _MAX_LONE and not prose):
            run.append(row)
            lone = 0 if full else lone + 1
        else:
            found += _closed(run, rows)
            run, lone = [row] if full else [], 0
    return found


def _is_below(above: Rect, below: Piece, sizes: float) -> bool:
    """Whether a piece stands below a box, at most `sizes` times its letter size away, and not in another column."""
    return -below.size < below.box[1] - above[3] < sizes * below.size


def _numbers(row: Sequence[Piece]) -> int:
    return sum(_NUMBER.fullmatch(one.text) is not None for one in row)


def _closed(run: list[list[Piece]], rows: list[list[Piece]]) -> list[Rect]:
    """The box of a run of rows with its heads, if the run is a table; else an empty list."""
    run = list(run)
    while run and len(run[-1]) < 3:
        run.pop()
    full = [row for row in run if _numbers(row) >= 2]
    if len(full) < 3 or len(full) * 10 < 4 * len(run):
        return []
    if any(_CONTENTS.search(one.text) for row in run for one in row):
        return []
    rights = [one.box[2] for row in full for one in row if one.text != "$" and _NUMBER.fullmatch(one.text)]
    aligned = sum(sum(abs(a - b) < 6 for b in rights) >= 3 for a in rights)
    if aligned * 10 < 6 * len(rights):
        return []
    box, heads = _with_heads(run, rows)
    named = sum(any(_NAME.search(one.text) for one in row) for row in full)
    return [box] if heads or named * 10 >= 3 * len(full) else []  # rows of bare numbers are a matrix


def _with_heads(run: list[list[Piece]], rows: list[list[Piece]]) -> tuple[Rect, int]:
    """The box around the run and the rows of short texts above it, and the number of these rows that name columns.

    A heading of rows may stand between these rows and the run.
    """
    box = reach = union(one.box for row in run for one in row)
    numbers = min(one.box[0] for row in run for one in row if _NUMBER.fullmatch(one.text))
    left = max(numbers - 40, box[0] + 1)
    before = rows.index(run[0])
    heads = 0
    for row in reversed(rows[max(0, before - _MAX_HEADS) : before]):
        head = union(one.box for one in row)
        if (
            not -row[0].size < reach[1] - head[3] < 1.5 * row[0].size
            or head[2] > box[2] + 30
            or head[0] < box[0] - (40 if len(row) > 2 else 10)
        ):
            break
        below, reach = reach, union((reach, head))
        named = _NAME.search(row[0].text) is not None  # excludes lines of dashes
        if head[0] < left and (below != box or (len(row) < 2 and named)):
            if len(row) > 1 or len(row[0].text) > _HEADING:
                break
            continue
        box = reach
        heads += len(row) > 1 and sum(_NAME.search(one.text) is not None for one in row) > 1
    return box, heads
