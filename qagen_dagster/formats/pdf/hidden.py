"""Leaves out invisible and struck-out text of a page.

Invisible text is text in the colour of its background, tiny or transparent text, text that is not painted, and text behind a picture or
a bar. The library has already left out text outside the page. On a scanned page, unpainted text is kept, because there it is the text that
a program recognised in the picture. Only doubtful letters are checked in a picture of the page.
"""

import re
from bisect import bisect, bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import count, groupby
from operator import add, itemgetter, sub
from typing import Any, cast

from qagen_dagster.formats.pdf.fragments import Fragments, clean
from qagen_dagster.formats.pdf.mupdf import CLIPPING, PAINTED, SCALE, Letter, Page, Pdf, Printed, Rect, union

_re2: Any = import_module("re2")
_TINY = 10  # tenths of a point; letters of at most this size are dots
_LIGHT = 0xE0  # minimum component of a colour that may be the paper's
_TRANSPARENT = 13  # maximum opacity, of 255, of invisible letters
_DARK = 0x80  # maximum grey of a rectangle on which every light letter is visible
_BAND = 50  # height in points of the bands of a page that are drawn one by one
_CONTRAST = 24  # minimum difference of grey between visible letters and their background
_SCAN = 0.5  # minimum share of a scanned page that its largest picture covers
_MOST_COVERS = 100  # only this many of a page's last covers are checked; a page with more has a drawing
_STRUCK = (0.12, 0.45)  # letter sizes above the baseline at which letters are struck out
_MIN_STRUCK = 3  # minimum struck-out letters, unless a digit is first; formulas strike out single letters
_END = 4  # points; at each end, a rule reaches at most this far beyond the text that it strikes out
# A light colour of grey, RGB or CMYK, or a colour in a space that the file names, before text in this colour. Between them are a drawing
# between `q` and `Q`, names, dictionaries, dashes and other commands, but neither another colour nor the end of a drawing.
_FULL, _NONE = rb"(?:1(?:\.0*)?|0?\.(?:8[789]|9)\d*)\s+", rb"(?:0(?:\.0*)?|0?\.(?:0\d*|1[0-2]\d*))\s+"
_LIGHT_COMMAND = rb"(?:^|[\s\]>)])(?:%b(?:%brg|g)|%bk|scn?)\b" % (_FULL, 2 * _FULL, 4 * _NONE)
_BETWEEN = rb"(?:\bq\b[^gkqQ(\[<]*\bQ\b|/[^\s/(\[<]+|<<[^<>]*>>|\[[\d\s.]*\]\s*\d+\s+d\b|\bgs\b|[^gkQ(\[</])*"
_LIGHT_TEXT = _re2.compile(rb"%b%b(?:[(\[]|<[^<]|\bDo\b)|\b[1256]\s+Tr\b" % (_LIGHT_COMMAND, _BETWEEN))
_LIGHT_COLOUR = re.compile("color:#(?:[ef].){3}")
_Mark = tuple[str, Rect]  # the state of letters that it hides: "struck", "doubtful" or "behind"; and its box
_Marks = dict[int, list[_Mark]]  # by fragment


@dataclass(frozen=True, eq=False)
class _Run:
    """Consecutive letters of a fragment in the same state."""

    number: int  # of the fragment
    state: str  # "seen", "struck", "unpainted", "behind" a picture, or "doubtful": light or below a bar
    letters: list[Letter]

    @cached_property
    def written(self) -> list[Letter]:
        """The letters without spaces."""
        return [one for one in self.letters if one.text.strip()]

    @property
    def box(self) -> Rect:
        """The box around the first and the last of the written letters."""
        return union([self.written[0].box, self.written[-1].box])


def without_hidden(pdf: Pdf, printed: Printed, f: Fragments) -> Fragments:
    """The visible fragments. `hidden` counts the fragments that are left out or lose letters, except shadows."""
    if not f.text:
        return f
    tiny = [n for n, size in enumerate(f.size) if size <= _TINY and f.y1[n] - f.y0[n] <= 2 * _TINY]
    shown = dict.fromkeys(tiny, "")
    marks = _struck(printed, f)
    _add_covers(marks, printed, f)
    checked = {*marks, *_suspects(pdf, printed, f)}
    kinds = {n: [_kind(*ink) for ink in printed.inks(f.line[n])] for n in checked}
    some = sorted(n for n, states in kinds.items() if n in marks or any(state != "seen" for state in states))
    lines = printed.letters({f.line[n] for n in some}) if some else {}
    runs = [run for n in some for run in _runs(n, f.size[n], lines[f.line[n]], kinds[n], marks.get(n, ()))]
    if runs:
        shown |= _seen(pdf.page(printed.number), f, runs)
    shadows = _shadows(f)
    if not shown and not shadows:
        return f
    kept = [n for n in range(len(f.text)) if n not in shadows and shown.get(n, "x")]
    return f.chosen(kept, text=[shown.get(n, f.text[n]) for n in kept], hidden=len(shown))


def _suspects(pdf: Pdf, printed: Printed, f: Fragments) -> Iterable[int]:
    """The fragments that may be transparent, unpainted, or as light as paper; none on a scanned page."""
    if printed.content.may_be_unpainted:
        is_scan = printed.is_unpainted() and _is_pictured(pdf.page(printed.number))
        return () if is_scan else range(len(f.text))
    if printed.content.is_whole and not _LIGHT_TEXT.search(printed.content.commands):
        return ()
    lines = printed.html
    light = [n for n, line in enumerate(f.line) if _LIGHT_COLOUR.search(lines[line])]
    return [n for n in light if not _is_on_dark(printed.paths.areas, f, n)]


def _is_on_dark(areas: Sequence[tuple[int, Rect, int | None]], f: Fragments, n: int) -> bool:
    """Whether the last area that meets a fragment is a dark rectangle around it and painted before it."""
    x0, y0, x1, y1 = f.x0[n] / SCALE, f.y0[n] / SCALE, f.x1[n] / SCALE, f.y1[n] / SCALE
    trim = (y1 - y0) / 6
    for before, (left, top, right, bottom), grey in reversed(areas):
        if left < x1 and x0 < right and top < y1 and y0 < bottom:
            around = left <= x0 and x1 <= right and top <= y0 + trim and y1 - trim <= bottom
            return around and grey is not None and grey <= _DARK and before <= f.line[n]
    return False


def _shadows(f: Fragments) -> set[int]:
    """The fragments that repeat an earlier fragment at nearly the same place, as a shadow or for bold."""
    places: dict[str, list[int]] = {}
    for n, text in enumerate(f.text) if len(set(f.text)) < len(f.text) else ():
        places.setdefault(text, []).append(n)
    found: set[int] = set()
    for same in [numbers for numbers in places.values() if len(numbers) > 1]:
        same.sort(key=f.y0.__getitem__)
        tops = [f.y0[n] for n in same]
        for place, n in enumerate(same):
            near = f.size[n] // 3
            level = same[place + 1 : bisect_left(tops, tops[place] + near)]
            found.update(max(n, m) for m in level if abs(f.x0[n] - f.x0[m]) < near)
    return found


def _struck(printed: Printed, f: Fragments) -> _Marks:
    """By fragment, the horizontal rules that cross it and are hardly longer than it. Longer rules belong to a drawing."""
    strikes: _Marks = {}
    widest = max(map(sub, f.x1, f.x0)) + 2 * _END * SCALE
    level = sorted(
        [(y0 + y1 >> 1, x0, x1) for x0, y0, x1, y1 in printed.paths.rules if 4 * (y1 - y0) < x1 - x0 < widest]
    )
    at = [y for y, _, _ in level]
    for n, (top, bottom) in enumerate(zip(f.y0, f.y1, strict=True)) if level else ():
        trim = (bottom - top) // 4
        found = [
            ("struck", (x0 / SCALE, y / SCALE, x1 / SCALE, y / SCALE))
            for y, x0, x1 in level[bisect(at, top + trim) : bisect(at, bottom - trim)]
            if x0 > f.x0[n] - _END * SCALE and x1 < f.x1[n] + _END * SCALE
        ]
        if found:
            strikes[n] = found
    return strikes


def _add_covers(marks: _Marks, printed: Printed, f: Fragments) -> None:
    """Add the opaque bars and the pictures over each fragment that is painted before them."""
    pictures = printed.pictures() if printed.content.covers else []
    middles = sorted(zip(map(add, f.y0, f.y1), count(), strict=False))
    for state, covers in (("doubtful", printed.paths.areas), ("behind", pictures)):
        for before, box, _ in [one for one in covers if one[0] and one[2] is not None][-_MOST_COVERS:]:
            x0, y0, x1, y1 = (int(side * SCALE) for side in box)
            for _, n in middles[bisect(middles, (2 * y0, 0)) : bisect(middles, (2 * y1, 0))]:
                if f.line[n] < before and f.x0[n] < x1 and x0 < f.x1[n]:
                    marks.setdefault(n, []).append((state, box))


@lru_cache(1_000)
def _kind(argb: int, flags: int) -> str:
    """The state of uncovered letters with this colour, opacity and kind of painting."""
    alpha, *colour = argb.to_bytes(4)
    if not flags & PAINTED or alpha <= _TRANSPARENT:
        return "doubtful" if flags & CLIPPING else "unpainted"
    return "seen" if min(colour) < _LIGHT else "doubtful"


def _runs(n: int, size: int, letters: list[Letter], states: list[str], marks: Sequence[_Mark]) -> list[_Run]:
    """The runs of the line of fragment `n`; none if all letters are visible."""
    if marks:
        pairs = zip(states, letters, strict=True)
        states = [_hidden_by(marks, one, size) if state == "seen" else state for state, one in pairs]
    parts = groupby(zip(states, letters, strict=True), key=itemgetter(0))
    runs = [_Run(n, state, [one for _, one in some]) for state, some in parts]
    return runs if any(run.state != "seen" for run in runs) else []


def _hidden_by(marks: Sequence[_Mark], letter: Letter, size: int) -> str:
    """The state of a letter of a fragment with these marks."""
    for state, (x0, y0, x1, y1) in marks:
        if state == "struck" and not _STRUCK[0] < (letter.base - y0) * SCALE / max(size, 1) < _STRUCK[1]:
            continue
        left, top, right, bottom = letter.box
        if x0 < (left + right) / 2 < x1 and (state == "struck" or y0 < (top + bottom) / 2 < y1):
            return state
    return "seen"


def _seen(page: Page, f: Fragments, runs: Sequence[_Run]) -> dict[int, str]:
    """By number, the visible text of the fragments that are not fully visible."""
    missing = sum(len(run.written) for run in runs if run.state in ("unpainted", "behind"))
    is_scan = 2 * missing >= sum(map(len, f.text)) and _is_pictured(page)
    kept = {"seen", "unpainted", "behind"} if is_scan else {"seen"}
    boxes = {run: run.box for run in runs if run.state in {"doubtful", "behind"} - kept and run.written}
    visible = _contrasting(page, boxes) if boxes else set[_Run]()
    found = dict.fromkeys([run.number for run in runs], "")
    losing: set[int] = set()
    for run in runs:
        few = run.state == "struck" and len(run.written) < _MIN_STRUCK and not run.letters[0].text.isdigit()
        if run in visible or few or run.state in kept or not run.written:
            found[run.number] += "".join([one.text for one in run.letters])
        else:
            losing.add(run.number)
    return {n: clean(found[n]).strip() for n in losing}


def picture_shares(page: Page) -> list[float]:
    """The share of the page that each of its pictures covers."""
    whole = max(page.width * page.height, 1)
    return [
        max(min(x1, page.width) - max(x0, 0), 0) * max(min(y1, page.height) - max(y0, 0), 0) / whole
        for (x0, y0, x1, y1), *_ in page.pictures()
    ]


def _is_pictured(page: Page) -> bool:
    """Whether the page may be a scan."""
    return max(picture_shares(page), default=0) >= _SCAN


def _contrasting(page: Page, boxes: dict[_Run, Rect]) -> set[_Run]:
    """The runs whose letters are visible in a picture of the page with one pixel per point.

    They are judged without the space above and below and without marks that touch their sides. Bands without runs are not drawn.
    """
    x0, y0, x1, y1 = union(boxes.values())
    left, top = max(x0 - 1, 0), max(y0 - 1, 0)
    width, height = max(min(x1 + 1, page.width) - left, 1), max(min(y1 + 1, page.height) - top, 1)
    places: list[tuple[int, int, int, int, _Run]] = []
    for run, (x0, y0, x1, y1) in boxes.items():
        trim, side = (y1 - y0) / 6, min((x1 - x0) / 6, 1.5)
        edges = y0 + trim - top, y1 - trim - top + 1, x0 + side - left, x1 - side - left + 1
        upper, lower, start, end = map(int, edges)
        places.append((upper, lower, start, end, run))
    found, zoom = set[_Run](), round(height) / height
    first = int(top * zoom + 0.001)  # as the library rounds it
    for _, some in groupby(sorted(places, key=itemgetter(0)), key=lambda place: place[0] // _BAND):
        band = list(some)
        above, below = band[0][0], max(lower for _, lower, *_ in band)
        clip = (left, (first + above) / zoom, left + width, (first + below) / zoom)
        drawn = page.draw(clip, round(width), max(below - above, 1), grey=True)
        for upper, lower, start, end, run in band:
            low, high = drawn.crop((start, upper - above, end, lower - above)).getextrema()
            if cast("int", high) - cast("int", low) >= _CONTRAST:
                found.add(run)
    return found
