"""Leaves out the text of a page that nobody sees or that is struck out.

Nobody sees text of the colour of its background, tiny or transparent text, text that is not painted, and text behind a picture or
a bar. The library has left out what is outside of the page. Text that is not painted counts on a scanned page, where it is what a
program recognised in the picture. Only doubtful letters are looked for in a picture of the page.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Sequence
from functools import lru_cache
from html import unescape
from itertools import count, groupby
from operator import add
from typing import NamedTuple

from PIL import Image

from qagen_dagster.formats.pdf.fragments import Fragments, clean
from qagen_dagster.formats.pdf.mupdf import SCALE, Page, Pdf, Printed, Rect

_TINY = 10  # tenths of a point; smaller letters are dots
_PALE = re.compile("(?<=;color:#)[ef].[ef].[ef]")
_LIGHT = 0xE0  # least part of a colour that may be that of the paper
_TRANSPARENT = 13  # greatest opacity, of 255, of letters that nobody sees
_CONTRAST = 24  # least difference of grey between letters that can be seen and their background
_DARK, _MIN_INK = 110, 0.03  # grey of ink, and the least share of the pixels of a text that it covers
_SCAN = 0.5  # least share of a scanned page that pictures cover
_MOST_BARS = 1_500  # of a page that is searched for them
_MOST_COVERS = 100  # of a page; more are a drawing
_STRUCK = (0.12, 0.45)  # letter sizes above the baseline at which letters are struck out
_MIN_STRUCK = 3  # letters; in formulas single letters are crossed
_END = 4  # points between the ends of such a rule and those of the words
_CHAR = re.compile(
    r'<char c="([^"]*)" quad="([\d.-]+) ([\d.-]+) [^"]* ([\d.-]+) ([\d.-]+)" x="[^"]*" y="([\d.-]+)"[^>]*? color="#(..)(..)(..)" alpha="#(..)" flags="(\d+)"'
)
_KIND = re.compile(r'color="#(..)(..)(..)" alpha="#(..)" flags="(\d+)"')
_FILLED = b'"stroked":0,"rectangle":1'
_BLOCK = re.compile(rb'<(line|vector|image) bbox="([^"]+)"([^>]*)')
_OPAQUE = re.compile(rb' stroke="0" rectangle="1".* argb="ff')
_LIGHT_BAR = re.compile(rb' argb="ff[ef].[ef].[ef]')
_BAR = 4  # points; a thinner rectangle hides no letters
_PAINTED = 16 | 32 | 64  # flags of letters that are filled, stroked or used for clipping


class _Drawn(NamedTuple):
    """A picture of a part of a page, a pixel a point, and its corner."""

    picture: Image.Image
    left: float
    top: float

    def part(self, box: Rect) -> Image.Image:
        """The part that shows a box, without the room above and below its letters, and without what touches its sides."""
        trim = (box[3] - box[1]) / 6
        side = min((box[2] - box[0]) / 6, 1.5)
        left, right = int(box[0] + side - self.left), int(box[2] - side - self.left + 1)
        return self.picture.crop(
            (left, int(box[1] + trim - self.top), right, int(box[3] - trim - self.top + 1))
        )


class _Painted(NamedTuple):
    """A bar or a picture, and the number of lines of text that are painted before it."""

    lines: int
    box: Rect
    dark: bool  # no letter in a pale colour is lost on it


class _Letter(NamedTuple):
    text: str
    box: Rect  # points
    state: str  # "seen", "struck", "unpainted", or why it is doubtful: "light", "barred", "behind"


def without_hidden(pdf: Pdf, printed: Printed, f: Fragments) -> Fragments:
    """The fragments that can be seen. `hidden` counts the others, and the parts that others lost."""
    if not f.text:
        return f
    shown: dict[int, str] = {
        n: "" for n, size in enumerate(f.size) if size <= _TINY and f.y1[n] - f.y0[n] <= 2 * _TINY
    }
    few = 0 < printed.json.count(_FILLED) <= _MOST_BARS
    bars = _painted(printed.blocks, b"vector") if few else []
    strikes = _struck(printed, f)
    covers = _over(f, [one for one in bars if one.lines], later=True)
    pictures = _over(
        f, _painted(printed.blocks_and_pictures(), b"image") if printed.covers else [], later=True
    )
    pale = _pale_lines(printed) if printed.hides else set[int]()
    if pale or covers or pictures or strikes:
        lines = printed.letters().split("<line ")[1:]
        some = sorted({*covers, *pictures, *strikes, *(n for n, line in enumerate(f.line) if line in pale)})
        dark = _over(f, [one for one in bars if one.dark] if pale else [], later=False)
        state = _State(f.size, covers, pictures, strikes, dark)
        letters = {n: state.letters(n, lines[f.line[n]]) for n in some}
        shown |= _seen(pdf.page(printed.number), f, letters)
    shadows = _shadows(f)
    if not shown and not shadows:
        return f
    kept = [n for n in range(len(f.text)) if n not in shadows and shown.get(n, "x")]
    return f.chosen(kept, text=[shown.get(n, f.text[n]) for n in kept], hidden=len(shown))


def _shadows(f: Fragments) -> set[int]:
    """The fragments that are printed once more at nearly the same place, as a shadow or for bold."""
    found: set[int] = set()
    if len(set(f.text)) == len(f.text):
        return found
    before: dict[str, list[int]] = {}
    for n, text in enumerate(f.text):
        near = f.size[n] // 3
        same = before.setdefault(text, [])
        if any(abs(f.x0[n] - f.x0[m]) < near and abs(f.y0[n] - f.y0[m]) < near for m in same):
            found.add(n)
        same.append(n)
    return found


def _pale_lines(printed: Printed) -> set[int]:
    """The numbers of the lines that may be as light as paper or not painted."""
    lines = printed.html().split("<p style=")[1:]
    return {
        n
        for n, line in enumerate(lines)
        if printed.hides == "any"
        or line.count("<span style=") != line.count(";color:#")
        or _PALE.search(line)
    }


_Covers = dict[int, list[Rect]]  # by fragment


def _struck(printed: Printed, f: Fragments) -> _Covers:
    """The level rules that cross fragments and are not longer."""
    strikes: _Covers = {}
    level = sorted((y0 + y1 >> 1, x0, x1) for x0, y0, x1, y1 in printed.rules if x1 - x0 > 4 * (y1 - y0))
    at = [y for y, _, _ in level]
    for n, (top, bottom) in enumerate(zip(f.y0, f.y1, strict=True)) if level else ():
        found = [
            (x0 / SCALE, y / SCALE, x1 / SCALE, y / SCALE)
            for y, x0, x1 in level[
                bisect(at, top + (bottom - top) // 4) : bisect(at, bottom - (bottom - top) // 4)
            ]
            if x0 > f.x0[n] - _END * SCALE and x1 < f.x1[n] + _END * SCALE
        ]
        if found:
            strikes[n] = found
    return strikes


def _over(f: Fragments, painted: Sequence[_Painted], *, later: bool) -> _Covers:
    """The boxes at the place of each fragment that are painted later or earlier than it."""
    found: _Covers = {}
    middles = sorted(zip(map(add, f.y0, f.y1), count(), strict=False)) if painted else []
    for before, box, _ in painted[-_MOST_COVERS:]:
        x0, y0, x1, y1 = (int(side * SCALE) for side in box)
        for _, n in middles[bisect(middles, (2 * y0, 0)) : bisect(middles, (2 * y1, 0))]:
            if (f.line[n] < before) == later and f.x0[n] < x1 and x0 < f.x1[n]:
                found.setdefault(n, []).append(box)
    return found


def _holds(covers: Sequence[Rect], box: Rect) -> bool:
    """Whether the middle of a letter lies in any of the boxes."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(x0 < x < x1 and y0 < y < y1 for x0, y0, x1, y1 in covers)


@lru_cache(1_000)
def _is_plain(kind: tuple[str, str, str, str, str]) -> bool:
    """Whether letters of this colour, opacity and kind of painting are seen unless something covers them."""
    red, green, blue, alpha, flags = kind
    painted = int(flags) & _PAINTED and int(alpha, 16) > _TRANSPARENT
    return bool(painted) and min(int(red, 16), int(green, 16), int(blue, 16)) < _LIGHT


def _painted(blocks: bytes, kind: bytes) -> list[_Painted]:
    """The opaque bars (`vector`) or the pictures (`image`) among the blocks."""
    found: list[_Painted] = []
    lines = 0
    for what, sides, more in _BLOCK.findall(blocks):
        if what == b"line":
            lines += 1
        elif what == kind and (kind == b"image" or _OPAQUE.match(more)):
            x0, y0, x1, y1 = map(float, sides.split())
            if min(x1 - x0, y1 - y0) > _BAR:
                found.append(
                    _Painted(lines, (x0, y0, x1, y1), kind != b"image" and not _LIGHT_BAR.search(more))
                )
    return found


class _State(NamedTuple):
    """What may hide the letters of a page."""

    sizes: Sequence[int]
    bars: _Covers
    pictures: _Covers
    strikes: _Covers
    dark: _Covers  # bars behind

    def letters(self, n: int, line: str) -> list[_Letter]:
        """The letters of a fragment's line; none if all of them are seen."""
        found: list[_Letter] = []
        covered = n in self.bars or n in self.pictures or n in self.strikes
        if not covered and all(map(_is_plain, set(_KIND.findall(line)))):
            return found
        strikes = self._strikes(n, line)
        for text, *sides, base, red, green, blue, alpha, flags in _CHAR.findall(line):
            x0, y0, x1, y1 = map(float, sides)
            box = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
            if _is_plain((red, green, blue, alpha, flags)):
                state = self._of(n, box, float(base), strikes) if covered else "seen"
            elif int(flags) & _PAINTED and int(alpha, 16) > _TRANSPARENT:
                state = "seen" if _holds(self.dark.get(n, ()), box) else "light"
            else:
                state = "unpainted"
            found.append(_Letter(unescape(text), box, state))
        return found

    def _strikes(self, n: int, line: str) -> list[Rect]:
        """The rules that begin and end where words of the line do. Others belong to a drawing or a formula."""
        if n not in self.strikes:
            return []
        words = [
            list(run) for blank, run in groupby(_CHAR.findall(line), lambda one: one[0] == " ") if not blank
        ]
        starts, ends = ([float(word[place][side]) for word in words] for place, side in ((0, 1), (-1, 3)))
        return [
            rule
            for rule in self.strikes[n]
            if any(abs(x - rule[0]) < _END for x in starts) and any(abs(x - rule[2]) < _END for x in ends)
        ]

    def _of(self, n: int, box: Rect, base: float, strikes: Sequence[Rect]) -> str:
        middle = (box[0] + box[2]) / 2
        top, low = (base - share * self.sizes[n] / SCALE for share in reversed(_STRUCK))
        if any(x0 < middle < x1 and top < y < low for x0, y, x1, _ in strikes):
            return "struck"
        for covers, state in ((self.bars, "barred"), (self.pictures, "behind")):
            if _holds(covers.get(n, ()), box):
                return state
        return "seen"


def _seen(page: Page, f: Fragments, letters: dict[int, list[_Letter]]) -> dict[int, str]:
    """What can be seen of those of the fragments that are not seen as a whole."""
    everything = [one for line in letters.values() for one in line if one.text.strip()]
    missing = sum(one.state in ("unpainted", "behind") for one in everything)
    is_scan = 2 * missing >= sum(map(len, f.text)) and _pictured(page) >= _SCAN
    doubtful = [one.box for one in everything if one.state in ("light", "barred", "behind")]
    picture = _drawn(page, doubtful) if doubtful and not (is_scan and missing == len(everything)) else None
    found: dict[int, str] = {}
    for n, line in letters.items():
        parts: list[str] = []
        for state, run in groupby(line, key=lambda one: one.state):
            some = list(run)
            text = "".join(one.text for one in some)
            boxes = [one.box for one in some if one.text.strip()]
            if not boxes or _is_visible(state, boxes, picture, is_scan=is_scan):
                parts.append(text)
        whole = "".join(one.text for one in line)
        if (shown := "".join(parts).strip()) != whole.strip():
            found[n] = clean(shown).strip()
    return found


def _is_visible(state: str, boxes: Sequence[Rect], picture: _Drawn | None, *, is_scan: bool) -> bool:
    """Whether letters of one state can be seen at their boxes. The box of a picture includes what clipping hides."""
    if state in ("seen", "struck"):
        return state == "seen" or len(boxes) < _MIN_STRUCK
    if state == "unpainted" or picture is None:
        return is_scan
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    part = picture.part((min(x0), min(y0), max(x1), max(y1)))
    if state == "behind":
        counts = part.histogram()
        return is_scan or sum(counts[:_DARK]) >= _MIN_INK * sum(counts)
    low, high = (int(one) for one in part.getextrema() if isinstance(one, int | float))
    return high - low >= _CONTRAST


def _pictured(page: Page) -> float:
    """The share of the page that its largest picture covers."""
    areas = [_common(box, page.box) for box, *_ in page.pictures()]
    return max(areas, default=0.0) / max(page.width * page.height, 1)


def _common(a: Rect, b: Rect) -> float:
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)


def _drawn(page: Page, boxes: Collection[Rect]) -> _Drawn:
    """The part of a page that holds some boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    left, top = max(min(x0) - 1, 0), max(min(y0) - 1, 0)
    wide, high = max(min(max(x1) + 1, page.width) - left, 1), max(min(max(y1) + 1, page.height) - top, 1)
    drawn = page.draw((left, top, left + wide, top + high), round(wide), round(high), grey=True)
    return _Drawn(drawn, left, top)
