"""Puts lines with Hebrew or Arabic letters into the order in which they are read, by the position of each letter on the page.

Files draw such letters in different orders, and the library reverses some runs of them. Only the positions of the letters are
reliable. Sorted from left to right, the letters give the line as it is displayed. The rules of bidirectional writing, applied
backwards, give the line as it is read.
"""

import re
import unicodedata
from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import RTL, Fragments, clean
from qagen_dagster.formats.pdf.mupdf import SCALE, Letter, Printed

_LTR = "A-Za-z\xc0-\u024f\u0370-\u058f"
_DIGIT = "0-9\u0660-\u0669\u06f0-\u06f9"
# The parts of a right-to-left line that are read from left to right: runs of words in other scripts, and numbers.
_LEFT_TO_RIGHT = re.compile(
    f"[%$\u20ac\xa3\xb0#]*(?:[{_DIGIT}][{_DIGIT}.,:/\u066a-\u066c]*)?[{_LTR}](?:[^\u0590-\u08ff\ufb1d-\ufefc]*[{_LTR}{_DIGIT}])?"
    f"|[%$\u20ac\xa3\xb0#]*[{_DIGIT}](?:[.,:/\u066a-\u066c\u2013-]?[{_DIGIT}])*[%$\u20ac\xa3\xb0#]*"
)
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufefc](?:[^A-Za-z\xc0-\u024f\u0370-\u058f]*[\u0590-\u08ff\ufb1d-\ufefc])?"
)
_PROPER = re.compile(r"(?:^|\s)[(\[\xab]\w|\w[)\]\xbb](?:$|[\s.,:\u060c])")
_IMPROPER = re.compile(r"(?:^|\s)[)\]\xbb]\w|\w[(\[\xab](?:$|[\s.,:\u060c])|\w[(\[\xab](?=\w)")
_TURNED = str.maketrans("()[]{}<>\xab\xbb", ")(][}{><\xbb\xab")
_NO_MARKS = dict.fromkeys(map(ord, " ^_()\xa0"))
_APART = 5  # minimum gap between pieces that may be cells, in tenths of the letter size
_NO_WIDTH = 0.01  # points; a narrower letter has no width
_BESIDE = 3  # an accent belongs to one of this many letters on each side
_SPACE = 2  # minimum gap between words, in tenths of the letter size


class _Letter(NamedTuple):
    left: float
    right: float
    text: str  # with its accents


def in_reading_order(printed: Printed, f: Fragments) -> Fragments:
    """The fragments, with Hebrew and Arabic text in reading order. Pieces of a line that are far apart become separate fragments."""
    if not f.has_rtl:
        return f
    lines = printed.letters({line for line, text in zip(f.line, f.text, strict=True) if RTL.search(text)})
    found: list[tuple[int, str, int, int]] = []
    for n, text in enumerate(f.text):
        parts = [(text, f.x0[n], f.x1[n])]
        letters = lines.get(f.line[n], [])
        if RTL.search(text) and _key(clean("".join([one.text for one in letters]))) == _key(text):
            parts = [_read(part, f) for part in _parted(_in_place(letters), f.size[n])]
        found += [(n, *part) for part in parts if part[0].strip()]
    return f.cut(found)


def with_brackets(line: str) -> str:
    """The line. In right-to-left text, all brackets are mirrored if most of them open or close on the wrong side."""
    if RTL.search(line) and len(_IMPROPER.findall(line)) > len(_PROPER.findall(line)):
        return line.translate(_TURNED)
    return line


def _key(text: str) -> list[str]:
    """The sorted characters of a line, without spaces, parentheses and the marks of raised and lowered letters."""
    return sorted(text.translate(_NO_MARKS))


def _in_place(letters: Sequence[Letter]) -> list[_Letter]:
    """The letters of a line from left to right, each with its accents.

    A letter without a width is taken for the second letter of a ligature. It is at the right edge of the first letter.
    """
    found: list[_Letter] = []
    others: list[_Letter] = []
    for letter in letters:
        (left, right), text = letter.sides, letter.text
        if right - left < _NO_WIDTH and text < " ":
            continue  # a code for which the font draws nothing
        text = unicodedata.normalize("NFKC", text) if "\ufb00" <= text <= "\ufefc" else text
        one = _Letter(left, right, text)
        is_other = unicodedata.combining(text[0]) or (one.right - one.left < _NO_WIDTH and text.strip())
        last = others[-1] if is_other and others else None
        if last and unicodedata.combining(last.text[0]) and last[:2] == (left, left) and text.isalpha():
            one, is_other = _Letter(left, left, text + others.pop().text), ""  # a glyph that lost its width
        (others if is_other else found).append(one)
    found.sort(key=lambda one: one.left + one.right)
    for n, (one, after) in enumerate(pairwise(found)):
        if one.left == one.right:  # it ends where the next letter starts
            end = after.right if after.left == one.left else max(one.left, after.left)
            found[n] = one._replace(right=end)
    middles = [one.left + one.right for one in found]
    for one in others if found else ():
        middle = (one.left + one.right) / 2
        at = bisect(middles, 2 * middle)
        near = range(max(at - _BESIDE, 0), min(at + _BESIDE, len(found)))
        place = min(near, key=lambda n: _distance(found[n], one, middle))
        found[place] = found[place]._replace(text=found[place].text + one.text)
    return found or others


def _distance(letter: _Letter, other: _Letter, middle: float) -> float:
    if not letter.text.strip():
        return 1e9
    if unicodedata.combining(other.text[0]):
        return max(letter.left - middle, middle - letter.right, 0)
    return abs(letter.right - middle)


def _parted(letters: Sequence[_Letter], size: int) -> list[list[_Letter]]:
    """The letters, divided into pieces at wide gaps, with spaces at gaps of _SPACE, or of half of _SPACE where the page has a space."""
    parts: list[list[_Letter]] = []
    last: _Letter | None = None
    spaced = False
    for letter in letters:
        if not letter.text.strip():
            spaced = True
            continue
        gap = SCALE * (letter.left - last.right) if last else 0.0
        if last is None or 10 * gap > _APART * size:
            parts.append([])
        elif 10 * gap > (_SPACE // 2 if spaced else _SPACE) * size:
            parts[-1].append(_Letter(last.right, letter.left, " "))
        parts[-1].append(letter)
        last, spaced = letter, False
    return parts


def _read(letters: Sequence[_Letter], f: Fragments) -> tuple[str, int, int]:
    """The text of a piece in reading order, and its left and right edge in tenths of a point."""
    # `clean` would take a symbol by itself for a bullet.
    seen = [one.text if one.text.isalpha() else clean(f"x{one.text}")[1:] for one in letters]
    joined = "".join(seen)
    others = len(re.findall(f"[{_LTR}]", joined))
    rtl = len(RTL.findall(joined)) > others or (f.rtl and not others)
    sides = int(letters[0].left * SCALE), int(letters[-1].right * SCALE)
    return (logical(seen, rtl=rtl), *sides)


def logical(seen: Sequence[str], *, rtl: bool) -> str:
    """The text in reading order. `seen` has the letters from left to right; with `rtl`, the line is read from right to left."""
    pattern = _LEFT_TO_RIGHT if rtl else _RIGHT_TO_LEFT
    parts: list[str] = []
    done = 0
    for run in pattern.finditer("".join(one[0] for one in seen)):
        own = seen[run.start() : run.end()]
        parts += [*seen[done : run.start()], "".join(own) if rtl else logical(own, rtl=True)]
        done = run.end()
    parts += seen[done:]
    return "".join(reversed(parts) if rtl else parts)
