"""Recognises the text of scanned pages of a PDF, within limits for each document."""

import io
import resource

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.ocr import ocr_image, tesseract_available
from qagen_dagster.formats.pdf.hidden import picture_shares
from qagen_dagster.formats.pdf.mupdf import Page

_PAGES = 50  # maximum pages of a document that are recognised
_SECONDS = 80.0  # of processor time, then no more pages are recognised; below the default limit of a parse
_PAGE_SECONDS = 40  # maximum processor time for one page
_PIXELS = 6_000_000  # maximum pixels of a page's picture; more pixels take time without better results
_DPI = 300  # the resolution that suits tesseract best
_PATHS = 50  # a page with at least this many painted paths may have letters drawn as paths
_PICTURE_SHARE = 0.1  # minimum share of the page that pictures cover


def worth_recognising(page: Page) -> bool:
    """Whether a page without text may show writing, because pictures cover much of it or letters may be drawn as paths."""
    return page.marks() >= _PATHS or sum(picture_shares(page)) > _PICTURE_SHARE


class Recogniser:
    """Recognises pages of one document until its limits are reached. `note` states why the last page without recognised text has none."""

    def __init__(self, options: ParseOptions) -> None:
        self._options = options
        self._done = 0
        self._spent = 0.0
        self.note = ""
        if not options.ocr:
            self.note = "text recognition is switched off"
        elif not tesseract_available():
            self.note = "tesseract is not installed"
        self._off = bool(self.note)

    def text_of(self, page: Page) -> str | None:
        """The recognised text of a page; None if the page could not be recognised."""
        if self._off:
            return None
        if self._done >= _PAGES or self._spent > _SECONDS:
            self.note = f"at most {_PAGES} pages or {_SECONDS:.0f} seconds of processor time a document"
            return None
        if any(one.width * one.height > self._options.max_pixels for one in page.pictures()):
            self.note = f"a picture exceeds {self._options.max_pixels:,} pixels"
            return None
        self._done += 1
        before = _processor_seconds()
        found = self._read(page)
        self._spent += _processor_seconds() - before
        return found

    def _read(self, page: Page) -> str | None:
        zoom = min(_DPI / 72, (_PIXELS / max(page.width * page.height, 1)) ** 0.5)
        size = max(1, int(page.width * zoom)), max(1, int(page.height * zoom))
        out = io.BytesIO()
        page.draw(page.box, *size, grey=True).save(out, "PNG", compress_level=1)
        try:
            found = ocr_image(out.getvalue(), self._options.ocr_languages, seconds=_PAGE_SECONDS)
        except DocumentError as error:
            self.note = error.detail
            return None
        if found is None:
            self.note = f"tesseract has none of the languages {self._options.ocr_languages}"
            self._off = True
        return found


def _processor_seconds() -> float:
    """Seconds of processor time that ended child processes used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
