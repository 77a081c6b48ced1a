"""PDF files written object by object, so that any part of them can be wrong."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping

TEXT = b"BT /F1 12 Tf 60 700 Td (The mast is nine metres high.) Tj ET\n"
CATALOG, PAGES, PAGE, CONTENT, FONT = 1, 2, 3, 4, 5


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def flate(data: bytes, entries: bytes = b"") -> bytes:
    return stream(zlib.compress(data), b"/Filter /FlateDecode " + entries)


@functools.cache
def bomb(blocks: int, layers: int = 1) -> bytes:
    """Spaces, `blocks` times 10 MB, compressed once or again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b" " * 10_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = b"\x78\xda" + block * blocks
    for _ in range(layers - 1):
        packed = zlib.compress(packed, 9)
    return packed


def objects(
    content: bytes = TEXT, *, resources: bytes = b"", page: bytes = b"", catalog: bytes = b""
) -> dict[int, bytes]:
    """The objects of a document of one page. An entry of `page` that is there twice counts as the library decides."""
    box = b"" if b"/MediaBox" in page else b"/MediaBox [0 0 595 842]"
    fonts = b"/Font << /F1 5 0 R >>"
    return {
        CATALOG: b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
        PAGES: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        PAGE: b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R %s /Resources << %s %s >> %s >>"
        % (box, fonts, resources, page),
        CONTENT: stream(content),
        FONT: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }


def written(parts: Mapping[int, bytes], trailer: bytes = b"", start: int | None = None) -> bytes:
    """The file with a cross-reference table; `start` is a wrong place of the table."""
    out, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), dict[int, int]()
    for number, content in parts.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table, count = len(out), max(parts) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % count
    for number in range(1, count):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 00000 f \n"
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (count, trailer.replace(b"HERE", b"%d" % table))
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % (table if start is None else start))


def one_page(
    content: bytes = TEXT,
    extra: Mapping[int, bytes] | None = None,
    *,
    trailer: bytes = b"",
    start: int | None = None,
    resources: bytes = b"",
    page: bytes = b"",
    catalog: bytes = b"",
) -> bytes:
    """A document of one page; objects of `extra` replace or follow its own, which are 1 to 5."""
    parts = objects(content, resources=resources, page=page, catalog=catalog) | dict(extra or {})
    return written(parts, trailer, start)


def pages(count: int) -> bytes:
    """A document of so many pages, which share one content."""
    parts = objects()
    numbers = range(10, 10 + count)
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    tree = {PAGES: b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids)}
    return written(parts | tree | dict.fromkeys(numbers, parts[PAGE]))
