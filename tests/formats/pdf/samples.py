"""Small PDFs for tests, made by the library that also reads them."""

from __future__ import annotations

from collections.abc import Callable

import pymupdf

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.pdf.reader import PdfFormat

FORMAT = PdfFormat()
OPTIONS = ParseOptions(ocr=False)
WIDTH, HEIGHT = 595, 842

LEFT = [f"Left column line {n} goes on and on" for n in range(1, 11)]
RIGHT = [f"Right column line {n} goes on too" for n in range(1, 11)]

BODY = ["Most of what stands on a page is such a line of running text as this one here."] * 9

Draw = Callable[[pymupdf.Page], object]


def pdf(*pages: Draw | str, save: dict[str, object] | None = None, **properties: str) -> bytes:
    """A document: each page drawn by a function, or its lines given as text."""
    document = pymupdf.open()
    for draw in pages:
        page = document.new_page(width=WIDTH, height=HEIGHT)
        if isinstance(draw, str):
            write(page, draw.split("\n"))
        else:
            draw(page)
    if properties:
        document.set_metadata(properties)
    return document.tobytes(**(save or {}))


def write(page: pymupdf.Page, lines: list[str], x: float = 60, y: float = 80, size: float = 11) -> None:
    """Lines one below the other, the first with its foot at `y`."""
    for number, line in enumerate(lines):
        page.insert_text((x, y + number * size * 1.3), line, fontsize=size)


def columns(page: pymupdf.Page) -> None:
    """A heading over two columns, drawn one after the other, and a page number."""
    write(page, ["A heading that runs over the whole width of the page, both columns of it"], y=60)
    write(page, LEFT, x=60, y=100)
    write(page, RIGHT, x=320, y=100)
    write(page, ["17"], x=290, y=800)


def rule(page: pymupdf.Page, y: float, x0: float = 60, x1: float = 460) -> None:
    """A level ruling line."""
    page.draw_line((x0, y), (x1, y), width=0.6)


def put(page: pymupdf.Page, y: float, *cells: tuple[float, str], size: float = 9) -> None:
    """Texts beside each other, each with its left edge."""
    for x, text in cells:
        page.insert_text((x, y), text, fontsize=size)


def scan(page: pymupdf.Page) -> None:
    """A page that is one picture."""
    drawn = pymupdf.open()
    write(drawn.new_page(width=WIDTH, height=HEIGHT), ["HELLO SCANNED WORLD"], size=30)
    page.insert_image(page.rect, pixmap=drawn[0].get_pixmap(dpi=100))


def source(data: bytes, name: str = "folder/sample.pdf") -> Source:
    """The bytes as a file."""
    return Source(name, data)


def parse(data: bytes, options: ParseOptions = OPTIONS) -> ParsedText:
    """What the bytes say."""
    (found,) = FORMAT.parse(source(data), options)
    assert isinstance(found, ParsedText)
    return found


def lines(data: bytes, options: ParseOptions = OPTIONS) -> list[str]:
    """The lines that are not blank."""
    return [line for line in parse(data, options).text.split("\n") if line]


def about(words: str) -> list[str]:
    """Running text that repeats the words."""
    return [*BODY, *[f"Millers tell us all that they know about {words}."] * 6]


def title_page(*large: str, size: float = 20) -> Draw:
    """A page with large lines above running text that repeats their words."""

    def draw(drawn: pymupdf.Page) -> None:
        write(drawn, list(large), y=80, size=size)
        write(drawn, about(" ".join(large)), y=260)

    return draw


def title(*pages: Draw | str, toc: list[list[object]] | None = None, said: str = "") -> str | None:
    """The title that is read."""
    document = pymupdf.open("pdf", pdf(*pages, **({"title": said} if said else {})))
    if toc:
        document.set_toc(toc)
    return parse(document.tobytes()).metadata.title


def coded(*lines: tuple[str, str, bytes]) -> bytes:
    """A page of lines, each a text in Helvetica and then codes of a named font that says nothing of its characters."""
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_text((60, 40), "A page of codes", fontsize=11)
    streams = page.get_contents()
    fonts = [f"/helv {page.insert_font('helv')} 0 R"]
    for number, (text, name, codes) in enumerate(lines):
        font, stream = document.get_new_xref(), document.get_new_xref()
        document.update_object(font, f"<</Type/Font/Subtype/Type1/BaseFont/ABCDEF+{name}>>")
        fonts.append(f"/F{number} {font} 0 R")
        place = f"1 0 0 1 60 {HEIGHT - 80 - 20 * number} Tm"
        shown = f"BT {place} /helv 11 Tf ({text}) Tj /F{number} 11 Tf <{codes.hex()}> Tj /helv 11 Tf (0.5 m) Tj ET"
        document.update_object(stream, "<<>>")
        document.update_stream(stream, shown.encode())
        streams.append(stream)
    document.xref_set_key(page.xref, "Resources", f"<</Font<<{' '.join(fonts)}>>>>")
    document.xref_set_key(page.xref, "Contents", f"[{' '.join(f'{one} 0 R' for one in streams)}]")
    return document.tobytes()
