"""The PDF format: text in reading order with its pages, visuals, and pages as pictures."""

from __future__ import annotations

from contextlib import suppress

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import (
    VERSIONS,
    PageImage,
    ParsedText,
    ParseOptions,
    RenderOptions,
    RowFailure,
    Source,
)
from qagen_dagster.formats.pdf.headings import headings_of
from qagen_dagster.formats.pdf.metadata import metadata_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.open import looks_like_pdf, opened
from qagen_dagster.formats.pdf.render import render_page
from qagen_dagster.formats.pdf.text import PdfText, counted, listed, read_pages
from qagen_dagster.formats.pdf.visuals.manifest import find_visuals
from qagen_dagster.records.document import Outcome, Visual

_MAX_SECTIONS = 3_000
_PAGES_LOOKED_AT = 20  # searched for marks, to tell an empty document from one of pictures


class PdfFormat:
    """PDF files, read with MuPDF."""

    name = "pdf"
    version = VERSIONS["pdf"]
    suffixes: tuple[str, ...] = (".pdf",)

    def sniff(self, head: bytes) -> bool:
        """Whether the signature stands within the first 1,024 bytes."""
        return looks_like_pdf(head)

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """One document. Its detail says what is missing: broken pages, pictures without recognised text."""
        with opened(source, options) as pdf:
            text = read_pages(pdf, options)
            count = len(text.pages)
            if len(text.broken) == count:
                raise DocumentError(Outcome.CORRUPT, "no page can be read")
            if not text.lines and not _is_marked(pdf):
                why = (
                    "what could be repaired of the file shows nothing"
                    if pdf.is_repaired
                    else "nothing is shown"
                )
                outcome = Outcome.CORRUPT if pdf.is_repaired else Outcome.EMPTY
                raise DocumentError(outcome, f"{why} on {counted(count)}")
            said = metadata_of(pdf, text)
            return [
                ParsedText(
                    text="\n".join(text.lines),
                    outcome=Outcome.PARSED if text.lines else Outcome.NO_TEXT,
                    detail=_detail(text),
                    page_count=count,
                    pages=tuple(text.pages),
                    sections=tuple(headings_of(pdf, text, said.title)[:_MAX_SECTIONS]),
                    metadata=said,
                    ocr=bool(text.recognised),
                )
            ]

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        """Tables, figures, pictures and drawings, in page order, with boxes in points as displayed."""
        with opened(source, options) as pdf:
            return find_visuals(pdf, options)

    def render(self, source: Source, page: int, options: ParseOptions, how: RenderOptions) -> PageImage:
        """A page or a crop of it, as a picture within the limits of `how`."""
        with opened(source, options) as pdf:
            return render_page(pdf, page, options, how)


def _is_marked(pdf: Pdf) -> bool:
    """Whether any of the first pages has pictures or drawings."""
    for number in range(min(pdf.count, _PAGES_LOOKED_AT)):
        with suppress(Exception):  # a broken page counts as blank
            if pdf.page(number).is_marked():
                return True
    return False


def _detail(text: PdfText) -> str:
    notes: list[str] = []
    if text.broken:
        notes.append(f"{counted(len(text.broken))} broken: {listed(text.broken)}")
    if text.recognised:
        notes.append(f"text of {counted(len(text.recognised))} recognised from pictures")
    if not text.lines and not text.unreadable:
        notes.append(f"no text on {counted(len(text.pages))}")
    if text.unreadable:
        what = f"{counted(len(text.unreadable))} of pictures, drawn or unknown letters without readable text"
        notes.append(f"{what} ({text.note}): {listed(text.unreadable)}")
    return "; ".join(notes)
