"""The text fragments of one PDF page as MuPDF finds them, with positions: the only place that reads text from MuPDF.

What belongs here: extraction and the repair of characters. What does not: reading order (`pdf_order.py`).

MuPDF's own JSON printer is used because it is written in C and gives each fragment's box, size and weight at the price
of plain text; building the same through Python objects costs two to three times as much.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from typing import Any, NamedTuple, cast

import pymupdf
from pymupdf import mupdf as _typeless

# The binding generated for MuPDF has no types; everything taken from it passes through here.
_mupdf = cast("Any", _typeless)

SCALE = 10  # coordinates are whole tenths of a point

_FRAGMENT = re.compile(
    r'\{"wmode":(\d),"bbox":\{"x":(-?\d+),"y":(-?\d+),"w":(-?\d+),"h":(-?\d+)[^}]*\},"font":\{.*?'
    r'"weight":"(\w*)".*?"size":(-?\d+)\},"x":(-?\d+),"y":(-?\d+),"text":"([^"\\]*(?:\\.[^"\\]*)*)"\}'
)
_ODD = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u2066-\u2069\ufb00-\ufefc\ufeff\ud800-\udfff]"
)
_PRESENTATION = re.compile("[\ufb00-\ufdfb\ufe70-\ufefc]+")


class Fragment(NamedTuple):
    """A run of text on one line, in tenths of a point on the page as displayed, origin top left."""

    x0: int
    y0: int
    x1: int
    y1: int
    size: int
    bold: bool
    origin_x: int
    origin_y: int
    vertical: bool  # set in columns, as Chinese and Japanese may be
    text: str


def page_fragments(document: pymupdf.Document, number: int) -> list[Fragment]:
    """The fragments of 0-based page `number`, in the order the page draws them, rotation applied.

    Raises whatever MuPDF raises on a broken page.
    """
    page = _mupdf.fz_load_page(document.this, number)
    structured = _mupdf.FzStextPage(_mupdf.fz_bound_page(page))
    device = _mupdf.fz_new_stext_device(structured, _options())
    _mupdf.fz_run_page(page, device, _mupdf.FzMatrix(), _mupdf.FzCookie())  # with annotations and form fields
    _mupdf.fz_close_device(device)
    buffer = _mupdf.fz_new_buffer(65_536)
    out = _mupdf.FzOutput(buffer)
    _mupdf.fz_print_stext_page_as_json(out, structured, SCALE)
    out.fz_close_output()
    printed = cast("bytes", _mupdf.fz_buffer_extract_copy(buffer)).decode("utf-8", "replace")
    return fragments_of(printed)


def fragments_of(printed: str) -> list[Fragment]:
    """The fragments in MuPDF's JSON print of a page; those without a visible character are left out."""
    found: list[Fragment] = []
    plain = not _needs_repair(printed)
    for mode, x, y, width, height, weight, size, origin_x, origin_y, text in _FRAGMENT.findall(printed):
        shown = (text if plain and "\\" not in text else clean(_unescaped(text))).strip()
        if shown:
            left, top = int(x), int(y)
            found.append(
                Fragment(
                    left,
                    top,
                    left + int(width),
                    top + int(height),
                    int(size),
                    weight == "bold",
                    int(origin_x),
                    int(origin_y),
                    mode == "1",
                    shown,
                )
            )
    return found


def clean(text: str) -> str:
    """Text without control characters, with ligatures and Arabic presentation forms as letters, plain spaces.

    A soft hyphen at the end is a visible hyphen, elsewhere it is nothing.
    """
    if not _ODD.search(text):
        return text
    if "\xad" in text:
        text = re.sub("\xad\\s*$", "-", text)
    text = _PRESENTATION.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return text.translate(_repairs())


def _needs_repair(printed: str) -> bool:
    return not printed.isascii() and _ODD.search(printed) is not None


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace("\\", "")


@cache
def _options() -> Any:
    flags = (
        pymupdf.TEXT_PRESERVE_WHITESPACE
        | pymupdf.TEXT_MEDIABOX_CLIP
        | pymupdf.TEXT_USE_CID_FOR_UNKNOWN_UNICODE
    )
    return _mupdf.FzStextOptions(flags)


@cache
def _repairs() -> dict[int, str | None]:
    spaces = (0x09, 0x0B, 0x0C, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F)
    removed = (
        *range(0x20),
        *range(0x7F, 0xA0),
        0xAD,
        0x200B,
        *range(0x202A, 0x202F),
        0x2060,
        *range(0x2066, 0x206A),
        0xFEFF,
    )
    table: dict[int, str | None] = dict.fromkeys(removed)
    table.update(dict.fromkeys(spaces, " "))
    table.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    return table
