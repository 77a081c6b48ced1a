"""A typed sheet of paper over PyMuPDF: text, lines, boxes, polygons, dots and pictures at given points.

The only module of the sample corpora that draws through PyMuPDF, whose calls carry no types. Coordinates and sizes are
points (1/72 inch) from the upper left corner. Layout belongs to `typeset.py`, charts to `drawing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pymupdf

Color = tuple[float, float, float]
Point = tuple[float, float]
BLACK: Color = (0.1, 0.1, 0.1)
MUPDF: Any = pymupdf
FONT_CODES = {
    "serif": "tiro",
    "serif-bold": "tibo",
    "serif-italic": "tiit",
    "sans": "helv",
    "sans-bold": "hebo",
}
FONTS = {name: MUPDF.Font(code) for name, code in FONT_CODES.items()}


def text_width(text: str, font: str, size: float) -> float:
    """Width of `text` in points."""
    return float(FONTS[font].text_length(text, size))


@dataclass(frozen=True)
class Area:
    """A rectangle by its left, top, right and bottom edges."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Distance from the left to the right edge."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Distance from the top to the bottom edge."""
        return self.y1 - self.y0

    @property
    def middle(self) -> Point:
        """The centre."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2


class Sheet:
    """One page being drawn on."""

    def __init__(self, page: Any) -> None:
        """Wraps a PyMuPDF page."""
        self._page = page
        self._writer = MUPDF.TextWriter(page.rect)

    def text(
        self, point: Point, text: str, font: str = "sans", size: float = 7.5, anchor: float = 0.0
    ) -> None:
        """Text on a baseline; `anchor` 0 begins it at the point, 0.5 centres it, 1 ends it there."""
        x = point[0] - anchor * text_width(text, font, size)
        self._writer.append((x, point[1]), text, font=FONTS[font], fontsize=size)

    def upright(self, point: Point, text: str, size: float = 7.5) -> None:
        """Text that reads upward, its middle at the point."""
        start = (point[0], point[1] + text_width(text, "sans", size) / 2)
        writer = MUPDF.TextWriter(self._page.rect)
        writer.append(start, text, font=FONTS["sans"], fontsize=size)
        writer.write_text(self._page, morph=(MUPDF.Point(start), MUPDF.Matrix(90)))

    def line(self, start: Point, end: Point, color: Color = BLACK, width: float = 0.8) -> None:
        """A straight line."""
        self._page.draw_line(start, end, color=color, width=width)

    def path(self, points: Sequence[Point], color: Color = BLACK, width: float = 1.4) -> None:
        """An open line through the points."""
        self._page.draw_polyline(list(points), color=color, width=width)

    def polygon(self, points: Sequence[Point], color: Color = BLACK, fill: Color | None = None) -> None:
        """A closed shape."""
        self._page.draw_polyline(list(points), color=color, fill=fill, closePath=True, width=0.6)

    def box(self, area: Area, color: Color = BLACK, fill: Color | None = None, width: float = 0.6) -> None:
        """A rectangle."""
        self._page.draw_rect((area.x0, area.y0, area.x1, area.y1), color=color, fill=fill, width=width)

    def dot(self, point: Point, radius: float = 2.2, color: Color = BLACK) -> None:
        """A filled circle."""
        self._page.draw_circle(point, radius, color=color, fill=color)

    def picture(self, area: Area, data: bytes) -> None:
        """A PNG or JPEG, fitted into the area without distortion."""
        self._page.insert_image((area.x0, area.y0, area.x1, area.y1), stream=data)

    def close(self) -> None:
        """Puts the text collected so far on the page; call once, when nothing more will be drawn."""
        self._writer.write_text(self._page)


class Paper:
    """A PDF document in the making."""

    def __init__(self, width: float, height: float) -> None:
        """Starts an empty document of pages of this size."""
        self._document = MUPDF.open()
        self._size = (width, height)
        self._sheets: list[Sheet] = []

    @property
    def pages(self) -> int:
        """Pages so far."""
        return len(self._sheets)

    def sheet(self) -> Sheet:
        """A new page at the end; the one before it can no longer be drawn on."""
        self._close_last()
        self._sheets.append(Sheet(self._document.new_page(width=self._size[0], height=self._size[1])))
        return self._sheets[-1]

    def _close_last(self) -> None:
        """PyMuPDF forgets a page once another is added, so its text must be on it before that."""
        if self._sheets:
            self._sheets[-1].close()

    def save(self, title: str, author: str, date: str) -> bytes:
        """The PDF; `date` (YYYYMMDD) is its creation date, so that equal text gives equal bytes."""
        self._close_last()
        stamp = f"D:{date}090000Z"
        dates = {"creationDate": stamp, "modDate": stamp}
        self._document.set_metadata({"title": title, "author": author, **dates})
        self._document.subset_fonts()
        return bytes(self._document.tobytes(garbage=4, deflate=True, no_new_id=True))


def render(document: bytes, dots_per_inch: int) -> bytes:
    """The first page of a PDF as PNG."""
    page = MUPDF.open(stream=document, filetype="pdf")[0]
    return bytes(page.get_pixmap(dpi=dots_per_inch).tobytes("png"))
