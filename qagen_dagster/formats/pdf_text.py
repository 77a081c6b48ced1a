"""The text of a PDF, page by page: rows joined to lines, pages recognised from pictures where that is needed and possible.

What belongs here: what goes into the text and the page map. What does not: geometry (`pdf_order.py`), titles and
headings (`pdf_meta.py`).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

import pymupdf

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.ocr import ocr_image, tesseract_available
from qagen_dagster.formats.pdf_lines import SCALE, Fragment, page_fragments
from qagen_dagster.formats.pdf_order import Row, rows_in_order
from qagen_dagster.records.document import Outcome, PageSpan

_OCR_PAGES = 50  # of one document
_OCR_SECONDS = 80.0  # of one document; a document's parser is given two minutes by default
_OCR_PAGE_SECONDS = 40.0
_OCR_PIXELS = 6_000_000
_OCR_DPI = 300
_PICTURE_SHARE = 0.1  # of a page that pictures cover at least, to be worth reading
_FILLING = re.compile(r"[\s.|…·_\-–—]+")
_DOTS = re.compile(r"[. …·]+")
_SAMPLE = 600  # characters of a page looked at to see whether its letters mean anything


class Line:
    """One line of the text: what it says and the fragments it is made of (none: a blank line, or recognised text)."""

    __slots__ = ("row", "text")

    def __init__(self, text: str, row: Row | None) -> None:
        self.text, self.row = text, row


@dataclass
class PdfText:
    """What reading all pages gave."""

    lines: list[Line] = field(default_factory=list[Line])
    pages: list[PageSpan] = field(default_factory=list[PageSpan])
    broken: list[int] = field(default_factory=list[int])  # pages, 1-based, as all below
    recognised: list[int] = field(default_factory=list[int])
    unreadable: list[int] = field(
        default_factory=list[int]
    )  # pictures or meaningless letters, not recognised
    ocr_note: str = ""


def read_pages(document: pymupdf.Document, options: ParseOptions) -> PdfText:
    """All pages in order. A broken page is empty and noted.

    Raises:
        DocumentError: `too_large` if the text exceeds its limit.
    """
    reader = _Reader(document, options)
    for number in range(document.page_count):
        reader.read(number)
    return reader.text


def page_lines(fragments: list[Fragment]) -> list[Line]:
    """The lines of one page in reading order, a blank one where the page leaves more than a line free."""
    lines: list[Line] = []
    before = 0
    height = 0
    for row in rows_in_order(fragments):
        first = row[0]
        if lines and first.y0 - before > height * 7 // 10 > 0:
            lines.append(Line("", None))
        lines.append(Line(first.text if len(row) == 1 else _joined(row), row))
        before, height = first.y1, first.y1 - first.y0
    return lines


def _joined(row: Row) -> str:
    """The fragments of a row; those clearly apart, like cells of a table, are parted by a bar."""
    wide = 10 if len(row) > 2 else 18  # tenths of the letter size
    parts = [row[0].text]
    last = row[0]
    for fragment in row[1:]:
        gap = max(fragment.x0 - last.x1, last.x0 - fragment.x1)
        if gap * 10 >= wide * last.size and not (
            _DOTS.fullmatch(fragment.text) or _DOTS.fullmatch(last.text)
        ):
            parts.append(" | ")
        elif gap * 8 > last.size:
            parts.append(" ")
        parts.append(fragment.text)
        last = fragment
    return "".join(parts)


class _Reader:
    """Reads page after page and keeps count of the limits."""

    def __init__(self, document: pymupdf.Document, options: ParseOptions) -> None:
        self.document, self.options = document, options
        self.text = PdfText()
        self.chars = 0
        self.ocr_ends = 0.0

    def read(self, number: int) -> None:
        lines: list[Line] = []
        try:
            lines = page_lines(page_fragments(self.document, number))
            if not lines or _meaningless(lines):
                lines = self._recognised(number, lines)
        except (DocumentError, MemoryError):
            raise
        except Exception:  # one page is one stage: whatever is wrong with it, the others go on
            self.text.broken.append(number + 1)
        self.chars += sum([len(line.text) for line in lines]) + len(lines)
        if self.chars > self.options.max_chars:
            raise DocumentError(Outcome.TOO_LARGE, f"more than {self.options.max_chars:,} characters of text")
        start = len(self.text.lines) + 1
        self.text.lines.extend(lines)
        self.text.pages.append(PageSpan(page=number + 1, start_line=start, end_line=len(self.text.lines)))

    def _recognised(self, number: int, lines: list[Line]) -> list[Line]:
        """The page's lines read from its picture, or `lines` if that cannot be done."""
        page = self.document[number]
        if not lines and not needs_recognition(page):
            return lines
        if not self.options.ocr or not tesseract_available():
            self.text.ocr_note = (
                "text recognition is switched off" if not self.options.ocr else "tesseract is not installed"
            )
        elif any(w * h > self.options.max_pixels for w, h in picture_sizes(page)):
            self.text.ocr_note = "a picture is too large"
        else:
            found = self._ocr(page)
            if found is not None:
                self.text.recognised.append(number + 1)
                return [Line(line, None) for line in found.split("\n")] if found else []
        self.text.unreadable.append(number + 1)
        return lines

    def _ocr(self, page: pymupdf.Page) -> str | None:
        now = time.monotonic()
        self.ocr_ends = self.ocr_ends or now + _OCR_SECONDS
        left = self.ocr_ends - now
        if len(self.text.recognised) >= _OCR_PAGES or left < 1:
            self.text.ocr_note = f"the limit is {_OCR_PAGES} pages or {_OCR_SECONDS:.0f} seconds a document"
            return None
        zoom = min(_OCR_DPI / 72, (_OCR_PIXELS / max(page.rect.width * page.rect.height, 1)) ** 0.5)
        picture = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False)
        try:
            found = ocr_image(
                picture.tobytes("png"), self.options.ocr_languages, seconds=min(left, _OCR_PAGE_SECONDS)
            )
        except DocumentError as error:
            self.text.ocr_note = error.detail
            return None
        if found is None:
            self.text.ocr_note = f"tesseract has none of the languages {self.options.ocr_languages}"
        return found


def needs_recognition(page: pymupdf.Page) -> bool:
    """Whether pictures cover enough of a page without text that there may be writing in them."""
    area = abs(page.rect.width * page.rect.height) or 1
    boxes = [
        pymupdf.Rect(info["bbox"]) & page.rect * page.derotation_matrix for info in page.get_image_info()
    ]
    return sum(abs(box.width * box.height) for box in boxes if not box.is_empty) > _PICTURE_SHARE * area


def picture_sizes(page: pymupdf.Page) -> list[tuple[int, int]]:
    """Width and height in pixels of the pictures a page shows."""
    return [(int(info["width"]), int(info["height"])) for info in page.get_image_info()]


def _meaningless(lines: list[Line]) -> bool:
    """Whether the letters stand for nothing, as when the file does not say what its glyphs mean."""
    first = "".join([line.text for line in lines[:24]])[:_SAMPLE]
    return _is_noise(first) and _is_noise("".join([line.text for line in lines]))


def _is_noise(text: str) -> bool:
    shown = _FILLING.sub("", text)
    return len(shown) > 80 and sum(map(str.isalnum, shown)) < 0.5 * len(shown)


def fragment_box(row: Row) -> tuple[float, float, float, float]:
    """The box of a row in points."""
    return (
        min(f.x0 for f in row) / SCALE,
        min(f.y0 for f in row) / SCALE,
        max(f.x1 for f in row) / SCALE,
        max(f.y1 for f in row) / SCALE,
    )


def has_marks(document: pymupdf.Document) -> bool:
    """Whether any of the first pages shows pictures or drawings."""
    return any(document[number].get_bboxlog() for number in range(min(document.page_count, 20)))
