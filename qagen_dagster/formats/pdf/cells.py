"""Cells of tables without ruling lines: fragments that stand apart, in lines as the page shows them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Line, Row

SAME = 25  # tenths of a point; edges or lines that are closer count as one
BAR = " | "
SIGNS = frozenset("$\u20ac\u00a3\u00a5")  # such a sign belongs to the next number, at any distance
_MIN_CELLS = 3  # minimum cells of a row that shows the columns
_MIN_BETWEEN = 4  # minimum cells of a row that shows where a cell between others is empty
_PROSE = 40  # maximum characters of a line of one piece that does not end a table
_Span = tuple[int, int]  # left and right edge of a cell
Cells = list[list[int]]  # the fragments of each cell
_STRETCHED = 4  # minimum cells of a line that may be prose with wide spaces
_WORD = re.compile(r"[a-z][^\W\d_]*[,;:.]?")
_HEADING_NUMBER = re.compile(r"[\d.]+")
_DOTS = re.compile(r"[. …·]+")
_NUMERATOR = re.compile(r"(?:^|[\s(])\d{1,2}$")
_DENOMINATOR = re.compile(r"\^\d{1,2} ")
_WIDE = 18  # minimum distance between two cells, in tenths of the letter size
_CLOSE = 10  # the same if a line has several cells
_EXACT = 5  # tenths of a point between left edges of close cells


def unbroken(lines: Iterable[str]) -> str:
    """The lines of a cell or caption joined to one line, with hyphenated words rejoined."""
    text = ""
    for line in lines:
        if text.endswith("-") and text[-2:-1].isalpha() and line[:1].isalpha():
            text = (text[:-1] if line[0].islower() else text) + line
        else:
            text = f"{text} {line}" if text else line
    return text


def with_empty_cells(f: Fragments, lines: list[Line], cells: Mapping[int, Cells]) -> None:
    """Add empty cells before or between those of a row, according to the row with the most cells of the same block.

    `cells` holds the cells of the lines that have several, by the lines' numbers.
    """
    run: dict[int, list[_Span]] = {}
    for n, (text, _) in enumerate([*lines, ("", [])]):
        if n in cells and text.count(BAR) == len(cells[n]) - 1:  # its texts may have bars
            run[n] = [(f.x0[cell[0]], f.x1[cell[-1]]) for cell in cells[n]]
        elif not text or len(text) > _PROSE:
            wide = max(run.values(), key=len, default=list[_Span]())
            for number, spans in run.items() if len(wide) >= _MIN_CELLS else ():
                lines[number] = (_filled(lines[number][0], spans, wide), lines[number][1])
            run = {}


def _filled(text: str, cells: Sequence[_Span], wide: Sequence[_Span]) -> str:
    """The text of a row with its missing cells if each of its cells stands in one column of `wide`; else the text as it is."""
    places: list[int] = []
    for left, right in cells:
        columns = [place for place, (x0, x1) in enumerate(wide) if x0 < right and left < x1]
        if len(columns) != 1 or (places and columns[0] <= places[-1]):
            return text
        places.append(columns[0])
    if places[-1] - places[0] >= len(places) and len(wide) < _MIN_BETWEEN:
        return text
    shown = dict(zip(places, text.split(BAR), strict=True))
    filled = BAR.join(shown.get(place, "") for place in range(places[-1] + 1))
    return filled.replace("  ", " ").strip()


def cells_of(f: Fragments, rows: Sequence[Row], number: int) -> Cells:
    """The fragments of a row, split into cells where fragments stand clearly apart, or where a cell begins above or below."""
    row = rows[number]
    wide = _CLOSE if len(row) > 2 else _WIDE
    cells = [[row[0]]]
    for last, n in pairwise(row):
        gap = 10 * f.gap(last, n)
        if gap < _CLOSE * f.size[last] or f.text[last] in SIGNS or is_dotted(f, last, n):
            cells[-1].append(n)
        elif gap >= wide * f.size[last] or _is_below(f, rows, number, last, n):
            cells.append([n])
        else:
            cells[-1].append(n)
    return [row] if len(cells) >= _STRETCHED and _is_stretched(f, rows, number, cells) else cells


def _is_stretched(f: Fragments, rows: Sequence[Row], number: int, cells: Cells) -> bool:
    """Whether a row is a line of prose with wide spaces: most of its cells are words, and hardly any stands above or below a cell."""
    words = sum(_WORD.fullmatch(f.text[cell[0]]) is not None for cell in cells if len(cell) == 1)
    if words * 3 < len(cells) * 2:
        return False
    beside = [*rows[max(number - 1, 0) : number], *rows[number + 1 : number + 2]]
    aligned = sum(any(_begins_cell(f, other, cell[0]) for other in beside) for cell in cells[1:])
    return aligned * 3 < len(cells)


def _is_below(f: Fragments, rows: Sequence[Row], number: int, last: int, n: int) -> bool:
    """Whether the line above or below has a cell at the left edge of fragment `n`.

    After the number of a heading, a bullet or a prompt not even that is enough.
    """
    if not any(map(str.isalnum, f.text[last])) or (
        _HEADING_NUMBER.fullmatch(f.text[last]) and not f.text[n][:1].isdigit()
    ):
        return False
    beside = [*rows[max(number - 1, 0) : number], *rows[number + 1 : number + 2]]
    return any(_begins_cell(f, other, n) for other in beside)


def _begins_cell(f: Fragments, row: Row, n: int) -> bool:
    """Whether a cell of a line, other than its first, begins at the edge at which fragment `n` begins to be read."""
    edges = f.x1 if f.rtl else f.x0
    return any(
        abs(edges[m] - edges[n]) < _EXACT and f.gap(last, m) * 10 >= _CLOSE * f.size[last]
        for last, m in pairwise(row)
    )


def is_dotted(f: Fragments, last: int, n: int) -> bool:
    """Whether one of two fragments consists of dots, which lead to the other."""
    return bool(_DOTS.fullmatch(f.text[n]) or _DOTS.fullmatch(f.text[last]))


def joined(f: Fragments, cells: Cells) -> str:
    """The text of a line with bars between its cells."""
    return BAR.join([f.text[cell[0]] if len(cell) == 1 else _text(f, cell) for cell in cells])


def _text(f: Fragments, cell: Sequence[int]) -> str:
    parts = [f.text[cell[0]]]
    for last, n in pairwise(cell):
        if _NUMERATOR.search(parts[-1]) and _DENOMINATOR.match(f.text[n]):
            parts.append(f"/{f.text[n][1:]}")  # a small number below the small number before it
            continue
        # Two numbers, or the library had joined them
        is_number = parts[-1][-1:].isdigit() and f.text[n][0].isdigit()
        if is_number or f.gap(last, n) * 8 > f.size[last] or is_dotted(f, last, n):
            parts.append(" ")
        parts.append(f.text[n])
    return "".join(parts)
