"""Combines the pictures and drawings on a PDF page into shapes that may be figures, with their labels and legends."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.formats.pdf.captions import Piece, Text, area, contains, shared_height, shared_width
from qagen_dagster.formats.pdf.mupdf import Drawing, Picture, Rect, intersection, union

_MIN_SIDE = 16.0  # points; minimum side of a shape
_LONG = 100.0  # points; a shape this long, such as a number line, needs only half of _MIN_SIDE
_WHOLE = 0.8  # share of the page; a larger shape is the page's background
_REPEATED = 0.2  # minimum share of the pages; a mark at one place on so many pages, at least 3, is decoration
_JOINED = 9.0  # parts of one drawing are about this many points apart or less
_PARAGRAPH = 3  # minimum lines of prose in a frame
_FRAME_AREA = 2_000  # square points; a smaller box has no room for a paragraph
_LABEL_CHARS = 60  # maximum characters of a label above or below a drawing
_LARGE_CHARS = 12  # maximum characters of a label that is as large as the prose
_LABEL_GAP = 13.0  # maximum points between a drawing and its labels


@dataclass(eq=False)
class Shape:
    """Pictures and drawings that belong together. `items` is the number of lines and curves."""

    box: Rect
    items: int = 0
    pictures: int = 0
    curves: int = 0


class Repeats:
    """Pictures and paths at the same place on many pages: logos, rules and backgrounds of running heads."""

    def __init__(self) -> None:
        self._places: Counter[tuple[int, ...]] = Counter()
        self._pages = 0

    def add(self, marks: Iterable[Picture | Drawing]) -> None:
        """Count the places of the marks of one page."""
        self._pages += 1
        self._places.update({_place(one.box) for one in marks})

    def __contains__(self, one: Picture | Drawing) -> bool:
        return self._places[_place(one.box)] >= max(3, _REPEATED * self._pages)


def _place(box: Rect) -> tuple[int, ...]:
    return tuple(round(side / 2) for side in box)


def shapes_on(
    text: Text, pictures: Sequence[Picture], drawings: Sequence[Drawing], repeats: Repeats
) -> list[Shape]:
    """The shapes of a page, without its background and repeated marks."""
    page = (0.0, 0.0, text.width, text.height)
    frames: list[Shape] = []
    parts: list[tuple[Rect, Drawing | None]] = []
    for one in pictures:
        box = intersection(one.box, page)
        on_page = box[0] < box[2] and box[1] < box[3] and area(box) < _WHOLE * area(page)
        if on_page and one not in repeats and not _covers_prose(box, text):
            parts.append((box, None))
    for path in drawings:
        box = intersection(path.box, page)
        if path.white or box[2] < box[0] or box[3] < box[1] or area(box) > _WHOLE * area(page):
            continue
        if path in repeats:
            continue
        if _covers_prose(box, text):
            frames.append(Shape(box))  # a frame does not connect the parts inside it
        else:
            parts.append((box, path))
    return [*frames, *_grouped(text, parts)]


def _covers_prose(box: Rect, text: Text) -> bool:
    """Whether the box contains a paragraph. Such a box is a frame or a background, or is displayed smaller than the file states."""
    if area(box) < _FRAME_AREA:
        return False
    inside = sum(shared_width(box, one.box) > 15 and shared_height(box, one.box) > 4 for one in text.prose)
    return inside >= _PARAGRAPH


def _grouped(text: Text, parts: list[tuple[Rect, Drawing | None]]) -> Iterator[Shape]:
    """The shapes that are formed by parts which touch or nearly touch. A coarse grid makes this cheap for thousands of parts."""
    cell = max(_JOINED / 2, max(text.width, text.height) / 300)
    cells = [_cells(part[0], cell) for part in parts]
    grid = np.zeros((int(text.height / cell) + 3, int(text.width / cell) + 3), bool)
    for left, top, right, bottom in cells:
        grid[top : bottom + 1, left : right + 1] = True
    groups = _connected(grid) if parts else grid
    shapes: dict[int, Shape] = {}
    for (box, path), (left, top, _, _) in zip(parts, cells, strict=True):
        shape = shapes.setdefault(int(groups[top, left]), Shape(box))
        shape.box = union((shape.box, box))
        shape.pictures += path is None
        shape.items += path.items if path else 0
        shape.curves += path.curved if path else 0
    for shape in sorted(shapes.values(), key=lambda shape: (shape.box[1], shape.box[0])):
        short, long = sorted((shape.box[2] - shape.box[0], shape.box[3] - shape.box[1]))
        if short >= _MIN_SIDE or (long >= _LONG and short >= _MIN_SIDE / 2):
            yield shape


def _cells(box: Rect, cell: float) -> tuple[int, int, int, int]:
    """The first column and row and the last column and row of a box's grid cells. One column and one row are added at the end."""
    left, top = max(int(box[0] / cell), 0), max(int(box[1] / cell), 0)
    return (left, top, max(int(box[2] / cell) + 1, left), max(int(box[3] / cell) + 1, top))


def _connected(grid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each set cell, the highest number of a cell in its group of adjacent set cells; 0 for cells that are not set."""
    high, wide = grid.shape
    names = np.arange(1, grid.size + 1).reshape(grid.shape) * grid
    while True:
        around = np.pad(names, 1)
        most = np.max([around[y : y + high, x : x + wide] for y in range(3) for x in range(3)], axis=0) * grid
        farther = np.append(0, most)[most]  # the present name of the named cell
        if (farther == names).all():
            return names
        names = farther


def is_written(shape: Shape, text: Text) -> bool:
    """Whether a shape is a box of text: a note, a listing or a form."""
    words = sum(area(one.box) for one in text.inside(shape.box) if len(one.text) > 18)
    return words > 0.15 * area(shape.box)


def with_labels(box: Rect, text: Text, within: Rect, skip: set[Piece]) -> Rect:
    """The box with the small texts in and around it (axis labels, legends, titles), as far as they lie in `within`."""
    loose = [
        one
        for one in text.pieces
        if one not in text.prose
        and one not in skip
        and contains(within, one.box)
        and union((box, one.box)) != box
        and min(one.box[2] - one.box[0], one.box[3] - one.box[1]) < 3 * one.size  # no slanted text
    ]
    for _ in range(4):
        near = [one for one in loose if _is_label(one, box, text.body)]
        if not near:
            break
        box = union((box, *(one.box for one in near)))
        loose = [one for one in loose if one not in near]
    return box


def _is_label(piece: Piece, box: Rect, body: float) -> bool:
    """Whether a text is close beside a drawing, or is short and close above or below it."""
    if max(-shared_width(box, piece.box), -shared_height(box, piece.box)) > _LABEL_GAP:
        return False
    if shared_height(piece.box, box) > 0:
        return True
    inside = piece.box[0] > box[0] - 15 and piece.box[2] < box[2] + 15
    large = piece.size >= 0.95 * body
    short = len(piece.text) < 5 and any(char.isalnum() for char in piece.text)
    if large and piece.box[1] < box[1] and not short:
        return False  # a title, or the line of text before the drawing
    return inside and len(piece.text) <= (_LARGE_CHARS if large else _LABEL_CHARS)
