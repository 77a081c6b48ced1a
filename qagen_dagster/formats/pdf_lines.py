"""The text fragments of one PDF page, from the library's print of it, with repaired characters.

What belongs here: one page's fragments. What does not: their reading order (`pdf_order.py`).
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

_FRAGMENT = re.compile(
    r'\{"wmode":(\d),"bbox":\{"x":(-?\d+),"y":(-?\d+),"w":(-?\d+),"h":(-?\d+)[^}]*\},"font":\{.*?'
    r'"weight":"(\w*)".*?"size":(-?\d+)\},"x":(-?\d+),"y":(-?\d+),"text":"([^"\\]*(?:\\.[^"\\]*)*)"\}'
)
# The same characters twice: in UTF-8, which is fast to search a whole page for, and as text.
_ODD_BYTES = re.compile(
    rb"\xc2[\x80-\xa0\xad]|\xe1\x9a\x80|\xe2\x80[\x80-\x8b\xa8-\xaf]|\xe2\x81[\x9f\xa0\xa6-\xa9]|"
    rb"\xed[\xa0-\xbf]|\xef[\xac-\xb7\xb9-\xbb]"
)
_ODD = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u2066-\u2069"
    "\ufb00-\ufdff\ufe70-\ufeff\ud800-\udfff]"
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


@dataclass
class Fragments:
    """What a page's text is made of, in the order of drawing."""

    items: list[Fragment]
    turned: bool  # some may run in another direction than left to right or right to left
    ascii: bool


def fragments_of(printed: bytes) -> Fragments:
    """The fragments in MuPDF's JSON print of a page; those without a visible character are left out."""
    ascii = printed.isascii()
    plain = ascii or _ODD_BYTES.search(printed) is None
    items: list[Fragment] = []
    turned = False
    for mode, x, y, w, h, weight, size, origin_x, origin_y, text in _FRAGMENT.findall(
        printed.decode("utf-8", "replace")
    ):
        shown = (text if plain and "\\" not in text else clean(_unescaped(text))).strip()
        if shown:
            left, top, width, height, base = int(x), int(y), int(w), int(h), int(origin_y)
            turned = turned or (height > width and len(shown) > 1) or base + base < top + top + height
            items.append(
                Fragment(
                    left,
                    top,
                    left + width,
                    top + height,
                    int(size),
                    weight == "bold",
                    int(origin_x),
                    base,
                    mode == "1",
                    shown,
                )
            )
    return Fragments(items, turned, ascii)


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


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace("\\", "")


@cache
def _repairs() -> dict[int, str | None]:
    spaces = (
        0x09,
        0x0A,
        0x0B,
        0x0C,
        0x0D,
        0x85,
        0xA0,
        0x1680,
        *range(0x2000, 0x200B),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
    )
    marks = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # of writing direction
    removed = (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x200B, 0x2060, 0xFEFF, *marks)
    table: dict[int, str | None] = dict.fromkeys(removed)
    table.update(dict.fromkeys(spaces, " "))
    table.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    return table
