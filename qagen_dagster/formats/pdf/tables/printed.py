"""Tables that a program printed in letters of one width: a column of blanks parts the cells of all their rows."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from statistics import median
from typing import NamedTuple

from qagen_dagster.formats.pdf.fragments import Font, Fragments
from qagen_dagster.formats.pdf.reading_order import Row
from qagen_dagster.formats.pdf.tables.empty_cells import BAR

_Line = tuple[str, Row]

_VALUE = re.compile(r"[-+<]?\d(?:[\d.,:]*[\d.])?(?:e[-+]?\d+)?%?|<?NA>?|NaN|-?Inf|[.%]")
_NUMBER = re.compile(r"(?<!\S)[-+<]?[\dN.]")  # begins a value
_DIGIT = re.compile(r"\d")
_FONT = re.compile(r"mono|cour|tt\d|typewr|consol|menlo", re.IGNORECASE)
_EXACT = 5  # of this many parts of a letter, the width of a fragment may differ by one
_LONG = 8  # letters of a fragment that shows their width
_FEW = 3  # such fragments show that a font has letters of one width


class _Word(NamedTuple):
    """A word and where it begins and ends, in letters from the left; `apart`: more than one blank is before it."""

    start: int
    end: int
    text: str
    apart: bool


def part_printed(f: Fragments, lines: list[_Line], cells: Collection[int], joined: set[int]) -> None:
    """Part the rows of values among the lines, and those above them, beside lines with `cells`, but not those `joined`."""
    letters: dict[Font, float] = {}
    end = 0
    for number in cells:
        if number < end or number in joined:
            continue
        first, end = number, number + 1
        while first and lines[first - 1][1] and first - 1 not in joined:
            first -= 1
        while end < len(lines) and lines[end][1] and end not in joined:
            end += 1
        block = [n for n in range(number, end) if n in cells] if end > first + 1 else []
        if any(_pitch(f, lines[n][1], letters) for n in block):
            _part_lines(f, lines, range(first, end), letters)


def _part_lines(f: Fragments, lines: list[_Line], numbers: range, letters: dict[Font, float]) -> None:
    """Part blocks of rows of values among lines without space between them."""
    block: list[Row] = []
    width = 0.0
    count = 0  # values of the last row
    end = numbers.start  # of the block before
    for number in range(numbers.start, numbers.stop + 1):
        text, row = lines[number] if number < numbers.stop else ("", [])
        values = len(_NUMBER.findall(text))
        if values > 1:
            values = sum([_VALUE.fullmatch(word) is not None for word in text.split()])
        now = _width(f, row, letters) if values > 1 else 0.0
        if block and (now != width or 2 * values < count):
            first = number - len(block)
            above = lines[first - 1][1] if first > end else []
            head = above if above and _width(f, above, letters) == width else []
            for place, shown in enumerate(_parted(f, [head, *block], width), first - 1):
                if shown:
                    lines[place] = (shown, lines[place][1])
            block, end = [], number
        if now:
            width, count = now, values
            block.append(row)


def _width(f: Fragments, row: Row, letters: dict[Font, float]) -> float:
    """The width of a line's letters if it is the same for all, else 0."""
    width = _pitch(f, row, letters)
    return width if width and all(f.font[n] == f.font[row[0]] and _fits(f, n, width) for n in row) else 0.0


def _pitch(f: Fragments, row: Row, letters: dict[Font, float]) -> float:
    """The width of the letters of a line's first font if it is the same for all, else 0."""
    font = f.font[row[0]] if row else Font()
    if font not in letters:
        letters[font] = _width_of_letters(f, font)
    return letters[font]


def _width_of_letters(f: Fragments, font: Font) -> float:
    """The width of a font's letters if most of its long fragments show the same, else 0. By its name, all show it."""
    named = _FONT.search(font.name)
    own = [n for n, one in enumerate(f.font) if one is font]  # most equal fonts are one object
    long = [n for n in own if len(f.text[n]) >= _LONG] or (own if named else [])
    width = median((f.x1[n] - f.x0[n]) / len(f.text[n]) for n in long) if long else 0.0
    same = [n for n in long if _fits(f, n, width)]
    several = named or len({_DIGIT.sub("0", f.text[n]) for n in same}) >= _FEW
    return width if several and 3 * len(same) >= 2 * len(long) else 0.0


def _fits(f: Fragments, n: int, width: float) -> bool:
    return _EXACT * abs(f.x1[n] - f.x0[n] - len(f.text[n]) * width) <= width


def _parted(f: Fragments, block: Sequence[Row], width: float) -> list[str]:
    """The text of rows and of the head before them, empty where it stays as it is."""
    left = min(f.x0[n] for row in block for n in row)
    head, *rows = [_words(f, row, left, width) for row in block]
    ends = _ends(rows, head)
    heads = len({word.end for word in head}.intersection(ends[1:])) / max(len(ends) - 1, 1)
    if len(ends) < 2 or (len(rows) < 2 and heads < 1):
        return []
    shown = [_shown(_by_column(words, ends)) for words in rows]
    return [_shown(_by_column(head, ends)) if 2 * heads >= 1 else "", *shown]


def _words(f: Fragments, row: Row, left: int, width: float) -> list[_Word]:
    return [
        _Word(start + one.start(), start + one.end(), one[0], n != row[0] and not one.start())
        for n in row
        for start in [round((f.x0[n] - left) / width)]
        for one in re.finditer(r"\S+", f.text[n])
        if one[0] != "|"
    ]


def _ends(rows: Sequence[Sequence[_Word]], head: Sequence[_Word]) -> list[int]:
    """Where columns end, if half of them have only values. Words one blank apart are one column without a head between."""
    heads = {word.end for word in head}
    columns: list[list[_Word]] = []
    end = -1
    for word in sorted(word for words in rows for word in words):
        if word.start > end:
            columns.append([])
        columns[-1].append(word)
        end = max(end, word.end)
    values = [all(_VALUE.fullmatch(word.text) for word in column) for column in columns]
    ends = [max(word.end for word in column) for column in columns]
    found: list[int] = []
    for n, column in enumerate(columns):
        words = n and not (values[n - 1] or values[n] or ends[n - 1] in heads)
        if words and not any(word.apart for word in column):
            found.pop()
        found.append(ends[n])
    return found if 2 * sum(values) >= len(found) - 1 else []


def _by_column(words: Sequence[_Word], ends: Sequence[int]) -> list[list[str]]:
    """The words of a line by the column in which they end: values and their heads stand at its right."""
    cells: list[list[str]] = [[] for _ in ends]
    for word in words:
        cells[min(bisect_left(ends, word.end), len(ends) - 1)].append(word.text)
    return cells


def _shown(cells: Sequence[Sequence[str]]) -> str:
    last = max((n for n, cell in enumerate(cells) if cell), default=0)
    return BAR.join(map(" ".join, cells[: last + 1])).replace("  ", " ").strip()
