"""Leaves out the text of a page that nobody sees: of the colour of its background, tiny, not painted, transparent or behind a picture.

The library has left out what is outside of the page. Text that is not painted counts on a scanned page, where it is what a program recognised in the picture. Most pages are left
after a look at their commands for colours; only doubtful text is looked for in a picture of the page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from html import unescape
from typing import NamedTuple

from PIL import Image

from qagen_dagster.formats.pdf.fragments import Fragments, clean
from qagen_dagster.formats.pdf.mupdf import SCALE, Page, Pdf, Printed

_TINY = 10  # tenths of a point; smaller letters are dots
_SPAN = re.compile(r'<span style="([^"]*)">([^<]*)</span>')
_COLOUR = re.compile(r"(?<!-)color:#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
_PALE = re.compile("(?<=;color:#)[ef].[ef].[ef]")
_LIGHT = 0xE0  # least part of a colour that may be that of the paper
_SHORT = 5  # letters of a run that is looked at whole
_CONTRAST = 24  # least difference of grey between letters that can be seen and their background
_DARK, _MIN_INK = 110, 0.03  # grey of ink, and the least share of the pixels of a line that it covers
_SCAN = 0.5  # least share of a scanned page that pictures cover


class _Drawn(NamedTuple):
    """A picture of a part of a page, a pixel a point, and its corner."""

    picture: Image.Image
    left: float
    top: float


class _Run(NamedTuple):
    text: str
    painted: bool
    light: bool


def without_hidden(pdf: Pdf, printed: Printed, f: Fragments) -> Fragments:
    """The fragments that can be seen. `hidden` counts the others, and the parts that others lost."""
    if not f.text:
        return f
    gone = {n for n, size in enumerate(f.size) if size <= _TINY and f.y1[n] - f.y0[n] <= 2 * _TINY}
    texts: dict[int, str] = {}
    if printed.hides:
        page = pdf.page(printed.number)
        texts = _seen(page, f, printed)
        gone |= {n for n, text in texts.items() if not text}
    if printed.covers:
        gone |= _behind(pdf.page(printed.number), f)
    if not gone and not texts:
        return f
    kept = [n for n in range(len(f.text)) if n not in gone]
    lists = {name: [getattr(f, name)[n] for n in kept] for name in ("x0", "y0", "x1", "y1", "font", "size")}
    return replace(
        f,
        **lists,
        base=[f.base[n] for n in kept] if f.base else [],
        text=[texts.get(n, f.text[n]) for n in kept],
        hidden=len(gone | texts.keys()),
    )


def _seen(page: Page, f: Fragments, printed: Printed) -> dict[int, str]:
    """What can be seen of the fragments that are not painted, or are so light that they may be invisible."""
    html = printed.html()
    if (
        printed.hides != "any"
        and not _PALE.search(html)
        and html.count("<span style=") == html.count(";color:#")
    ):
        return {}
    lines: dict[str, list[list[_Run]]] = {}
    for line in html.split("<p style=")[1:]:
        runs = [_run(style, text) for style, text in _SPAN.findall(line)]
        lines.setdefault(_key("".join(run.text for run in runs)), []).append(runs)
    doubtful: dict[int, list[_Run]] = {}
    painted = unpainted = 0
    for n, text in enumerate(f.text):
        queue = lines.get(_key(text))
        runs = queue.pop(0) if queue else []
        bare = sum(len(run.text) for run in runs if not run.painted)
        unpainted, painted = unpainted + bare, painted + len(text) - bare
        if any(run.light or not run.painted or printed.hides == "any" for run in runs):
            doubtful[n] = runs
    if not doubtful:
        return {}
    is_scan = painted <= unpainted and _pictured(page) >= _SCAN
    picture = _drawn(page, f, doubtful)
    found: dict[int, str] = {}
    for n, runs in doubtful.items():
        total = sum(len(run.text) for run in runs)
        shown: list[str] = []
        at = 0
        for run in runs:
            # Places are estimated, so letters of the run beside it may reach into this one.
            edge = 2 if len(run.text) > _SHORT else 0
            place = ((at + edge) / total, (at + len(run.text) - edge) / total)
            at += len(run.text)
            looked = run.painted and (run.light or printed.hides == "any")
            visible = _is_visible(picture, f, n, place) if looked else run.painted or is_scan
            if visible or not run.text.strip():
                shown.append(run.text)
        if len(shown) < len(runs):
            found[n] = clean("".join(shown)).strip()
    return found


def _run(style: str, text: str) -> _Run:
    colour = _COLOUR.search(style)
    light = colour is not None and min(int(part, 16) for part in colour.groups()) >= _LIGHT
    return _Run(unescape(text), colour is not None, light)


def _key(text: str) -> str:
    return "".join(clean(text).split())


def _is_visible(picture: _Drawn, f: Fragments, n: int, place: tuple[float, float]) -> bool:
    """Whether anything differs from the background in the part of a fragment from `place[0]` to `place[1]` of its width."""
    low, high = (int(one) for one in _part(picture, f, n, place).getextrema() if isinstance(one, int | float))
    return high - low >= _CONTRAST


def _part(picture: _Drawn, f: Fragments, n: int, place: tuple[float, float]) -> Image.Image:
    """The part of the picture of a page that shows a fragment from `place[0]` to `place[1]` of its width."""
    wide, trim = f.x1[n] - f.x0[n], (f.y1[n] - f.y0[n]) / 6
    left, right = (f.x0[n] + wide * side for side in place)
    x0, x1 = left / SCALE - picture.left, right / SCALE - picture.left + 1
    y0, y1 = (f.y0[n] + trim) / SCALE - picture.top, (f.y1[n] - trim) / SCALE - picture.top + 1
    return picture.picture.crop((int(x0), int(y0), int(x1), int(y1)))


def _pictured(page: Page) -> float:
    """The share of the page that its largest picture covers."""
    areas = [_common(box, page.box) for box, *_ in page.pictures()]
    return max(areas, default=0.0) / max(page.width * page.height, 1)


def _common(a: Sequence[float], b: Sequence[float]) -> float:
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)


def _behind(page: Page, f: Fragments) -> set[int]:
    """The fragments over which a picture is painted later. On a scanned page these are what a program recognised.

    The box of a picture includes what clipping hides, so the ink of the letters must be missing in the picture of the page, too.
    """
    texts, pictures = page.painted()
    found: set[int] = set()
    for n in range(len(f.text)):
        box = (f.x0[n] / SCALE, f.y0[n] / SCALE, f.x1[n] / SCALE, f.y1[n] / SCALE)
        area = max((box[2] - box[0]) * (box[3] - box[1]), 1e-6)
        times = [time for time, text in texts if _common(text, box) > 0.5 * area]
        if times and any(time > max(times) and _common(over, box) > 0.98 * area for time, over in pictures):
            found.add(n)
    if not found or (2 * len(found) >= len(f.text) and _pictured(page) >= _SCAN):
        return set[int]()
    picture = _drawn(page, f, found)
    return {n for n in found if _ink(_part(picture, f, n, (0, 1))) < _MIN_INK}


def _drawn(page: Page, f: Fragments, which: Collection[int]) -> _Drawn:
    """The part of a page that holds some fragments."""
    box = (
        max(min(f.x0[n] for n in which) / SCALE - 1, 0),
        max(min(f.y0[n] for n in which) / SCALE - 1, 0),
        min(max(f.x1[n] for n in which) / SCALE + 1, page.width),
        min(max(f.y1[n] for n in which) / SCALE + 1, page.height),
    )
    wide, high = max(box[2] - box[0], 1), max(box[3] - box[1], 1)
    return _Drawn(
        page.draw((box[0], box[1], box[0] + wide, box[1] + high), round(wide), round(high), grey=True),
        box[0],
        box[1],
    )


def _ink(part: Image.Image) -> float:
    """The share of dark pixels."""
    counts = part.histogram()
    return sum(counts[:_DARK]) / max(sum(counts), 1)
