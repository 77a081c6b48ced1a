"""Finds the visual that belongs to a caption on a PDF page: a table, picture, drawing or block of text next to it."""

from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.formats.pdf.captions import (
    Caption,
    Text,
    contains,
    expanded,
    shared_height,
    shared_width,
)
from qagen_dagster.formats.pdf.figures import Shape, is_written, with_labels, without_captions
from qagen_dagster.formats.pdf.mupdf import Rect, intersection, union


@dataclass
class PageView:
    """All findings on one page. `number` is 1-based."""

    number: int
    text: Text
    shapes: list[Shape]
    captions: list[Caption]
    tables: list[Rect]


class Finder:
    """Finds the visuals above and below the captions of a page."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._text = view.text
        self._own = {piece for caption in view.captions for piece in caption.pieces}
        own = [caption.box for caption in view.captions]
        self._shapes = [part for shape in view.shapes for part in without_captions(shape, own)]
        self._solid = [*(shape.box for shape in self._shapes), *view.tables]
        self._margin = {piece for piece in self._text.pieces if self._text.is_marginal(piece)}
        self._stops = [*own, *self._prose()]

    def boxes_beside(self, caption: Caption) -> list[Rect]:
        """The possible visuals of a caption, the likeliest first.

        Tables stand below their captions, figures above. Text is a figure only where nothing is drawn.
        """
        rooms = [self._room(caption, up=up) for up in (not caption.is_table, caption.is_table)]
        if caption.is_table:
            boxes = [self._ruled(caption, room) or self._drawn(caption, room) for room in rooms]
        else:
            boxes = [self._drawn(caption, room) for room in rooms]
            boxes += [self._texts(room) for room, box in zip(rooms, boxes, strict=True) if not box]
        return [box for box in boxes if box]

    def _prose(self) -> Iterator[Rect]:
        for piece in self._text.prose - self._own:
            if not any(contains(box, piece.box) for box in self._solid):
                yield piece.box

    def _room(self, caption: Caption, *, up: bool) -> Rect:
        """The space above (`up`) or below a caption, up to the next paragraph, heading or caption."""
        own = caption.box
        reach = expanded(own, 2)
        ahead = [box for box in self._stops if shared_width(box, reach) > 5]
        if up:
            last = max((box for box in ahead if box[3] <= own[1] + 4), key=lambda box: box[3], default=None)
            room = (own[0], min(last[3], own[1]) if last else 0.0, own[2], own[1])
        else:
            end = min((box[1] for box in ahead if box[1] >= own[3] - 4), default=self._text.height)
            room = (own[0], own[3], own[2], max(end, own[3]))
        level = [box for box in self._stops if shared_height(box, room) > 2]
        left = max((box[2] for box in level if box[2] <= own[0] + 5), default=0.0)
        right = min((box[0] for box in level if box[0] >= own[2] - 5), default=self._text.width)
        return (min(left, own[0]), room[1], max(right, own[2]), room[3])

    def _ruled(self, caption: Caption, room: Rect) -> Rect | None:
        inside = [box for box in self._view.tables if contains(expanded(room, 8), box)]
        boxes = [box for box in inside if shared_width(box, caption.box) > 0]
        return max(boxes, key=lambda box: shared_height(box, caption.box), default=None)

    def _drawn(self, caption: Caption, room: Rect) -> Rect | None:
        shapes = [one for one in self._shapes if contains(expanded(room, 8), one.box)]
        chosen = self._nearest(caption, shapes)
        if not chosen:
            return None
        box = self._joined(caption, chosen, shapes)
        inner = intersection(expanded(room, 2), expanded(box, 60))
        return with_labels(box, self._text, inner, self._own | self._margin)

    def _nearest(self, caption: Caption, shapes: list[Shape]) -> list[Shape]:
        """The shapes nearest to the caption. Labels may stand between these shapes and the caption."""
        over = [one for one in shapes if shared_width(one.box, caption.box) > 0]
        over = over or [one for one in shapes if not self._is_others(caption, one)]  # caption in the margin
        if not over:
            return []
        gap = min(-shared_height(one.box, caption.box) for one in over)
        return [one for one in over if -shared_height(one.box, caption.box) <= gap + 12]

    def _joined(self, caption: Caption, chosen: list[Shape], shapes: list[Shape]) -> Rect:
        """The box around the chosen shapes and those that belong to no other caption."""
        box = union(one.box for one in chosen)
        listing = all(is_written(one, self._text) for one in chosen)
        rest = [one for one in shapes if one not in chosen and not self._is_table(one)]
        rest = [one for one in rest if listing or not is_written(one, self._text)]
        return union((box, *(one.box for one in rest if not self._is_others(caption, one))))

    def _is_others(self, caption: Caption, shape: Shape) -> bool:
        """Whether the shape stands above or below other captions only."""
        over = [other for other in self._view.captions if shared_width(shape.box, other.box) > 0]
        return bool(over) and caption not in over

    def _is_table(self, shape: Shape) -> bool:
        return any(contains(expanded(box, 2), shape.box) for box in self._view.tables)

    def _texts(self, room: Rect) -> Rect | None:
        """The box of at least three texts that belong neither to captions nor to running heads and feet."""
        pieces = [one for one in self._text.inside(room) if one not in self._own | self._margin]
        return union(one.box for one in pieces) if len(pieces) > 2 else None
