"""Shapes on a PDF page, split by the captions beside each other that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from qagen_dagster.formats.pdf.layout import shared_height, shared_width, touch, union
from qagen_dagster.formats.pdf.mupdf import Rect
from qagen_dagster.formats.pdf.visuals.figures import Shape

_NEAR = 30.0  # points between a caption and its shape


def split_by_captions(shape: Shape, captions: Sequence[Rect]) -> list[Shape]:
    """The shape, split where captions stand side by side at it, without the parts that overlap a caption."""
    across = [
        box for box in captions if shared_height(box, shape.box) > 6 and shared_width(box, shape.box) > 0
    ]
    rest = _without(shape, across) if across else shape
    if rest is None:
        return []
    near = sorted(
        box
        for box in captions
        if -_NEAR < shared_height(box, rest.box) < 6 and shared_width(box, rest.box) > 0
    )
    if len(near) < 2 or any(shared_width(a, b) > -4 or shared_height(a, b) < 0 for a, b in pairwise(near)):
        return [rest]
    return _cut(rest, [box[0] - 4 for box in near[1:]])


def _cut(shape: Shape, edges: Sequence[float]) -> list[Shape]:
    """The parts left of the first edge, between the first and the second, and so on."""
    pieces: list[Shape] = []
    limits = [float("-inf"), *edges, float("inf")]
    for left, right in pairwise(limits):
        inside = [box for box in shape.boxes if left <= (box[0] + box[2]) / 2 < right]
        if not inside:
            continue
        x0, y0, x1, y1 = union(inside)
        box = (max(x0, left), y0, min(x1, right), y1)
        pieces.append(replace(shape, box=box, boxes=inside, parts=[]))
    return pieces


def _without(shape: Shape, across: Sequence[Rect]) -> Shape | None:
    """The shape without the parts that overlap any of these boxes; None if nothing is left."""
    kept = [
        box
        for box in shape.boxes
        if not any(touch(box, one) and shared_height(box, one) > 2 for one in across)
    ]
    return replace(shape, box=union(kept), boxes=kept, parts=[]) if kept else None
