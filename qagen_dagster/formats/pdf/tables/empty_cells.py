"""Empty cells of tables on a page: rows that lack cells are filled up, so that columns stay under their heads."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.reading_order import Row

BAR = " | "
SIGNS = frozenset("$\u20ac\u00a3\u00a5")  # these belong to the next number, at any distance
_MIN_CELLS = 3  # of a row that shows the columns
_MIN_BETWEEN = 4  # of a row that shows an empty cell between others
_PROSE = 40  # maximum characters of a line of one piece that does not end a table

_Line = tuple[str, Row]
_Span = tuple[int, int]  # left and right edge of a cell


def with_empty_cells(f: Fragments, lines: list[_Line]) -> None:
    """Add missing cells before or between others, according to the nearby row with the most cells."""
    wide: list[_Span] = []
    last: list[_Span] = []
    before, said = -1, ""  # number and original text of the last row of cells
    for n, (text, row) in enumerate(lines):
        if len(row) < 2 and len(text) <= _PROSE:
            continue
        cells = _cells(f, row)
        if len(cells) < 2 or text.count(BAR) != len(cells) - 1:
            wide, before = [], -1
            continue
        if len(cells) > len(wide):
            if before >= 0 and len(cells) >= _MIN_CELLS:
                _fill(lines, before, said, last, cells, between=False)
            wide = cells
        elif len(cells) < len(wide) and len(wide) >= _MIN_CELLS:
            _fill(lines, n, text, cells, wide, between=len(wide) >= _MIN_BETWEEN)
        last, before, said = cells, n, text


def _cells(f: Fragments, row: Row) -> list[_Span]:
    """The edges of a row's pieces; each sign is joined with its number."""
    cells: list[_Span] = []
    start = -1
    for one in row:
        left = f.x0[one] if start < 0 else start
        if f.text[one] in SIGNS:
            start = left
        else:
            cells.append((left, f.x1[one]))
            start = -1
    return cells


def _fill(
    lines: list[_Line], n: int, text: str, cells: Sequence[_Span], wide: Sequence[_Span], *, between: bool
) -> None:
    """Add the missing cells to row `n` with the text `text`, if each of its cells stands in one column of `wide`."""
    places: list[int] = []
    for left, right in cells:
        columns = [place for place, (x0, x1) in enumerate(wide) if x0 < right and left < x1]
        if len(columns) != 1 or (places and columns[0] <= places[-1]):
            return
        places.append(columns[0])
    if places[-1] == len(places) - 1 or (places[-1] - places[0] >= len(places) and not between):
        return
    shown = dict(zip(places, text.split(BAR), strict=True))
    filled = BAR.join(shown.get(place, "") for place in range(places[-1] + 1))
    lines[n] = (filled.replace("  ", " ").strip(), lines[n][1])
