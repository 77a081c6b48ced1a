"""Panels of drawings and pictures without a caption that stand in rows and grids."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.formats.pdf.layout import Text, touch, union
from qagen_dagster.formats.pdf.mupdf import Rect
from qagen_dagster.formats.pdf.visuals.figures import Shape

_PART = re.compile(r"\([a-z]\) \w")  # of a figure


def panels_of(shapes: Sequence[Shape], text: Text) -> list[list[Shape]]:
    """Rows and grids of shapes of one height, whose gaps are narrower than they are.

    On pages where parts of figures have captions of their own, each shape is a row. A paragraph parts the rows of a grid.
    """
    rows: list[list[Shape]] = []
    apart = any(_PART.match(piece.text) for piece in text.pieces)
    for shape in sorted(shapes, key=lambda one: one.box[0]):
        row = next((row for row in rows if not apart and _is_next(row[-1].box, shape.box)), None)
        if row is None:
            rows.append([shape])
        else:
            row.append(shape)
    grids: list[list[Shape]] = []
    for row in sorted(rows, key=lambda row: row[0].box[1]):
        above = next((grid for grid in grids if not apart and _is_below(grid, row, text)), None)
        if above is None:
            grids.append(row)
        else:
            above += row
    return grids


def _is_below(grid: Sequence[Shape], row: Sequence[Shape], text: Text) -> bool:
    """Whether a row of panels is as wide as those above it and close to them, without a paragraph between them."""
    x0, _, x1, bottom = union(one.box for one in grid)
    left, top, right, _ = union(one.box for one in row)
    high = min(one.box[3] - one.box[1] for one in (*grid, *row))
    level = max(abs(x0 - left), abs(x1 - right)) < 0.1 * (x1 - x0)
    between = (x0, bottom, x1, top)
    return (
        min(len(grid), len(row)) > 1
        and level
        and 0 <= top - bottom < high
        and not any(touch(piece.box, between) for piece in text.prose)
    )


def _is_next(left: Rect, right: Rect) -> bool:
    """Whether two panels are of one height and stand close beside each other."""
    gap = (left[2], max(left[1], right[1]), right[0], min(left[3], right[3]))
    return gap[3] - gap[1] > 0.8 * max(left[3] - left[1], right[3] - right[1]) and 0 <= gap[2] - gap[0] < min(
        left[2] - left[0], right[2] - right[0]
    )
