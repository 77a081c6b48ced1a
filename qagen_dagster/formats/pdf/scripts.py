"""Raised and lowered letters of a page, and letters of symbol fonts: 2^64, m c^2, d_model, a footnote's^12.

MuPDF's print of fragments does not show them. Its HTML print does, at a small cost: it is made for pages that need it.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from itertools import pairwise
from operator import sub
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Font, Fragments, clean
from qagen_dagster.formats.pdf.mupdf import Printed

_RUN = re.compile(
    r'(<sup>)?(?:<(?:tt|b|i)>)*<span style="font-family:([^,;]*)[^;]*;font-size:([\d.]+)pt[^>]*>([^<]*)'
)
_SIZE = re.compile("font-size:([0-9.]+)")
_NUMBER = re.compile(r"\S\d|\d[^\W\d_]")
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


class _Run(NamedTuple):
    """Letters of one line in one font."""

    text: str
    size: float
    raised: bool  # above the baseline of the line's first letter


def mark_scripts(printed: Printed, f: Fragments, *, symbols: bool) -> None:
    """Write "^" before raised letters and "_" before lowered ones, and signs of symbol fonts as they look."""
    if not (symbols or _is_suspect(f)):
        return
    marked: dict[str, str] = {}
    for line in printed.html().split("<p style=")[1:]:
        if not symbols and len(set(_SIZE.findall(line))) < 2:
            continue
        found = _RUN.findall(line)
        plain = unescape("".join([text for *_, text in found]))
        shown = _marked([_run(*one) for one in found])
        if shown != plain:
            marked["".join(clean(plain).split())] = clean(shown).strip()
    if marked:
        f.text[:] = [marked.get("".join(text.split()), text) for text in f.text]


def _is_suspect(f: Fragments) -> bool:
    """Whether some line with a number is taller than others of its font, or, if there are none, than lines of all fonts."""
    heights = list(map(sub, f.y1, f.y0))
    usual: dict[Font, int] = {}
    several: set[Font] = set()
    for font, high in zip(f.font, heights, strict=True):
        if font not in usual:
            usual[font] = high
            continue
        several.add(font)
        if high < usual[font]:
            usual[font] = high
    most = max([usual[font] / font.size for font in several if font.size], default=0.0)
    return any(
        (high >= usual[font] + _TALLER or (font not in several and high > most * font.size))
        and _NUMBER.search(text)
        for font, high, text in zip(f.font, heights, f.text, strict=True)
    )


def _run(raised: str, family: str, size: str, text: str) -> _Run:
    return _Run(unescape(text).translate(_table(family)), float(size), bool(raised))


@cache
def _table(family: str) -> dict[int, int]:
    return next((table for name, table in _SYMBOLS.items() if name.search(family)), _NO_SYMBOL)


@cache
def has_symbols(fonts: frozenset[str]) -> bool:
    """Whether any font draws signs at the places of letters."""
    return any(map(_table, fonts))


def _marked(runs: list[_Run]) -> str:
    """The text of a line with its marks."""
    parts = _parts(runs)
    text = ""
    for (kind, part), (_, after) in pairwise([*parts, ("", "")]):
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
    parts: list[tuple[str, str]] = []
    size = runs[0].size if runs else 0.0
    if len(runs) > 1 and runs[0].text.isdigit() and runs[0].size <= _SMALL * runs[1].size:
        return [("^", f"{runs[0].text} "), *_parts(runs[1:])]  # a footnote's own mark
    for run in runs:
        small = run.size <= _SMALL * size
        kind = "" if not small else "^" if run.raised else "_"
        if parts and (parts[-1][0] == kind or not run.text.strip()):
            parts[-1] = (parts[-1][0], parts[-1][1] + run.text)
        else:
            parts.append((kind, run.text))
        size = size if small else run.size
    return parts


def _raised(shown: str, before: str) -> str:
    if before.isspace() or before in "([" or _ORDINAL.fullmatch(shown) or not _RAISED.fullmatch(shown):
        return f"^{shown}" if not before and shown.isdigit() else shown
    if before.isdigit() and shown in "o\u2218\u25e6":
        return "\u00b0"
    return f"^{shown}" if _PLAIN.fullmatch(shown) else f"^({shown})"
