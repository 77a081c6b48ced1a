"""Superscript powers in PDF text: "10" with a raised "5" becomes "10^5" instead of 105.

The print does not say which letters are raised. Lines that may hold a power of ten or a square metre, and are taller
than their letters, are looked up in the library's slower text output; few pages have such lines. Footnote marks and
subscripts stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from statistics import median

from qagen_dagster.formats.pdf.fragments import Fragments, clean
from qagen_dagster.formats.pdf.mupdf import Pdf, Run

_POWER = re.compile(
    "(?<![\\d.,])10(?:[\u2212\u2013]?[1-9]\\d{0,2}(?![\\d.,%]\\d)|(?<=[x\u00d7\u00b7] 10)-[1-9])|(?<=[\\d\\s(/][ckm]m)[23](?!\\w)"
    "|(?<=[\\d\\s(/]m)[23](?!\\w)"
)
_RAISED = re.compile("[-\u2212\u2013+]?\\d{1,3}")
_BASE = re.compile(r"(?:\d|(?:^|[\d\s/(])[ckm]?m)$")
_ROUNDED = 1.5  # tenths of a point by which equal heights may differ
_ENOUGH = 2  # lines
_TALL = 1.01  # times the usual height for the letter size
_EDGE = 2  # lines at the top and bottom of a page that may hold its number


def mark_powers(pdf: Pdf, number: int, f: Fragments) -> None:
    """Write a "^" before raised numbers on a page (0-based) that follow a number or a unit of length."""
    suspects = [n for n, text in enumerate(f.text) if _may_hold(text) and _POWER.search(text)]
    last = len(f.text) - _EDGE
    suspects = [n for n in suspects if _EDGE <= n < last or not f.text[n].isdigit()]  # without page numbers
    if not suspects:
        return
    plain = set(range(len(f.text))).difference(suspects)
    usual = median([(f.y1[n] - f.y0[n]) / f.size[n] for n in plain if f.size[n]] or [0.0])
    suspects = [
        n for n in suspects if f.y1[n] - f.y0[n] > _TALL * usual * f.size[n] and not _is_ordinary(f, n, plain)
    ]
    if not suspects:
        return
    marked = {"".join(plain.split()): text for plain, text in map(_marked, pdf.runs(number)) if text != plain}
    for n in suspects:
        f.text[n] = clean(marked.get("".join(f.text[n].split()), f.text[n])).strip()


def _may_hold(text: str) -> bool:
    return "10" in text or "m2" in text or "m3" in text


def _is_ordinary(f: Fragments, n: int, plain: Collection[int]) -> bool:
    """Whether lines without such numbers have the same ratio of height to letter size; a raised number increases it."""
    high, size = f.y1[n] - f.y0[n], f.size[n]
    alike = 0
    for one in plain:
        if abs((f.y1[one] - f.y0[one]) * size - high * f.size[one]) <= _ROUNDED * size:
            alike += 1
            if alike == _ENOUGH:
                return True
    return False


def _marked(runs: list[Run]) -> tuple[str, str]:
    """The text of a line without and with its powers marked."""
    plain = text = ""
    for place, run in enumerate(runs):
        after = runs[place + 1].text if place + 1 < len(runs) else ""
        is_power = (
            run.raised
            and _RAISED.fullmatch(run.text.strip()) is not None
            and not runs[place - 1].raised
            and _BASE.search(plain[-8:]) is not None
            and not after.startswith(("\u2044", "/"))  # a fraction's numerator
        )
        plain += run.text
        text += f"^{run.text}" if is_power else run.text
    return plain, text
