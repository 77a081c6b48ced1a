"""Reads a PDF into typed values. Positions are on the page as displayed, in points or tenths of a point. No other module uses PyMuPDF.

Page numbers are 0-based here. Methods raise any exception that the library raises on a broken page. Text comes from MuPDF's
JSON printer, which is written in C. Each fragment's box, size and weight add only a tenth to the cost of plain text. Python
objects with the same content (`JM_make_textpage_dict`) cost eight times as much.
"""

import os
import re
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, cast

import pymupdf as _untyped_library
from PIL import Image
from pymupdf import extra as _untyped_extra
from pymupdf import mupdf as _untyped_binding

# PyMuPDF does not have complete types, so this module gives a type to every value from it.
_library = cast("Any", _untyped_library)
_mupdf = cast("Any", _untyped_binding)
_extra = cast("Any", _untyped_extra)

_get = _mupdf.ll_pdf_dict_gets
_FONT_PAGES = 8  # sampled pages for the fonts of a document; reading all pages is slow
_TEXT = _library.TEXTFLAGS_TEXT & ~_library.TEXT_PRESERVE_LIGATURES
_IDENTITY = _library.Matrix(1, 1)
SCALE = 10  # text is printed in whole tenths of a point
_RULE = 2.6  # points; a thinner path counts as a line
_PAD = (2.5, 4.0)  # the least and most points that the library adds around thin strokes of scaled content
_BLOCK = re.compile(rb'<(?:vector|image) bbox="([^"]+)"(?: stroke="(.)" rectangle="(.)".* argb="(..)(.{6}))?')
_MAX_CONTENT = 60_000  # compressed bytes of a page; a page with more is a drawing without ruled tables
_SHOWS = re.compile(rb"/([^\s/]+)\s+Do\b")
_TRANSPARENT = 0.05  # maximum opacity of invisible letters
_MANY_PATHS = 1_500  # a page with more paths is a drawing without ruled tables or bars over text
_MAX_OUTLINE = 5_000  # entries; an outline may contain a cycle
_MAX_FIELDS = 1_000  # maximum form fields of a page that are read
_PICTURE_FILTERS = {"JBIG2Decode", "DCTDecode", "JPXDecode", "CCITTFaxDecode"}
CLIPPING = 64  # flag of letters that clip other painting
PAINTED = 16 | 32 | CLIPPING  # flags of letters that are filled, stroked or used for clipping
_HIDDEN = 1 << 1 | 1 << 5  # flags of form fields that are not shown

Rect = tuple[float, float, float, float]
# A painted area: how many lines of text precede it, its box in points, its grey (0 for pictures; None: no opaque rectangle).
Area = tuple[int, Rect, int | None]


def union(boxes: Iterable[Rect]) -> Rect:
    """The smallest box around all boxes. Raises ValueError if there are none."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return (min(x0), min(y0), max(x1), max(y1))


def intersection(a: Rect, b: Rect) -> Rect:
    """The intersection; its edges are reversed if the boxes do not meet."""
    return (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))


class Entry(NamedTuple):
    """One entry of the outline. `page` is -1 if the entry has no target."""

    level: int
    title: str
    page: int


class Picture(NamedTuple):
    """A raster picture on a page: its box, and its own size in pixels."""

    box: Rect
    width: int
    height: int


class Drawing(NamedTuple):
    """A path of lines and curves. `items` is their number. A `white` path is invisible on white paper."""

    box: Rect
    items: int
    curved: bool
    white: bool


class Painted(NamedTuple):
    """The paths and pictures around a page's text: the boxes of thin paths in tenths of a point, and the other areas."""

    rules: list[tuple[int, int, int, int]]
    areas: list[Area]


class Letter:
    """A letter of a page. Everything except its text is read only when needed, because reading takes time. Positions are in points."""

    def __init__(self, char: Any) -> None:
        self._char = char
        self.text = chr(char.c)

    @cached_property
    def box(self) -> Rect:
        """The letter's box."""
        upper, lower = (quad := self._char.quad).ul, quad.lr
        x0, y0, x1, y1 = upper.x, upper.y, lower.x, lower.y
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    @property
    def sides(self) -> tuple[float, float]:
        """The left end and the right end of the letter's upper edge."""
        start, end = (quad := self._char.quad).ul.x, quad.ur.x
        return min(start, end), max(start, end)

    @property
    def base(self) -> float:
        """The vertical position of the baseline."""
        return float(self._char.origin.y)


class CheckBox(NamedTuple):
    """A check box or radio button of a form; its box is in tenths of a point."""

    box: tuple[int, int, int, int]
    ticked: bool


class Pdf:
    """An open PDF. Opening raises any exception that the library raises on bytes that it cannot open."""

    def __init__(self, data: bytes) -> None:
        _library.TOOLS.mupdf_display_errors(False)
        _library.TOOLS.mupdf_display_warnings(False)
        _library.no_recommend_layout()  # otherwise the library prints an advertisement when it searches tables
        self._document = _library.open(stream=data, filetype="pdf")
        self.is_pdf = bool(self._document.is_pdf)  # the library also opens other formats
        self.is_locked = bool(self._document.needs_pass)
        self._paper = _Paper()

    def close(self) -> None:
        """Free the library's memory."""
        self._paper.close()
        self._document.close()

    @property
    def is_repaired(self) -> bool:
        """Whether the file's structure was broken and has been reconstructed."""
        return bool(self._document.is_repaired)

    def unlock(self, password: str) -> bool:
        """Unlock the document. Returns whether the password is right."""
        return bool(self._document.authenticate(password))

    @property
    def count(self) -> int:
        """Number of pages, as the file states it."""
        return int(self._document.page_count)

    def properties(self) -> dict[str, str]:
        """Title, author, creationDate, ... as the file states them, on one line each."""
        stated = cast("dict[str, object]", self._document.metadata or {})
        return {key: " ".join(str(value).split()) for key, value in stated.items() if value}

    def xmp(self) -> str:
        """The file's XMP metadata, or an empty string."""
        return str(self._document.get_xml_metadata() or "")

    def language(self) -> str:
        """The document's language tag, or an empty string."""
        kind, value = self._document.xref_get_key(self._document.pdf_catalog(), "Lang")
        return str(value) if kind == "string" else ""

    @cached_property
    def outline(self) -> list[Entry]:
        """The outline's entries in reading order. If the outline is broken, only the entries before the fault are returned."""
        found: list[Entry] = []
        with suppress(Exception):
            root = self._document.outline  # keeps the entries alive
            stack: list[tuple[int, Any]] = [(1, root.this.m_internal)] if root else []
            while stack and len(found) < _MAX_OUTLINE:
                level, entry = stack.pop()
                title = " ".join(str(entry.title or "").split())
                found.append(Entry(level, title, int(entry.page.page)))
                stack += [(at, one) for at, one in ((level, entry.next), (level + 1, entry.down)) if one]
        return found

    def print_text(self, number: int) -> "Printed":
        """The text of a page, including its form fields."""
        content = self._content(number)
        flags = _TEXT | (_library.TEXT_COLLECT_VECTORS if content.size <= _MAX_CONTENT else 0)
        # Page.get_textpage() calls this and then undoes the rotation; the direct call is a tenth faster.
        structured = _extra.page_get_textpage(content.page, None, flags, _IDENTITY)
        printed = Printed(number, content, structured, self._paper)
        if content.has_fields:
            printed.checkboxes = _checkboxes(content.page)
        return printed

    @cached_property
    def fonts(self) -> frozenset[str]:
        """The names of the fonts on a sample of pages that are spread over the document."""
        found: set[str] = set()
        for number in range(0, self.count, self.count // _FONT_PAGES + 1):
            with suppress(Exception):  # a broken page names no fonts
                found |= _Content(_mupdf.fz_load_page(self._document.this, number)).fonts()
        return frozenset(found)

    def page(self, number: int) -> "Page":
        """One page, for everything except its text."""
        self._content(number)
        return Page(self._document[number])

    def _content(self, number: int) -> "_Content":
        """The content of a page. Raises ValueError if the content is compressed as a picture, which can hide gigabytes in a small file."""
        content = _Content(_mupdf.fz_load_page(self._document.this, number))
        filters = [part for one in content.streams for part in _parts(_get(one, "Filter"))]
        if not _PICTURE_FILTERS.isdisjoint(map(_mupdf.ll_pdf_to_name, filters)):
            raise ValueError("the content of the page is a picture")
        return content


class _Content:
    """The streams of a page and of its form XObjects, and their resources. An annotation with an appearance counts as a field."""

    def __init__(self, page: Any) -> None:
        self.page = page
        pdf_page = _mupdf.ll_pdf_page_from_fz_page(page.m_internal)
        content = _parts(_get(pdf_page.obj, "Contents"))  # raises without a page; the next call would crash
        own = _mupdf.ll_pdf_page_resources(pdf_page)
        shown = _items(own, "XObject")
        self._pictures = {name: one for name, one in shown.items() if _get(one, "Width")}
        forms = [one for name, one in shown.items() if name not in self._pictures]
        self._resources = [own, *[_get(form, "Resources") for form in forms]]
        self.streams = [*content, *forms]
        self.has_fields = any(_get(note, "AP") for note in _parts(_get(pdf_page.obj, "Annots")))

    @property
    def size(self) -> int:
        """The compressed size in bytes."""
        return sum([int(_mupdf.ll_pdf_to_int(_get(one, "Length"))) for one in self.streams])

    @cached_property
    def commands(self) -> bytes:
        """The drawing commands of all streams that are neither broken nor huge."""
        return b"\n".join(map(_stream, self.streams))

    @property
    def may_be_unpainted(self) -> bool:
        """Whether the page may have text that is transparent or not painted. Many files state transparency that no command uses."""
        states = self._of_kind("ExtGState")
        stated = [(name, _mupdf.ll_pdf_to_real(ca)) for name, one in states if (ca := _get(one, "ca"))]
        clear = [b"/" + name.encode("utf-8", "replace") for name, ca in stated if ca <= _TRANSPARENT]
        is_known = self.is_whole and b"#" not in self.commands  # which escapes letters of a name
        used = [name for name in clear if not is_known or name in self.commands]
        modes = self.commands.split(b"Tr")[:-1]
        return bool(used) or any(mode.rstrip().rstrip(b"0.").endswith(b"3") for mode in modes)

    @property
    def is_whole(self) -> bool:
        """Whether `commands` has all commands that may write text: there are no fields and no nested forms, and the content is not huge."""
        inner = any(_items(resources, "XObject") for resources in self._resources[1:])
        return not (inner or self.has_fields or self.size > _MAX_CONTENT)

    @property
    def covers(self) -> bool:
        """Whether an opaque picture may be painted over text."""
        masks = ("SMask", "Mask", "ImageMask")
        bare = [name for name, one in self._pictures.items() if not any(_get(one, mask) for mask in masks)]
        opaque = {name.encode("utf-8", "replace") for name in bare}
        start = self.commands.find(b"ET") if opaque else -1
        shown = _SHOWS.findall(self.commands, start) if start >= 0 else []
        return any(name in opaque or b"#" in name for name in shown)

    def fonts(self) -> frozenset[str]:
        """The names of the fonts. To read them on every page would take a tenth of the time that the prints take."""
        return frozenset([_mupdf.ll_pdf_to_name(_get(font, "BaseFont")) for _, font in self._of_kind("Font")])

    def _of_kind(self, kind: str) -> list[tuple[str, Any]]:
        return [one for resources in self._resources for one in _items(resources, kind).items()]


class _Paper:
    """A file in memory, or else a temporary file without a name.

    The library's printers write to a file in one step, and to anything else byte by byte.
    """

    def __init__(self) -> None:
        if sys.platform == "linux":
            self._file = os.memfd_create("text")
        else:
            with tempfile.TemporaryFile() as file:
                self._file = os.dup(file.fileno())
        self._out = _mupdf.FzOutput(f"/dev/fd/{self._file}", 1)

    def print(self, printer: Any, structured: Any, *options: int) -> bytes:
        """The output of a printer for a page."""
        out = self._out.m_internal
        _mupdf.ll_fz_seek_output(out, 0, os.SEEK_SET)
        printer(out, structured, *options)
        _mupdf.ll_fz_flush_output(out)
        return os.pread(self._file, _mupdf.ll_fz_tell_output(out), 0)

    def close(self) -> None:
        """Free the memory."""
        self._out.fz_close_output()
        os.close(self._file)


class Printed:
    """The text of a page as MuPDF's printers show it, and the paths that the library meets while it reads the text.

    The JSON print shows that there are paths, but only the XML print shows their places. Both come from one pass, since a second pass
    would cost as much as the first. `checkboxes` holds the check boxes of the page's form.
    """

    checkboxes: Sequence[CheckBox] = ()

    def __init__(self, number: int, content: _Content, structured: Any, paper: _Paper) -> None:
        self.number, self.content, self._structured, self._paper = number, content, structured, paper

    @cached_property
    def json(self) -> bytes:
        """The text in blocks, lines and fonts. Positions are in tenths of a point, with rotation applied."""
        return self._paper.print(_mupdf.ll_fz_print_stext_page_as_json, self._structured, SCALE)

    def __del__(self) -> None:
        """Free the library's memory."""
        _mupdf.ll_fz_drop_stext_page(self._structured)

    @cached_property
    def html(self) -> list[str]:
        """The page's lines as HTML, with the font, size and colour of their letters. Raised letters are marked."""
        printed = self._paper.print(_mupdf.ll_fz_print_stext_page_as_html, self._structured, 0)
        return printed.decode("utf-8", "replace").split("<p style=")[1:]

    @cached_property
    def _lines(self) -> list[Any]:
        blocks = _chain(self._structured.first_block)
        texts = [_mupdf.FzStextBlock(one) for one in blocks if one.type == _mupdf.FZ_STEXT_BLOCK_TEXT]
        return [line for block in texts for line in _chain(next(iter(block)).m_internal)]

    def letters(self, which: Iterable[int]) -> dict[int, list[Letter]]:
        """The letters of the lines in `which`, by line number."""
        return {n: list(map(Letter, _chain(self._lines[n].first_char))) for n in which}

    def inks(self, number: int) -> list[tuple[int, int]]:
        """For each letter of a line, the colour with its opacity as ARGB, and flags for the way in which it is painted."""
        return [(int(char.argb), int(char.flags)) for char in _chain(self._lines[number].first_char)]

    def is_unpainted(self) -> bool:
        """Whether no line begins or ends with a painted letter, as in text that a program recognised in a picture."""
        ends = [char for line in self._lines for char in (line.first_char, line.last_char)]
        return not any(char.flags & PAINTED for char in ends)

    @cached_property
    def paths(self) -> Painted:
        """The thin paths and the areas; none for a page with more than `_MANY_PATHS` paths."""
        return self._painted() if 0 < self.json.count(b'"type":"vector"') <= _MANY_PATHS else Painted([], [])

    def pictures(self) -> list[Area]:
        """The areas of the pictures. They are read in a pass of their own, because pictures break lines of text."""
        flags = _TEXT | _library.TEXT_PRESERVE_IMAGES
        structured = _extra.page_get_textpage(self.content.page, None, flags, _IDENTITY)
        return Printed(self.number, self.content, structured, self._paper)._painted().areas

    def _painted(self) -> Painted:
        printed = self._paper.print(_mupdf.ll_fz_print_stext_page_as_xml_with_flags, self._structured, 0, 0)
        blocks = list(_BLOCK.finditer(printed))
        stated = b" ".join([block[1] for block in blocks]).split()
        sides = iter(array("f", map(float, stated)))  # single precision, as in the library
        found, lines, at = Painted([], []), 0, 0
        for block in blocks:
            _, stroke, *style, colour = block.groups()
            x0, y0, x1, y1 = islice(sides, 4)
            pad = min(x1 - x0, y1 - y0) / 2
            if stroke == b"1" and _PAD[0] < pad <= _PAD[1] and max(x1 - x0, y1 - y0) > 4 * pad:
                x0, y0, x1, y1, pad = x0 + pad, y0 + pad, x1 - pad, y1 - pad, 0.0
            if stroke and 2 * pad <= _RULE:
                found.rules.append((int(x0 * SCALE), int(y0 * SCALE), int(x1 * SCALE), int(y1 * SCALE)))
                continue
            lines += printed.count(b"<line ", at, at := block.start())
            red, green, blue = bytes.fromhex(colour.decode()) if stroke else (0, 0, 0)
            covers = not stroke or (stroke, *style) == (b"0", b"1", b"ff")
            grey = (3 * red + 6 * green + blue) // 10 if covers else None
            found.areas.append((lines, (x0, y0, x1, y1), grey))
        return found


class Page:
    """The content of one page besides text."""

    def __init__(self, page: Any) -> None:
        self._page, self._list = page, None
        self._turn = page.rotation_matrix
        self.width, self.height = float(page.rect.width), float(page.rect.height)
        self.box: Rect = (0.0, 0.0, self.width, self.height)  # as displayed

    def is_marked(self) -> bool:
        """Whether anything is drawn on the page."""
        return bool(self._page.get_bboxlog())

    def pictures(self) -> list[Picture]:
        """The raster pictures on the page; their pixels are not decoded."""
        infos = self._page.get_image_info()
        return [Picture(self._shown(one["bbox"]), int(one["width"]), int(one["height"])) for one in infos]

    def marks(self) -> int:
        """Number of painted paths: a cheap estimate of the cost of `drawings`."""
        return sum(str(kind[0]).endswith("path") for kind in self._page.get_bboxlog())

    def drawings(self) -> list[Drawing]:
        """The paths on the page, in painting order, without the parts that clipping hides."""
        found: list[Drawing] = []
        shown: list[Rect] = []  # the visible area at each level of nested clipping
        for path in self._page.get_cdrawings(extended=True):
            level = int(path["level"])
            clip = shown[min(level, len(shown)) - 1] if level and shown else (-1e9, -1e9, 1e9, 1e9)
            if path["type"] in ("clip", "group"):
                shown[level:] = [intersection(clip, path["scissor"]) if path["type"] == "clip" else clip]
                continue
            box = intersection(clip, path["rect"])
            if box[0] > box[2] or box[1] > box[3]:
                continue
            fill = cast("tuple[float, ...] | None", path.get("fill"))
            stroke = cast("tuple[float, ...] | None", path.get("color"))
            items = cast("list[tuple[object, ...]]", path["items"])
            white = (fill is None or min(fill) > 0.97) and (stroke is None or min(stroke) > 0.97)
            found.append(Drawing(self._shown(box), len(items), any(item[0] == "c" for item in items), white))
        return found

    def draw(self, clip: Rect, width: int, height: int, *, grey: bool = False) -> Image.Image:
        """The part `clip` of the page as a picture of about `width` x `height` pixels."""
        box = _library.Rect(*clip)
        matrix = _library.Matrix(width / box.width, height / box.height)
        space = _library.csGRAY if grey else _library.csRGB
        self._list = self._list or self._page.get_displaylist()
        drawn = self._list.get_pixmap(matrix=matrix, clip=box, colorspace=space, alpha=False)
        size, mode = (int(drawn.width), int(drawn.height)), "L" if grey else "RGB"
        return Image.frombytes(mode, size, cast("bytes", drawn.samples))

    def _shown(self, box: Any) -> Rect:
        turned = _library.Rect(box) * self._turn
        turned.normalize()
        return (float(turned.x0), float(turned.y0), float(turned.x1), float(turned.y1))


def _checkboxes(page: Any) -> list[CheckBox]:
    """The check boxes and radio buttons that a page shows."""
    found: list[CheckBox] = []
    field = _mupdf.pdf_first_widget(_mupdf.pdf_page_from_fz_page(page))
    kinds = (_mupdf.PDF_WIDGET_TYPE_CHECKBOX, _mupdf.PDF_WIDGET_TYPE_RADIOBUTTON)
    for _ in range(_MAX_FIELDS):
        if not field.m_internal:
            break
        if _mupdf.pdf_widget_type(field) in kinds and not _mupdf.pdf_annot_flags(field) & _HIDDEN:
            box = _mupdf.pdf_bound_widget(field)
            state = _mupdf.pdf_annot_obj(field).pdf_dict_get(_mupdf.PDF_ENUM_NAME_AS).pdf_to_name()
            sides = (int(box.x0 * SCALE), int(box.y0 * SCALE), int(box.x1 * SCALE), int(box.y1 * SCALE))
            found.append(CheckBox(sides, state not in ("", "Off")))
        field = _mupdf.pdf_next_widget(field)
    return found


def _chain(item: Any) -> Iterator[Any]:
    while item:
        yield item
        item = item.next


def _parts(value: Any) -> list[Any]:
    """The values of an array, or the value itself if it is no array."""
    return [_mupdf.ll_pdf_array_get(value, n) for n in range(_mupdf.ll_pdf_array_len(value))] or [value]


def _stream(holder: Any) -> bytes:
    """The bytes of a stream; empty if the stream is broken or huge."""
    with suppress(Exception):
        if _mupdf.ll_pdf_to_int(_get(holder, "Length")) <= _MAX_CONTENT:
            buffer = _mupdf.ll_pdf_load_stream(holder)
            found = bytes(_mupdf.ll_fz_buffer_to_bytes_internal(buffer, 0))
            _mupdf.ll_fz_drop_buffer(buffer)
            return found
    return b""


def _items(holder: Any, name: str) -> dict[str, Any]:
    """The entries of the dictionary that `holder` has under `name`."""
    held = _get(holder, name)
    key, value = _mupdf.ll_pdf_dict_get_key, _mupdf.ll_pdf_dict_get_val
    return {_mupdf.ll_pdf_to_name(key(held, n)): value(held, n) for n in range(_mupdf.ll_pdf_dict_len(held))}
