"""Removes blanks that only justify a line to the margin from the lines that a prompt shows.

The columns of tables keep their gaps. A quote copied from such a line is still found, because matching ignores white space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

_GAP = re.compile(r"(?<=\S)[ \u00a0\u2000-\u200a]{2,}(?=\S)")
_DRAWN = re.compile(r"[|\t\u2500-\u257f]")
_SENTENCE_END = re.compile("[.!?;:,][\"'\u201d\u2019)\\]]{0,2}\\d{0,3}\\Z")
_VALUE = re.compile(r"[-+\u2212\u2013(<>~$\u20ac\u00a3]{0,3}\d")


_NEAR = 4  # lines that are not blank


@dataclass(frozen=True)
class _Line:
    """Where the gaps of a line begin and end, and whether it is surely a table row: drawn, or mostly numbers after gaps.

    The end of the line itself does not count, because it is the margin.
    """

    starts: frozenset[int]
    ends: frozenset[int]
    is_row: bool

    def beside(self, other: _Line) -> _Line:
        return _Line(self.starts | other.starts, self.ends | other.ends, is_row=True)

    def fits(self, other: _Line) -> bool:
        """Whether most of its columns begin or end where those of `other` do."""
        most = len(self.starts)
        return 2 * len(self.starts & other.starts) > most or 2 * len(self.ends & other.ends) > most


_NOTHING = _Line(frozenset(), frozenset(), is_row=False)


def unpadded(lines: Sequence[str]) -> list[str]:
    """The lines, in order. In lines that are no table row, each run of blanks becomes one blank."""
    words = [number for number, line in enumerate(lines) if line.strip()]
    parsed = [_parsed(lines[number]) for number in words]
    shown = list(lines)
    for place, number in enumerate(words):
        if not _in_table(parsed, place):
            shown[number] = _GAP.sub(" ", lines[number]).rstrip()
    return shown


def _parsed(line: str) -> _Line:
    gaps = list(_GAP.finditer(line))
    if len(gaps) == 1 and _SENTENCE_END.search(line, 0, gaps[0].start()):
        gaps = []
    values = sum(_VALUE.match(line, gap.end()) is not None for gap in gaps)
    is_row = _DRAWN.search(line) is not None or 2 * values >= len(gaps) > 0
    return _Line(frozenset(gap.end() for gap in gaps), frozenset(gap.start() for gap in gaps), is_row)


def _in_table(lines: Sequence[_Line], place: int) -> bool:
    """Whether the line is a table row: surely one, or its columns fit the line before or after it or the rows near it."""
    this = lines[place]
    if this.is_row or not this.starts:
        return this.is_row
    before, after = lines[max(0, place - _NEAR) : place], lines[place + 1 : place + 1 + _NEAR]
    rows = reduce(_Line.beside, (one for one in (*before, *after) if one.is_row), _NOTHING)
    return any(this.fits(one) for one in (*before[-1:], *after[:1], rows))
