"""Raised and lowered letters of a page, and letters of symbol fonts: 2^64, m c^2, d_model, a footnote's^12.

MuPDF's print of fragments does not show them. Its HTML print does, at a small cost: it is made for pages that need it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from html import unescape
from itertools import compress, pairwise
from operator import sub

from qagen_dagster.formats.pdf.fragments import Fragments, clean
from qagen_dagster.formats.pdf.mupdf import Printed

_RUN = "<span style="
_STYLE = re.compile(r'"font-family:([^,;]*)[^;]*;font-size:([\d.]+)pt')
_CODE = re.compile("&#x([0-9a-f]+);")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\S\d|\d[^\W\d_]")
_LETTERED = re.compile(r"\d(?:[^\W\d_]|(?<=[^\W\d_]\d))")
_TALLER = 2  # tenths of a point
_SMALL = 0.86  # times the size of the letters before it
_RAISED = re.compile(r"[^\s*\u2217]{0,7}[^\W_][^\s*\u2217]{0,7}")
_PLAIN = re.compile(r"[-\u2212\u2013+]?\w+[-\u2212\u2013+]?")
_ORDINAL = re.compile(r"st|nd|rd|th|TM|SM|er")
_LOWERED = re.compile(r"\d{1,3}|[a-z]{1,8}|[a-z\d],[a-z\d]")
_FRACTION = ("\u2044", "/")  # after a raised numerator
# Fonts that draw signs at the places of letters and digits, without saying so.
_GREEK = str.maketrans(
    "abgdezhqiklmnxoprstufcywABGDEZHQIKLMNXOPRSTUFCYW",
    "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba\u03bb\u03bc\u03bd\u03be\u03bf\u03c0\u03c1\u03c3\u03c4"
    "\u03c5\u03c6\u03c7\u03c8\u03c9\u0391\u0392\u0393\u0394\u0395\u0396\u0397\u0398\u0399\u039a\u039b\u039c\u039d\u039e"
    "\u039f\u03a0\u03a1\u03a3\u03a4\u03a5\u03a6\u03a7\u03a8\u03a9",
)
_SIGNS = _GREEK | str.maketrans("123456,.", "+\u2212\u00d7\u00f7=\u00b1<>")
_BOXES = str.maketrans(
    "x\xa8oq\xfe\xfd\xfcln\xa7", "\u2612\u2610\u2610\u2610\u2611\u2612\u2713\u25cf\u25a0\u25aa"
)
_NO_SYMBOL: dict[int, int] = {}
_SYMBOLS = {
    re.compile("MathematicalPi"): _SIGNS,
    re.compile(r"Symbol(?:MT|PS|Std|\b)"): _GREEK,
    re.compile("Wingdings"): _BOXES,
}


_Run = tuple[bool, str, float, str]  # whether raised, the family of the font, its size, the letters


def mark_scripts(printed: Printed, f: Fragments, *, symbols: bool) -> None:
    """Write "^" before raised letters and "_" before lowered ones; `symbols`: and signs of symbol fonts as they look."""
    if not (symbols or _is_suspect(f)):
        return
    html = printed.html()
    if not (symbols or "<sup>" in html or _LETTERED.search(" ".join(f.text))):
        return
    marked: dict[str, str] = {}
    for line in html.split("<p style=")[1:]:
        if not symbols and line.count(_RUN) == 1:
            continue
        runs = _runs(line)
        sizes = [size for _, _, size, _ in runs]
        mixed = bool(sizes) and min(sizes) <= _SMALL * max(sizes)
        if not (mixed or (symbols and any(_table(family) for _, family, _, _ in runs))):
            continue
        plain, shown = "".join([text for *_, text in runs]), _marked(runs)
        if shown != plain:
            marked["".join(clean(unescape(plain)).split())] = clean(unescape(shown)).strip()
    if marked:
        f.text[:] = [marked.get("".join(text.split()), text) for text in f.text]


def _runs(line: str) -> list[_Run]:
    runs: list[_Run] = []
    between, *parts = line.split(_RUN)
    for part in parts:
        style, _, rest = part.partition(">")
        text, _, after = rest.partition("<")
        shown = _CODE.sub(_char, text) if "&" in text else text
        runs.append(("<sup>" in between, *_family_and_size(style), shown))
        between = after
    return runs


@lru_cache(1_000)
def _family_and_size(style: str) -> tuple[str, float]:
    found = _STYLE.match(style)
    return (found[1], float(found[2])) if found else ("", 0.0)


def _char(code: re.Match[str]) -> str:
    return chr(int(code[1], 16))


def _is_suspect(f: Fragments) -> bool:
    """Whether a line with a number is taller than others of its font, and no line without a number is as tall."""
    kinds = list(zip(map(id, f.font), map(sub, f.y1, f.y0), strict=True))  # most equal fonts are one object
    each = set(kinds)
    usual = dict(sorted(each, reverse=True))
    tall = {(font, high) for font, high in each if high >= usual[font] + _TALLER}
    if tall:
        for kind, text in compress(zip(kinds, f.text, strict=True), map(tall.__contains__, kinds)):
            if not (_DIGIT.search(text) and _NUMBER.search(text)):
                tall.discard(kind)
    return bool(tall)


@cache
def _table(family: str) -> dict[int, int]:
    return next((table for name, table in _SYMBOLS.items() if name.search(family)), _NO_SYMBOL)


@cache
def has_symbols(fonts: frozenset[str]) -> bool:
    """Whether any font draws signs at the places of letters."""
    return any(map(_table, fonts))


def _marked(runs: list[_Run]) -> str:
    """The text of a line with its marks."""
    text = ""
    for (kind, part), (_, after) in pairwise([*_parts(runs), ("", "")]):
        shown, before = part.strip(), text[-1:]
        if kind == "^" and not after.startswith(_FRACTION):
            text += _raised(shown, before) + part[len(part.rstrip()) :]
        elif kind == "_" and (before.isalnum() or before in ")]") and _LOWERED.fullmatch(shown):
            text += f"_{part}"
        else:
            text += part
    return text


def _parts(runs: list[_Run]) -> list[tuple[str, str]]:
    """Raised ("^"), lowered ("_") and ordinary parts of a line."""
    parts: list[tuple[str, list[str]]] = []
    size, last = runs[0][2], None
    for raised, family, now, text in runs:
        if table := _table(family):
            text = text.translate(table)
        kind = "" if now > _SMALL * size else "^" if raised else "_"
        if kind == last or (parts and not text.strip()):
            parts[-1][1].append(text)
        elif not parts and text.isdigit() and len(runs) > 1 and size <= _SMALL * runs[1][2]:
            last = "^"
            parts.append((last, [f"{text} "]))  # a footnote's own mark
        else:
            last = kind
            parts.append((kind, [text]))
        size = size if kind else now
    return [(kind, "".join(texts)) for kind, texts in parts]


def _raised(shown: str, before: str) -> str:
    if before.isspace() or before in "([" or _ORDINAL.fullmatch(shown) or not _RAISED.fullmatch(shown):
        return f"^{shown}" if not before and shown.isdigit() else shown
    if before.isdigit() and shown in "o\u2218\u25e6":
        return "\u00b0"
    return f"^{shown}" if _PLAIN.fullmatch(shown) else f"^({shown})"
