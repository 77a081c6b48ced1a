"""Blanks that only fill a line out to the margin, taken out of what a prompt shows.

Columns keep their gaps. Quotes copied from such lines are found all the same: matching them ignores white space. What does
not belong here: which lines are shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_GAP = re.compile(r"(?<=\S)[ \u00a0\u2000-\u200a]{2,}(?=\S)")
_DRAWN = re.compile(r"[|\t\u2500-\u257f]")
_SENTENCE_END = re.compile("[.!?;:,][\"'\u201d\u2019)\\]]{0,2}\\d{0,3}\\Z")
_VALUE = re.compile(r"[-+\u2212\u2013(<>~$\u20ac\u00a3]{0,3}\d")


@dataclass(frozen=True)
class _Line:
    """Where the gaps of a line end and begin, and how many of them stand before a number.

    Where the line itself ends says nothing: that is the margin.
    """

    starts: frozenset[int]
    ends: frozenset[int]
    values: int


def unpadded(lines: Sequence[str]) -> list[str]:
    """The lines, in order; inside those that are no row of a table one blank for each run of blanks."""
    parsed = [_parsed(line) for line in lines]
    words = [number for number, line in enumerate(lines) if line.strip()]
    shown = list(lines)
    for place, number in enumerate(words):
        this = parsed[number]
        near = words[max(0, place - 1) : place] + words[place + 1 : place + 2]
        if not _is_row(lines[number], this, [parsed[one] for one in near]):
            shown[number] = _GAP.sub(" ", lines[number]).rstrip()
    return shown


def _parsed(line: str) -> _Line:
    gaps = list(_GAP.finditer(line))
    if len(gaps) == 1 and _SENTENCE_END.search(line, 0, gaps[0].start()):
        gaps = []
    values = sum(_VALUE.match(line, gap.end()) is not None for gap in gaps)
    return _Line(frozenset(gap.end() for gap in gaps), frozenset(gap.start() for gap in gaps), values)


def _is_row(line: str, this: _Line, near: Sequence[_Line]) -> bool:
    """Drawn columns; mostly numbers after the gaps; or most cells in line with those of the line before or after."""
    cells = len(this.starts)
    return (
        _DRAWN.search(line) is not None
        or 2 * this.values >= cells > 0
        or any(
            2 * len(this.starts & one.starts) > cells or 2 * len(this.ends & one.ends) > cells for one in near
        )
    )
