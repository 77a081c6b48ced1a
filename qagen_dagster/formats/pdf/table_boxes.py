"""Finds the boxes of tables on a PDF page: between ruling lines, and in rows of aligned numbers."""

import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from qagen_dagster.formats.pdf.captions import Piece, Text, area, contains
from qagen_dagster.formats.pdf.figures import Shape
from qagen_dagster.formats.pdf.mupdf import SCALE, Rect, union
from qagen_dagster.formats.pdf.ruled_tables import Ruled

_FRAME = 1.5  # maximum area of a frame, as a multiple of the area of its table
_MAX_LONE = 7  # maximum consecutive rows without numbers between two rows of numbers
_MAX_HEADS = 4
_HEADING = 40  # maximum characters of a heading between the header rows of a table and its first row
_NUMBER = re.compile(
    r"[$\u20ac\u00a3(+\u2212\u2013<>~\u2248-]{0,3}\s?\d[\d.,:/\u00b1\u2013 -]*\s?[%)\u00b0kKMB*\u2020\u2021a-d]{0,3}|[\u2014\u2013-]|\$"
)
_NAME = re.compile(r"[^\W\d_]{2}")
_CONTENTS = re.compile(r"(?:\.\s?){5,}")


def boxes_of_ruled_tables(shapes: Sequence[Shape], written: Sequence[Ruled]) -> list[Rect]:
    """The boxes of the tables that the text shows as rows, each with the frame and the filled cells around it."""
    boxes: list[Rect] = []
    for table in written:
        x0, y0, x1, y1 = table.box
        box = (x0 / SCALE, y0 / SCALE, x1 / SCALE, y1 / SCALE)
        around = [one.box for one in shapes if contains(one.box, box) and area(one.box) < _FRAME * area(box)]
        boxes.append(union((box, *around)))
    return boxes


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
    """Whether a piece begins less than one letter size above and `sizes` letter sizes below the bottom of a box, so not beside the box."""
    return -below.size < below.box[1] - above[3] < sizes * below.size


def _numbers(row: Sequence[Piece]) -> int:
    return sum(_NUMBER.fullmatch(one.text) is not None for one in row)


def _closed(run: list[list[Piece]], rows: list[list[Piece]]) -> list[Rect]:
    """The box around a run of rows and its header rows if the run is a table, else an empty list."""
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
    """The box around the run and its header rows, and the number of header rows that name columns.

    A heading of a group of rows may stand between the header rows and the run.
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
