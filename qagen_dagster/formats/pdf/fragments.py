"""The text fragments of one PDF page, read from the library's print, with repaired characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress, count, pairwise, repeat
from operator import add, gt, mul
from typing import NamedTuple

from msgspec import Struct
from msgspec.json import Decoder

_TALL = 16  # tenths of the letter size from which a fragment may run up or down
_COMMON = bytes(range(0x20, 0x7F))  # characters that need no repair
_ODD = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\xa0\xa8\xad\xb4\xb8\u02dc\u0590-\u08ff\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u2066-\u2069"
    "\ufb00-\ufdff\ufe70-\ufeff\ud800-\uf8ff]"
)
_BULLET = re.compile("^[\ue000-\uf8ff](?=\\s|$)", re.MULTILINE)
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
# Accents that TeX prints as signs of their own before a letter; a tilde only within a word, elsewhere it may be part of an address.
_ACCENT = re.compile("([\xa8\xb4\xb8])([ACEIOUaceiou\u0131])|(?<=[^\\W\\d_])(\u02dc)([nao])")
_COMBINING = {"\xa8": "\u0308", "\xb4": "\u0301", "\xb8": "\u0327", "\u02dc": "\u0303"}
_LIGATURE = re.compile("[\x1b-\x1f](?:(?=[a-z])|(?<=[a-zA-Z].))")
_LIGATURES = dict(
    zip("\x1b\x1c\x1d\x1e\x1f", ("ff", "fi", "fl", "ffi", "ffl"), strict=True)
)  # of TeX's fonts
# Bold fonts of TeX, such as CMBX12 and SFBX1440. Not all files say that they are bold.
_BOLD_OF_TEX = re.compile("[A-Z]{2,4}BX(?:SL|TI)?\\d")
_MOST_FONTS = 4_096  # that are remembered; then all are forgotten
_SAMPLE = 1_000  # characters of a page that decide its direction
_PRESENTATION = re.compile("[\ufb00-\ufdfb\ufe70-\ufefc]+")


class Font(NamedTuple):
    """The font of a line's first letter; `size` is in tenths of a point, 0 if unknown."""

    size: int = 0
    bold: bool = False
    name: str = ""  # without the mark of a subset


@dataclass(frozen=True)
class Fragments:
    """Runs of text on one line each, in drawing order, as parallel lists.

    Positions are tenths of a point on the page as displayed, origin top left. Lists are cheaper than objects: reading
    some fifty fragments a page must cost little more than the library's own work.
    """

    x0: list[int]
    y0: list[int]
    x1: list[int]
    y1: list[int]
    font: list[Font]
    size: list[int]
    base: list[int]  # baseline of the first letter; empty if everything is upright
    text: list[str]
    ascii: bool  # all letters are ASCII
    rtl: bool  # most letters are of a script written from right to left
    upright: bool  # no fragment seems to run in another direction
    figures: bool = False  # there may be captions of figures


class _Box(Struct, gc=False):
    x: int
    y: int
    w: int
    h: int


class _Face(Struct, gc=False, frozen=True):
    name: str
    weight: str
    size: int


class _Line(Struct, gc=False):
    bbox: _Box
    font: _Face
    y: int  # the baseline
    text: str


class _Block(Struct, gc=False):
    lines: list[_Line] = []  # paths have none


class _Page(Struct, gc=False):
    blocks: list[_Block]


_PAGES = Decoder(_Page)


def fragments_of(printed: bytes) -> Fragments:
    """The fragments in MuPDF's JSON print of a page, without those that have no visible character."""
    lines = [line for block in _page_of(printed).blocks for line in block.lines]
    texts = [line.text for line in lines]
    joined = "".join(texts)
    ascii = joined.isascii()
    # Few pages have letters that need repair.
    rare = "" if ascii else joined.encode("utf-8", "replace").translate(None, _COMMON).decode()
    if odd := (not joined.isprintable() if ascii else _ODD.search(rare) is not None):
        texts = [clean(text.replace("\n", " ")) for text in texts]
    texts = list(map(str.strip, texts))
    if not all(texts):
        lines, texts = list(compress(lines, texts)), list(filter(None, texts))
    if not texts:
        return Fragments([], [], [], [], [], [], [], [], ascii=True, rtl=False, upright=True)
    boxes = [line.bbox for line in lines]
    left, top = [box.x for box in boxes], [box.y for box in boxes]
    wide, high = [box.w for box in boxes], [box.h for box in boxes]
    fonts = [_FONTS[line.font] for line in lines]
    size = [font.size for font in fonts]
    # A fragment far taller than its letters, or a first line below its baseline, may be turned.
    tall = compress(count(), map(gt, map(mul, high, repeat(10)), map(mul, size, repeat(_TALL))))
    upright = (
        not any(len(texts[n]) > 1 and high[n] > wide[n] for n in tall)
        and 2 * lines[0].y >= 2 * top[0] + high[0]
    )
    return Fragments(
        left,
        top,
        list(map(add, left, wide)),
        list(map(add, top, high)),
        fonts,
        size,
        [] if upright else [line.y for line in lines],
        texts,
        ascii,
        odd and _is_rtl("\n".join(texts)[:_SAMPLE]),
        upright,
        "Fig" in joined or "FIG" in joined or "Abb" in joined,
    )


def _page_of(printed: bytes) -> _Page:
    try:
        return _PAGES.decode(printed)
    except UnicodeDecodeError:  # a surrogate alone
        return _PAGES.decode(printed.decode("utf-8", "replace").encode())


def split(f: Fragments, cuts: Mapping[int, Sequence[int]]) -> Fragments:
    """The fragments, some of them cut at spaces; the place of a cut on the page is estimated."""
    order: list[int] = []
    texts: list[str] = []
    sides: list[tuple[int, int]] = []
    for n, text in enumerate(f.text):
        step = (f.x1[n] - f.x0[n]) / max(len(text), 1)
        for start, end in pairwise([-1, *cuts.get(n, ()), len(text)]):
            order.append(n)
            texts.append(text[start + 1 : end])
            sides.append((f.x0[n] + int(step * (start + 1)), f.x0[n] + int(step * end)))
    return replace(
        f,
        x0=[left for left, _ in sides],
        x1=[right for _, right in sides],
        text=texts,
        y0=[f.y0[n] for n in order],
        y1=[f.y1[n] for n in order],
        font=[f.font[n] for n in order],
        size=[f.size[n] for n in order],
        base=[f.base[n] for n in order] if f.base else [],
    )


class _Fonts(dict[_Face, Font]):
    def __missing__(self, face: _Face) -> Font:
        if len(self) >= _MOST_FONTS:
            self.clear()
        name = face.name.rpartition("+")[2]
        bold = face.weight == "bold" or _BOLD_OF_TEX.match(name) is not None
        return self.setdefault(face, Font(face.size, bold, name))


_FONTS = _Fonts()


def _is_rtl(text: str) -> bool:
    return _RTL.search(text) is not None and len(_RTL.findall(text)) * 2 > len(text)


def clean(text: str) -> str:
    """Lines without control characters; ligatures and Arabic presentation forms become letters.

    Signs without a meaning outside of their font become bullets at the start of a line, and U+FFFD elsewhere. A soft hyphen at the end of a line becomes a hyphen; others are removed.
    """
    if not _ODD.search(text):
        return text
    if "\xad" in text:
        text = re.sub("\xad[ \xa0]*$", "-", text, flags=re.MULTILINE)
    if any(sign in text for sign in _LIGATURES):
        text = _LIGATURE.sub(lambda one: _LIGATURES[one[0]], text)
    text = _ACCENT.sub(_composed, text)
    text = _BULLET.sub("\u2022", text)
    text = _PRESENTATION.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return text.translate(_repairs())


def _composed(accent: re.Match[str]) -> str:
    sign, letter = filter(None, accent.groups())
    whole = unicodedata.normalize("NFC", letter.replace("\u0131", "i") + _COMBINING[sign])
    return whole if len(whole) == 1 else accent[0]


@cache
def _repairs() -> dict[int, str | None]:
    spaces = (
        0x09,
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
    removed = (*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xAD, 0x200B, 0x2060, 0xFEFF, *marks)
    table: dict[int, str | None] = dict.fromkeys(removed)
    table.update(dict.fromkeys(spaces, " "))
    table.update(dict.fromkeys(range(0xD800, 0xF900), "\ufffd"))
    return table
