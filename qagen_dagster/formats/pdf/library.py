"""The only module that talks to PyMuPDF: a PDF as typed values, in points on the page as displayed.

What belongs here: asking the library. What does not: deciding anything (the other `pdf_*.py` do). Page numbers are
0-based here. Methods raise whatever the library raises on a broken page.

Text comes from MuPDF's own JSON printer, which is written in C and gives each fragment's box, size and weight at the
price of plain text; the same through Python objects costs two to three times as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, cast

import pymupdf as _untyped_library
from PIL import Image
from pymupdf import extra as _untyped_extra
from pymupdf import mupdf as _untyped_binding

# Neither has complete types; everything taken from them is given one in this module.
_library = cast("Any", _untyped_library)
_mupdf = cast("Any", _untyped_binding)
_extra = cast("Any", _untyped_extra)

SCALE = 10  # text is printed in whole tenths of a point
_MAX_OUTLINE = 5_000  # entries; an outline may run in circles

Rect = tuple[float, float, float, float]


class Entry(NamedTuple):
    """One entry of the outline; `page` is -1 where it leads nowhere."""

    level: int
    title: str
    page: int


class Picture(NamedTuple):
    """A raster picture as a page shows it: where, and its own size in pixels."""

    box: Rect
    width: int
    height: int


class Drawing(NamedTuple):
    """A path of lines and curves. `filled` and `stroked` say how it is painted, `white` that it cannot be seen."""

    box: Rect
    items: int
    curved: bool
    white: bool


class Run(NamedTuple):
    """Letters of one line in one font; `raised` if they stand above the foot of the line's first letter."""

    text: str
    raised: bool


class Table(NamedTuple):
    """A table found by its ruling lines."""

    box: Rect
    rows: int
    columns: int
    filled: int  # cells with text


class Pdf:
    """An open document.

    Args:
        data: the file's bytes.

    Raises whatever the library raises on bytes that it cannot open.
    """

    def __init__(self, data: bytes) -> None:
        _library.TOOLS.mupdf_display_errors(False)
        _library.TOOLS.mupdf_display_warnings(False)
        _library.no_recommend_layout()  # else it prints an advertisement when tables are looked for
        self._document = _library.open(stream=data, filetype="pdf")

    def close(self) -> None:
        """Frees the library's memory."""
        self._document.close()

    @property
    def is_pdf(self) -> bool:
        """False if the library took the bytes for another format."""
        return bool(self._document.is_pdf)

    @property
    def is_repaired(self) -> bool:
        """Whether the file's structure was broken and had to be guessed."""
        return bool(self._document.is_repaired)

    @property
    def is_locked(self) -> bool:
        """Whether a password is needed and has not been given."""
        return bool(self._document.needs_pass)

    def unlock(self, password: str) -> bool:
        """Whether the password opens the document."""
        return bool(self._document.authenticate(password))

    @property
    def count(self) -> int:
        """Number of pages, as the file states it."""
        return int(self._document.page_count)

    def properties(self) -> dict[str, str]:
        """Title, author, creationDate, ... as the file states them, on one line each."""
        said = cast("dict[str, object]", self._document.metadata or {})
        return {key: " ".join(str(value).split()) for key, value in said.items() if value}

    def xmp(self) -> str:
        """The XML of the file's metadata, or nothing."""
        return str(self._document.get_xml_metadata() or "")

    def language(self) -> str:
        """The catalog's language tag, or nothing."""
        kind, value = self._document.xref_get_key(self._document.pdf_catalog(), "Lang")
        return str(value) if kind == "string" else ""

    def outline(self) -> Iterator[Entry]:
        """The outline's entries in reading order."""
        stack: list[tuple[int, Any]] = [(1, self._document.outline)]
        for _ in range(2 * _MAX_OUTLINE):
            if not stack:
                return
            level, entry = stack.pop()
            if entry is None or not entry.this.m_internal:
                continue
            stack.append((level, entry.next))
            stack.append((level + 1, entry.down))
            yield Entry(level, " ".join(str(entry.title or "").split()), int(entry.page))

    def print_text(self, number: int) -> bytes:
        """MuPDF's JSON print of a page's text, in tenths of a point, rotation applied; with form fields."""
        page = _mupdf.fz_load_page(self._document.this, number)
        # What Page.get_textpage() calls, without its undoing of the rotation; a tenth faster than the calls inside it.
        structured = _mupdf.FzStextPage(_extra.page_get_textpage(page, None, _text_flags(), _identity()))
        buffer = _mupdf.fz_new_buffer(32_768)
        out = _mupdf.FzOutput(buffer)
        _mupdf.fz_print_stext_page_as_json(out, structured, SCALE)
        out.fz_close_output()
        return cast("bytes", _mupdf.fz_buffer_extract_copy(buffer))

    def runs(self, number: int) -> list[list[Run]]:
        """The lines of a page as runs of letters; costs several times as much as the print."""
        said = self._document[number].get_text("dict", flags=_text_flags())
        return [
            [Run(str(span["text"]), bool(int(span["flags"]) & 1)) for span in line["spans"]]
            for block in cast("list[dict[str, Any]]", said["blocks"])
            for line in block.get("lines", ())
        ]

    def page(self, number: int) -> Page:
        """One page, for all but its text."""
        return Page(self._document[number])


class Page:
    """One page: what it shows besides text."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._turn = page.rotation_matrix
        box = page.rect
        self.width, self.height = float(box.width), float(box.height)

    @property
    def box(self) -> Rect:
        """The page as displayed, from (0, 0)."""
        return (0.0, 0.0, self.width, self.height)

    def is_marked(self) -> bool:
        """Whether anything at all is drawn on it."""
        return bool(self._page.get_bboxlog())

    def pictures(self) -> list[Picture]:
        """The raster pictures on the page; their pixels are not touched."""
        return [
            Picture(self._shown(info["bbox"]), int(info["width"]), int(info["height"]))
            for info in self._page.get_image_info()
        ]

    def marks(self) -> int:
        """How many paths are painted: a cheap count, to know beforehand what `drawings` would cost."""
        return sum(str(kind[0]).endswith("path") for kind in self._page.get_bboxlog())

    def drawings(self) -> list[Drawing]:
        """The paths on the page, in the order of painting."""
        found: list[Drawing] = []
        for path in self._page.get_cdrawings():
            fill = cast("tuple[float, ...] | None", path.get("fill"))
            stroke = cast("tuple[float, ...] | None", path.get("color"))
            items = cast("list[tuple[object, ...]]", path["items"])
            white = (fill is None or min(fill) > 0.97) and (stroke is None or min(stroke) > 0.97)
            curved = any(item[0] == "c" for item in items)
            found.append(Drawing(self._shown(path["rect"]), len(items), curved, white))
        return found

    def tables(self) -> list[Table]:
        """Tables with ruling lines. Slow on pages of many drawings: see `marks` first."""
        return [
            Table(self._shown(one.bbox), int(one.row_count), int(one.col_count), _cells(one.extract()))
            for one in self._page.find_tables(strategy="lines_strict").tables
        ]

    def draw(self, clip: Rect, width: int, height: int, *, grey: bool = False) -> Image.Image:
        """The part `clip` of the page as a picture of about `width` x `height` pixels."""
        box = _library.Rect(*clip)
        matrix = _library.Matrix(width / box.width, height / box.height)
        space = _library.csGRAY if grey else _library.csRGB
        drawn = self._page.get_pixmap(matrix=matrix, clip=box, colorspace=space, alpha=False)
        size = (int(drawn.width), int(drawn.height))
        return Image.frombytes("L" if grey else "RGB", size, cast("bytes", drawn.samples))

    def _shown(self, box: Any) -> Rect:
        turned = _library.Rect(box) * self._turn
        turned.normalize()
        return (float(turned.x0), float(turned.y0), float(turned.x1), float(turned.y1))


def _cells(rows: list[list[str | None]]) -> int:
    return sum(bool(cell and cell.strip()) for row in rows for cell in row)


@cache
def _text_flags() -> int:
    return int(
        _library.TEXT_PRESERVE_WHITESPACE
        | _library.TEXT_MEDIABOX_CLIP
        | _library.TEXT_USE_CID_FOR_UNKNOWN_UNICODE
    )


@cache
def _identity() -> Any:
    return _library.Matrix(1, 1)
