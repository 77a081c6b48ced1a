"""The text fragments of one PDF page. They are read from the JSON print of the library, and their characters are repaired.

The JSON print does not mark raised and lowered letters (2^64, m c^2, d_model, a footnote's ^12) and does not show letters of symbol
fonts. The library's HTML print has both, but it takes time, so it is made only for pages that need it. Ticked and empty boxes
of forms come from the form's fields.

In all modules of this folder, `f` is the `Fragments` of a page, and `n` is the number of a fragment in its lists.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from html import unescape
from itertools import accumulate, compress, count, groupby, pairwise, repeat
from operator import add, gt, itemgetter, mul, sub
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.json import Decoder

from qagen_dagster.formats.pdf.mupdf import CheckBox, Letter, Printed
from qagen_dagster.records.data_files import read_table

_TALL = 16  # tenths of the letter size; a fragment that is taller may run up or down
_COMMON = bytes(range(0x20, 0x7F))  # characters that need no repair
_ODD = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\xa0\xa8\xad\xb4\xb8\u02c6\u02dc\u0338\u2208\u0590-\u08ff\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u2066-\u2069"
    "\ufb00-\ufdff\ufe70-\ufeff\ud800-\uf8ff]"
)  # characters that may need repair, and right-to-left letters
_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff]")  # codes without a character
_BULLET = re.compile("^[\ue000-\uf8ea](?=\\s|$)", re.MULTILINE)
_WESTERN = re.compile("[A-Za-z\xc0-\u052f]")
RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# Accents that TeX prints as separate characters before a letter. A tilde counts only in a word, since it may be part of an address.
_ACCENT = re.compile(
    "([\xa8\xb4\xb8])([ACEIOUaceiou\u0131])|(?<=[^\\W\\d_])([\u02c6\u02dc])([aeiou\u0131n])|(\u0338) ?(\\S)|(/)(\u2208)"
)
_COMBINING = str.maketrans("\xa8\xb4\xb8\u02c6\u02dc/", "\u0308\u0301\u0327\u0302\u0303\u0338")
_LIGATURE = re.compile("[\x1b-\x1f](?:(?=[a-z])|(?<=[a-zA-Z].))")
_LIGATURES = {"\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl"}  # in TeX's fonts
# Bold fonts of TeX, such as CMBX12 and SFBX1440. Not all files state that these fonts are bold.
_BOLD_OF_TEX = re.compile("[A-Z]{2,4}BX(?:SL|TI)?\\d")
_SAMPLE = 1_000  # characters of a page that decide its direction
_PRESENTATION = re.compile("[\ufb00-\ufdfb\ufe70-\ufefc]+")
# Parts of tall brackets, which have these codes in every font.
_BRACKETS = "\u239b\u239c\u239d\u23a1\u23a2\u23a3\u23a7\u23a8\u23a9\u23aa\u23ae\u239e\u239f\u23a0\u23a4\u23a5\u23a6\u23ab\u23ac\u23ad"
_EXTENSION = re.compile("CMEX|[tp]xex|MathE")
# A font of TeX and a bracket, large operator or root, which hangs below its own baseline. Letters are codes of operators and roots.
_HANGING = re.compile("(?:CMEX|xex|MathE).* [][()P-Zp-s\u220f\u2211\u221a\u222b]$|(?:SY|xsy|MathS).* \u221a$")
_HYPHEN = re.compile(
    "\xad[ \xa0]*$|(?<=\\d)\xad|(?<![-\u2010-\u2015])\xad(?=[^\\s\\w\u2010-\u2015-]|\\d)", re.MULTILINE
)
_MARKS = ("\u2610", "\u2612")
_RUN = "<span style="
_ENTITY = "&#x"  # precedes every code and every letter beyond ASCII
_STYLE = re.compile(r'"font-family:([^,;]*)[^;]*;font-size:([\d.]+)pt')
_CODE = re.compile("&#x([0-9a-f]+);")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\S\d|\d[^\W\d_]")
_TALLER = 2  # minimum tenths of a point by which a line with raised letters is taller than others
_SMALL = 0.86  # maximum size of raised and lowered letters, relative to the letters before them
_CHOICE = re.compile(rb"fT(?<!\wfT) (\d+(?:\.\d+)?)")  # backwards, because a search for a fixed text is fast
_SMALLEST = 0.4  # minimum size of a raised number, relative to the text before it
_SHORT = 300  # maximum bytes of commands that write a raised number
_RAISED = re.compile(r"[^\s*\u2217]{0,7}[^\W_][^\s*\u2217]{0,7}")
_PLAIN = re.compile(r"[-\u2212\u2013+]?\w+[-\u2212\u2013+]?")
_ORDINAL = re.compile(r"st|nd|rd|th|TM|SM|er")
_I = r"[a-z\d\u03b1-\u03c9\U0001d44e-\U0001d467]"  # one letter of an index
_LOWERED = re.compile(rf"\d{{1,3}}|[a-z]{{1,8}}| ?{_I}(?:,{_I})?|[+\u2212]\d|((?:[A-Z]|{_I})[+\u2212]{_I})")
_FRACTION = ("\u2044", "/")  # after a raised numerator
_Run = tuple[bool, str, float, str]  # whether it is raised, the font's family and size, the letters


def _codes(codes: str, signs: str) -> dict[int, str]:
    return dict(zip(map(ord, codes), signs, strict=True))


# By font, the symbols for codes for which the file states no character. The library gives such a code as the character with that number
# (a control character or a letter), or as U+F000 plus the code.
_SIGNS: dict[str, str] = read_table(__package__, "font_tables.toml")
_GREEK = _codes(_SIGNS["letters"], _SIGNS["greek"])
_SYMBOL = {0xF020 + n: sign for n, sign in enumerate(_SIGNS["low"])} | {
    0xF0A0 + n: sign for n, sign in enumerate(_SIGNS["high"])
}
_WINGDING_CODES = "x\xa8oq\xfe\xfd\xfcln\xa7uv\xd8\xe0\xe8\xf0"
_WINGDINGS = _codes(
    _WINGDING_CODES + "".join(chr(0xF000 + ord(code)) for code in _WINGDING_CODES),
    2 * "\u2612\u2610\u2610\u2610\u2611\u2612\u2713\u25cf\u25a0\u25aa\u25c6\u2756\u27a2\u2192\u2794\u21e8",
)
_PI = _GREEK | _codes("123456,.", "+\u2212\u00d7\u00f7=\u00b1<>")


def _from_zero(signs: str) -> dict[int, str]:
    head, *rest = signs.split("|")
    return dict(enumerate([*head, *rest]))


_TABLES: dict[re.Pattern[str], dict[int, str]] = {
    re.compile("MathematicalPi"): _PI,
    re.compile(r"Symbol(?:MT|PS|Std|\b)"): {**_GREEK, **_SYMBOL},
    re.compile("Wingdings"): _WINGDINGS,
    re.compile("Dingbats"): {0x13: "\u2713", 0x14: "\u2714", 0x17: "\u2717", 0x18: "\u2718"},
    re.compile("[tp]xsyc"): {ord("<"): "\u2209"},
    re.compile("CMB?SY|[tp]xsy|(?:EU|MS|MT)SY"): {
        **_from_zero(_SIGNS["oms"]),
        ord("7"): "",
    },  # a bar before an arrow
    re.compile(r"CM(?:MIB?|BMI)\d*|(?:tx|px)mi\b"): _from_zero(_SIGNS["oml"]),
    _EXTENSION: dict(enumerate(_SIGNS["omx"])),
    re.compile(r"CM[A-Z]+\d+"): _from_zero(_SIGNS["ot1"]),
    re.compile(r"(?:SF|EC|LM)[A-Z]{2,4}\d+|LMRoman"): _from_zero(_SIGNS["t1"]),
}
_NONE: dict[int, str] = {}
_LETTERS = ("MathematicalPi", "Symbol", "Wingdings", "CMEX", "MathE", "xsyc")  # have symbols for letters


@cache
def table_of(family: str) -> dict[int, str]:
    """By code, the symbols of a font; empty for a font of ordinary letters."""
    return next((table for name, table in _TABLES.items() if name.search(family)), _NONE)


@cache
def has_symbols(fonts: frozenset[str]) -> bool:
    """Whether any font draws symbols for the codes of letters."""
    return any(name in font and table_of(font) for font in fonts for name in _LETTERS)


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
    base: list[int]  # baselines of the first letters; empty if all text is horizontal
    text: list[str]
    line: list[int]  # numbers of the lines in the prints of the page
    rtl: bool  # most letters are of a script written from right to left
    upright: bool  # no fragment seems to run in another direction
    raw: bool = False  # some characters are codes without a stated character
    has_rtl: bool = False  # some letters are of a right-to-left script
    hidden: int = 0  # number of fragments that lost some or all letters because these are invisible

    def chosen(self, which: Sequence[int], **changed: Any) -> "Fragments":
        """The fragments with the numbers `which`, in this order. `changed` names fields with other values."""
        lists = {name: [values[n] for n in which] for name in _LISTS if (values := getattr(self, name))}
        return replace(self, **{**lists, **changed})

    def cut(self, parts: Sequence[tuple[int, str, int, int]]) -> "Fragments":
        """A new fragment for each part: the number of the part's fragment, its text, its left edge and its right edge."""
        order, texts = [n for n, *_ in parts], [text for _, text, *_ in parts]
        lefts, rights = [left for *_, left, _ in parts], [right for *_, right in parts]
        return self.chosen(order, text=texts, x0=lefts, x1=rights)

    def gap(self, a: int, b: int) -> int:
        """The horizontal distance between two fragments of a line, in either order; negative if they overlap."""
        return max(self.x0[b] - self.x1[a], self.x0[a] - self.x1[b])


_LISTS = ("x0", "y0", "x1", "y1", "font", "size", "base", "text", "line")


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
    lines: list[_Line] = []  # paths have no lines


class _Page(Struct, gc=False):
    blocks: list[_Block]


_PAGES = Decoder(_Page)


def fragments_of(printed: bytes) -> Fragments:
    """The fragments with visible characters in MuPDF's JSON print of a page."""
    lines = [line for block in _page_of(printed).blocks for line in block.lines]
    texts = [line.text for line in lines]
    joined = "".join(texts)
    ascii = joined.isascii()
    # Few pages have letters that need repair.
    rare = "" if ascii else joined.encode("utf-8", "replace").translate(None, _COMMON).decode()
    raw = False
    if odd := (not joined.isprintable() if ascii else _ODD.search(rare) is not None):
        raw = _RAW.search(joined) is not None
        texts = [clean(text.replace("\n", " ")) for text in texts]
    texts = list(map(str.strip, texts))
    numbers = list(range(len(lines)))
    if not all(texts):
        lines, numbers = list(compress(lines, texts)), list(compress(numbers, texts))
        texts = list(filter(None, texts))
    if not texts:
        return Fragments([], [], [], [], [], [], [], [], [], rtl=False, upright=True)
    for line in lines:
        if len(line.text) == 1 and _HANGING.search(f"{line.font.name} {line.text}"):
            box, size = line.bbox, line.font.size
            box.y, box.h, line.y = line.y + size // 5, size, line.y + size
    boxes = [line.bbox for line in lines]
    left, top = [box.x for box in boxes], [box.y for box in boxes]
    wide, high = [box.w for box in boxes], [box.h for box in boxes]
    fonts = [_font(line.font) for line in lines]
    size = [font.size for font in fonts]
    # A fragment far taller than its letters, or a first line whose baseline is above its middle, may be turned.
    tall = compress(count(), map(gt, map(mul, high, repeat(10)), map(mul, size, repeat(_TALL))))
    sample = "\n".join(texts)[:_SAMPLE] if odd else ""
    upright = (
        not any(len(texts[n]) > 1 and high[n] > wide[n] for n in tall)
        and 2 * lines[0].y >= 2 * top[0] + high[0]
    )
    edges = left, top, list(map(add, left, wide)), list(map(add, top, high))
    base = [] if upright else [line.y for line in lines]
    rtl = bool(sample) and len(RTL.findall(sample)) > len(_WESTERN.findall(sample))
    has_rtl = odd and RTL.search(joined) is not None
    return Fragments(*edges, fonts, size, base, texts, numbers, rtl, upright, raw, has_rtl)


def _page_of(printed: bytes) -> _Page:
    try:
        return _PAGES.decode(printed)
    except UnicodeDecodeError:  # a lone surrogate
        return _PAGES.decode(printed.decode("utf-8", "replace").encode())


def split(f: Fragments, cuts: Mapping[int, Sequence[int]]) -> Fragments:
    """The fragments, each cut at the positions of spaces that `cuts` names for its number. The place of a cut on the page is estimated."""
    parts: list[tuple[int, str, int, int]] = []
    for n, text in enumerate(f.text):
        step = (f.x1[n] - f.x0[n]) / max(len(text), 1)
        for start, end in pairwise([-1, *cuts.get(n, ()), len(text)]):
            sides = f.x0[n] + int(step * (start + 1)), f.x0[n] + int(step * end)
            parts.append((n, text[start + 1 : end], *sides))
    return f.cut(parts)


@lru_cache(4_096)
def _font(face: _Face) -> Font:
    name = face.name.rpartition("+")[2]
    return Font(face.size, face.weight == "bold" or _BOLD_OF_TEX.match(name) is not None, name)


def clean(text: str) -> str:
    """The text without control characters. Ligatures, separate accents and Arabic presentation forms become ordinary letters.

    Unknown codes become U+FFFD; a private code alone at the start of a line becomes a bullet. A soft hyphen at the end of a
    line, after a digit, or before a digit or sign becomes "-".
    """
    if not _ODD.search(text):
        return text
    if "\xad" in text:
        text = _HYPHEN.sub("-", text)
    if any(sign in text for sign in _LIGATURES):
        text = _LIGATURE.sub(lambda one: _LIGATURES[one[0]], text)
    text = _ACCENT.sub(_composed, text)
    text = _BULLET.sub("\u2022", text)
    text = _PRESENTATION.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return text.translate(_repairs())


def _composed(accent: re.Match[str]) -> str:
    sign, letter = filter(None, accent.groups())
    whole = unicodedata.normalize("NFC", letter.replace("\u0131", "i") + sign.translate(_COMBINING))
    return whole if len(whole) == 1 else accent[0]


@cache
def _repairs() -> dict[int, str | None]:
    spaces = (9, 0xB, 0xC, 0xD, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F)
    marks = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # of writing direction
    unknown = (*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0xD800, 0xF900))
    table: dict[int, str | None] = dict.fromkeys(unknown, "\ufffd")
    table.update(dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF, *marks)))
    table.update(dict.fromkeys(spaces, " "))
    table.update(enumerate(_BRACKETS, 0xF8EB))
    return table


def mark_checkboxes(f: Fragments, boxes: Iterable[CheckBox]) -> None:
    """Write a mark for each check box of a page beside the box's label, which is the nearest text on the same line.

    The text of the tick in the box is removed.
    """
    for (left, top, right, bottom), ticked in boxes:
        level = [n for n, (y0, y1) in enumerate(zip(f.y0, f.y1, strict=True)) if y0 < top + bottom >> 1 < y1]
        ticks = [n for n in level if left <= f.x0[n] + f.x1[n] >> 1 <= right]
        labels = [n for n in level if n not in ticks]
        if labels:
            label = min(labels, key=lambda n: max(f.x0[n] - right, left - f.x1[n]))
            parts = (f.text[label], _MARKS[ticked])
            f.text[label] = " ".join(parts[::-1] if f.x0[label] >= left else parts)
            for values in (f.x0, f.y0, f.x1, f.y1, f.font, f.size, f.base, f.text, f.line):
                for n in reversed(ticks):
                    del values[n : n + 1]  # `base` may be empty


def mark_scripts(printed: Printed, f: Fragments, fonts: frozenset[str]) -> None:
    """Write "^" before raised letters and "_" before lowered ones. Write characters of symbol fonts as they look; `fonts` are the document's."""
    letters = has_symbols(fonts) and has_symbols(printed.content.fonts())
    if not (letters or f.raw or _is_suspect(f) or _mixes_sizes(printed.content.commands)):
        return
    lines = printed.html
    for n, text in enumerate(f.text):
        line = lines[f.line[n]]
        if line.count(_RUN) < (1 if letters or (f.raw and _ENTITY in line) else 2):
            continue
        runs = _runs(line)
        plain = "".join([text for *_, text in runs])
        hangs = len(runs) > 1 and _EXTENSION.search(runs[0][1])
        apart = [(raised, runs[0][2] <= _SMALL * size) for raised, _, size, _ in runs]
        if hangs or (True, True) in apart or (runs[0][3].isdigit() and (False, True) in apart):
            runs = _levelled(runs, printed.letters({f.line[n]})[f.line[n]])
        shown = _marked(runs)
        if shown != plain and "".join(clean(plain).split()) == "".join(text.split()):  # no part is hidden
            f.text[n] = clean(shown).strip() or text


def _runs(line: str) -> list[_Run]:
    runs: list[_Run] = []
    between, *parts = line.split(_RUN)
    for part in parts:
        style, _, rest = part.partition(">")
        text, _, after = rest.partition("<")
        shown = unescape(_CODE.sub(lambda code: chr(int(code[1], 16)), text)) if "&" in text else text
        runs.append(("<sup>" in between, *_family_and_size(style), shown))
        between = after
    return runs


def _levelled(runs: list[_Run], letters: Sequence[Letter]) -> list[_Run]:
    """The runs of a line that begins with small letters or a hanging sign, with heights compared with the line's first large letter.

    The library compares them with the first letter.
    """
    starts = accumulate((len(text) for *_, text in runs[:-1]), initial=0)
    heights = [letters[min(start, len(letters) - 1)].base for start in starts]
    (_, family, small, first), *rest = runs
    others = list(zip(heights[1:], rest, strict=True))
    least = small * _SMALL if (hangs := _EXTENSION.search(family)) else small / _SMALL
    noted = first.isdigit() and not hangs
    large = (
        y
        for y, (up, font, size, text) in others
        if size >= least and text.strip() and (not _EXTENSION.search(font) if noted or hangs else up)
    )
    base = next(large, heights[0] + small * 4 / 5)
    levels = [(y < base - size / 10, font, size, text) for y, (_, font, size, text) in others]
    lowered = noted and heights[0] > base
    return [(False, family, small, f"_{first}" if lowered else first), *levels]


@lru_cache(1_000)
def _family_and_size(style: str) -> tuple[str, float]:
    found = _STYLE.match(style)
    return (found[1], float(found[2])) if found else ("", 0.0)


def _mixes_sizes(commands: bytes) -> bool:
    """Whether a page's commands write a short text in smaller letters between two texts of one size."""
    back = commands[::-1]
    sizes = [float(size[::-1]) for size, _ in groupby(_CHOICE.findall(back))]
    triples = zip(sizes, sizes[1:], sizes[2:], strict=False)
    alternate = [a == c and _SMALLEST * a < b <= _SMALL * a for a, b, c in triples]
    runs = groupby(_CHOICE.finditer(back), itemgetter(1)) if any(alternate) else ()  # on few pages
    places = [max(one.start() for one in run) for _, run in runs]
    return any(start - end < _SHORT for end, start in compress(pairwise(places), alternate))


def _is_suspect(f: Fragments) -> bool:
    """Whether the page may have raised numbers.

    It may if lines of some font are taller than others, and all lines of that font and height contain a number.
    """
    kinds = list(zip(map(id, f.font), map(sub, f.y1, f.y0), strict=True))  # most equal fonts are one object
    each = set(kinds)
    usual = dict(sorted(each, reverse=True))
    tall = {(font, high) for font, high in each if high >= usual[font] + _TALLER}
    if tall:
        for kind, text in compress(zip(kinds, f.text, strict=True), map(tall.__contains__, kinds)):
            if not (_DIGIT.search(text) and _NUMBER.search(text)):
                tall.discard(kind)
    return bool(tall)


def _marked(runs: list[_Run]) -> str:
    """The text of a line with "^" and "_" before its raised and lowered letters."""
    text = ""
    for (kind, part), (_, after) in pairwise([*_parts(runs), ("", "")]):
        shown, before = part.strip(), text[-1:]
        index = _LOWERED.fullmatch(part.rstrip()) if kind == "_" else None
        if kind == "^" and not after.startswith(_FRACTION):
            text += _raised(shown, before) + part[len(part.rstrip()) :]
        elif kind == "^" and before.isdigit():
            text += f" {part}"  # the numerator of a mixed number
        elif index and (before.isalnum() or before in ")]\u2206"):
            text += f"_({shown}){part[len(index[0]) :]}" if index[1] else f"_{part}"
        else:
            text += part
    return text


def _parts(runs: list[_Run]) -> list[tuple[str, str]]:
    """The parts of a line, each with its kind: raised ("^"), lowered ("_") or ordinary ("")."""
    parts: list[tuple[str, list[str]]] = []
    size, last = runs[0][2], None
    noted = runs[1:] and runs[0][3].isdigit() and size <= _SMALL * runs[1][2] and runs[1][3][0] != "."
    for raised, family, now, text in runs:
        if table := table_of(family):
            text = text.translate(table)
        kind = "" if now > _SMALL * size else "^" if raised else "_"
        if kind == last or (parts and not text.strip()):
            parts[-1][1].append(text)
        elif not parts and noted:
            last = "^"
            parts.append((last, [f"{text} "]))  # a footnote's own mark
        else:
            last = kind
            parts.append((kind, [text]))
        size = size if kind else now
    return [(kind, "".join(texts)) for kind, texts in parts]


def _raised(shown: str, before: str) -> str:
    if before.isspace() or before in "([{" or _ORDINAL.fullmatch(shown) or not _RAISED.fullmatch(shown):
        return f"^{shown}" if not before and shown.isdigit() else shown
    if before.isdigit() and shown in "o\u2218\u25e6":
        return "\u00b0"
    return f"^{shown}" if _PLAIN.fullmatch(shown) else f"^({shown})"
