"""The PDF format. Opens a file within limits, reads its text and visuals, and draws its pages. A DocumentError states each fault."""

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats import base
from qagen_dagster.formats.decoding import is_pdf
from qagen_dagster.formats.image import encode, fit_size, framed
from qagen_dagster.formats.jats.inline import read_tree
from qagen_dagster.formats.pdf.headings import headings_of
from qagen_dagster.formats.pdf.metadata import metadata_of
from qagen_dagster.formats.pdf.mupdf import Page, Pdf, Rect
from qagen_dagster.formats.pdf.text import PdfText, counted, listed, read_pages
from qagen_dagster.formats.pdf.visuals import find_visuals
from qagen_dagster.formats.rights import rights_in
from qagen_dagster.records.document import Box, Outcome, Rights, Visual

_END, _TAIL = b"%%EOF", 4_096  # the end mark, and how many last bytes may hold it, since junk may follow
_USUAL_ZOOM = 300 / 72  # 300 dpi; a higher zoom adds nothing to ordinary print
_CROP_ZOOM = 600 / 72  # maximum zoom of a small crop
_CROP_SIDE = 900  # target length in pixels of a small crop's longer side
_WAITING = re.compile(r"Please wait\W.{0,300}(?:PDF (?:viewer|reader)|Adobe Reader)", re.DOTALL)
_WAITING_PAGES, _WAITING_LINES = 2, 12  # of a file that only asks to wait: maximum pages; lines searched
_MAX_SECTIONS = 3_000
_MAX_XMP = 1_000_000  # characters
_PAGES_LOOKED_AT = 20  # number of pages searched for anything drawn, to tell empty from scanned documents


@contextmanager
def opened(source: base.Source, options: base.ParseOptions) -> Generator[Pdf]:
    """A context with the document, unlocked and checked against the limits. The document is closed at the end.

    Raises:
        DocumentError: `empty`, `too_large`, `not_what_it_says`, `corrupt` or `encrypted`.
    """
    data = source.data
    if not data:
        raise DocumentError(Outcome.EMPTY, "the file has no bytes")
    if len(data) > options.max_bytes:
        raise DocumentError(Outcome.TOO_LARGE, f"{len(data):,} bytes; the limit is {options.max_bytes:,}")
    if not is_pdf(data):
        raise DocumentError(Outcome.NOT_WHAT_IT_SAYS, "there is no PDF signature in the file")
    with _as_corrupt("the file cannot be opened as PDF"):
        pdf = Pdf(data)
    try:
        _unlock(pdf, source.name, options.passwords)
        _check(pdf, options)
        if pdf.is_repaired and _END not in data[-_TAIL:]:
            raise DocumentError(Outcome.CORRUPT, f"the file is cut off: {len(data):,} bytes without an end")
        yield pdf
    finally:
        pdf.close()


def _unlock(pdf: Pdf, name: str, passwords: dict[str, str]) -> None:
    if not pdf.is_locked:
        return
    keys = (name, name.rsplit("/", 1)[-1], "*")
    password = next((passwords[key] for key in keys if key in passwords), None)
    if password is None:
        raise DocumentError(Outcome.ENCRYPTED, "a password is needed and none is configured for this file")
    with _as_corrupt("the encryption is broken"):
        fits = pdf.unlock(password)
    if not fits:
        raise DocumentError(Outcome.ENCRYPTED, "the configured password does not open the file")


def _check(pdf: Pdf, options: base.ParseOptions) -> None:
    if not pdf.is_pdf:
        raise DocumentError(Outcome.NOT_WHAT_IT_SAYS, "the content is not PDF")
    with _as_corrupt("the list of pages is broken"):
        count = pdf.count
    if count < 1:
        raise DocumentError(Outcome.EMPTY, "the document has no pages")
    if count > options.max_pages:
        raise DocumentError(Outcome.TOO_LARGE, f"{count:,} pages; the limit is {options.max_pages:,}")


@contextmanager
def _as_corrupt(detail: str) -> Generator[None]:
    """Raise the library's errors as DocumentError `corrupt`. The library raises many kinds of errors, some because of its own bugs."""
    try:
        yield
    except (DocumentError, MemoryError):
        raise
    except Exception as error:
        raise DocumentError(Outcome.CORRUPT, f"{detail} ({_short(error)})") from error


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 and "proxy of" not in text else type(error).__name__


def render_page(pdf: Pdf, number: int, options: base.ParseOptions, how: base.RenderOptions) -> base.PageImage:
    """Page `number` (1-based) as displayed, or the part of it that `how.crop` names.

    Raises:
        DocumentError: `unsupported` (no such page, an empty crop), `too_large` (a picture on the page exceeds
            `max_pixels`), `corrupt` (the page cannot be drawn).
    """
    if not 1 <= number <= pdf.count:
        pages = "page 1 only" if pdf.count == 1 else f"pages 1 to {pdf.count}"
        raise DocumentError(Outcome.UNSUPPORTED, f"there is no page {number}: the document has {pages}")
    try:
        page = pdf.page(number - 1)
        clip = _clip(page, how.crop)
        _check_pictures(page, options)
        wide, high = clip[2] - clip[0], clip[3] - clip[1]
        zoom = min(max(_USUAL_ZOOM, _CROP_SIDE / max(wide, high)), _CROP_ZOOM)
        # The library rounds the clip outwards to whole pixels; `encode` scales the extra pixel away.
        picture = page.draw(clip, *fit_size(wide * zoom, high * zoom, how))
        return encode(framed(picture, how.frame, picture.width / wide) if how.frame else picture, how)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # the library raises many kinds of errors
        raise DocumentError(Outcome.CORRUPT, f"page {number} cannot be drawn") from error


def _clip(page: Page, crop: Box | None) -> Rect:
    if not (0 < page.width < 1e6 and 0 < page.height < 1e6):
        raise DocumentError(Outcome.CORRUPT, "the page has no usable size")
    if crop is None:
        return page.box
    clip = (max(crop.x0, 0), max(crop.y0, 0), min(crop.x1, page.width), min(crop.y1, page.height))
    if clip[2] - clip[0] < 0.5 or clip[3] - clip[1] < 0.5:
        size = f"{page.width:.0f} x {page.height:.0f} points"
        raise DocumentError(Outcome.UNSUPPORTED, f"the crop shows nothing of the page, which is {size}")
    return clip


def _check_pictures(page: Page, options: base.ParseOptions) -> None:
    for picture in page.pictures():
        if picture.width * picture.height > options.max_pixels:
            size = f"{picture.width:,} x {picture.height:,} pixels"
            limit = f"the limit is {options.max_pixels:,} pixels"
            raise DocumentError(Outcome.TOO_LARGE, f"the page holds a picture of {size}; {limit}")


class PdfFormat(base.Format):
    """PDF files, read with MuPDF."""

    name = "pdf"
    version = base.VERSIONS["pdf"]
    suffixes: tuple[str, ...] = (".pdf",)

    def sniff(self, head: bytes) -> bool:
        """Whether the signature is within the first 1,024 bytes."""
        return is_pdf(head)

    def parse(
        self, source: base.Source, options: base.ParseOptions
    ) -> list[base.ParsedText | base.RowFailure]:
        """One item with the text. Its `detail` names pages that are broken, garbled, without text, or recognised from pictures."""
        with opened(source, options) as pdf:
            text = read_pages(pdf, options)
            count = len(text.pages)
            if len(text.broken) == count:
                raise DocumentError(Outcome.CORRUPT, "no page can be read")
            if _is_garbled(text):
                raise DocumentError(Outcome.GARBLED, _detail(text))
            if not text.lines and not _is_marked(pdf):
                outcome, why = Outcome.EMPTY, "nothing is shown"
                if pdf.is_repaired:
                    outcome, why = Outcome.CORRUPT, "what could be repaired of the file shows nothing"
                raise DocumentError(outcome, f"{why} on {counted(count)}")
            metadata = metadata_of(pdf, text)
            return [
                base.ParsedText(
                    text="\n".join(text.lines),
                    outcome=Outcome.PARSED if text.lines else Outcome.NO_TEXT,
                    detail=_detail(text),
                    page_count=count,
                    pages=tuple(text.pages),
                    sections=tuple(headings_of(pdf, text, metadata.title)[:_MAX_SECTIONS]),
                    metadata=metadata,
                    ocr=bool(text.recognised),
                )
            ]

    def visuals(self, source: base.Source, row: str | None, options: base.ParseOptions) -> tuple[Visual, ...]:
        """Tables, figures, pictures, drawings and scanned pages, in page order. Boxes are in points on the page as displayed."""
        with opened(source, options) as pdf:
            return find_visuals(pdf, options)

    def rights(self, source: base.Source, options: base.ParseOptions) -> dict[str | None, Rights]:
        """The rights that the XMP metadata state. Raises DocumentError, including for a file without XMP metadata."""
        with opened(source, options) as pdf:
            return {None: rights_in(read_tree(pdf.xmp()[:_MAX_XMP].encode())[0])}

    def render(
        self, source: base.Source, page: int, options: base.ParseOptions, how: base.RenderOptions
    ) -> base.PageImage:
        """A picture of the 1-based page `page`, or of the part of it that `how.crop` names. Raises DocumentError."""
        with opened(source, options) as pdf:
            return render_page(pdf, page, options, how)


def _is_garbled(text: PdfText) -> bool:
    """Whether at least half of the pages with text are garbled. If the text only asks to wait for a form, page 1 is recorded as garbled."""
    written = sum(page.end_line >= page.start_line for page in text.pages) + len(text.garbled)
    if len(text.pages) <= _WAITING_PAGES and _WAITING.match(" ".join(text.lines[:_WAITING_LINES])):
        text.garbled = [1]
    return 0 < written <= 2 * len(text.garbled)


def _is_marked(pdf: Pdf) -> bool:
    """Whether anything is drawn on any of the first pages."""
    for number in range(min(pdf.count, _PAGES_LOOKED_AT)):
        with suppress(Exception):  # a broken page counts as blank
            if pdf.page(number).is_marked():
                return True
    return False


def _detail(text: PdfText) -> str:
    """A note on each kind of page whose text is missing, incomplete or recognised, with the numbers of the pages."""
    silent = [] if text.lines or text.unreadable or text.garbled else [page.page for page in text.pages]
    notes = [
        (text.broken, "{} broken: {}"),
        (text.hidden, "text that nobody sees or that is struck out left out on {}: {}"),
        (text.recognised, "text of {} recognised from pictures"),
        (silent, "no text on {}"),
        (text.garbled, "the text of {} is not what the page shows ({note}): {}"),
        (text.unreadable, "{} of pictures or drawn letters without readable text ({note}): {}"),
    ]
    note = text.note or "a form that this reader cannot load"
    return "; ".join(form.format(counted(len(some)), listed(some), note=note) for some, form in notes if some)
