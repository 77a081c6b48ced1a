"""Builds the lines of a PDF page: rows in reading order, with cells, tables, and blank lines between paragraphs. Running heads
stay in the text; `toolkit/running_heads.py` finds them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from qagen_dagster.formats.pdf.bidi import in_reading_order
from qagen_dagster.formats.pdf.fragments import Fragments, fragments_of, mark_checkboxes, mark_scripts, split
from qagen_dagster.formats.pdf.hidden import without_hidden
from qagen_dagster.formats.pdf.mupdf import Pdf, Printed
from qagen_dagster.formats.pdf.reading_order import Line, Row, rows_in_order
from qagen_dagster.formats.pdf.ruled_tables import Box, Ruled, ruled_tables

BAR = " | "
SIGNS = frozenset("$\u20ac\u00a3\u00a5")  # a currency symbol belongs to the next number at any distance
_MIN_CELLS = 3  # minimum cells of a row that shows the columns
_MIN_BETWEEN = 4  # minimum cells of a row that shows where other rows have empty cells between their cells
_PROSE = 40  # a longer line without separate cells ends a table
_Span = tuple[int, int]  # left and right edge of a cell
Cells = list[list[int]]  # the fragments of each cell
_STRETCHED = 4  # minimum cells of a line that may be prose with wide spaces
_WORD = re.compile(r"[a-z][^\W\d_]*[,;:.]?")
_HEADING_NUMBER = re.compile(r"[\d.]+")
_DOTS = re.compile(r"[. …·]+")
# A numerator at the end of one fragment and its denominator at the start of the next. After a minus, a raised and a lowered
# number may also be an exponent and an index.
_STACKED = re.compile(r"(^|[\s(\[{]|[\u2212-](?=\d+\0\^|\^\d+\0_))\^?(\d{1,2})\0[_^](\d{1,2})(?!\w)")
_WIDE = 18  # minimum distance between two cells, in tenths of the letter size
_CLOSE = 10  # the same minimum distance, but in a row of more than two fragments
_EXACT = 5  # tenths of a point; cells of one column have edges that are closer
_ENDS = '.!?:;"\u201d'
_SENTENCE = 40  # minimum characters of a line before a blank line within a sentence
_FEW_CUT = 4  # one in this many rows of a table may be part of a longer line
_LINES_OF_CELLS = 2  # minimum lines with several cells on a page that may have a ruled table
_PARAGRAPH = 7  # minimum distance between two paragraphs, in tenths of a line's height
_FAR = 1 << 30
_BLANK: Line = ("", [])
_NO_CELLS: Cells = []


def page_fragments(pdf: Pdf, printed: Printed) -> Fragments:
    """The visible fragments of a page. Raised letters, lowered letters and check boxes are marked in their texts."""
    fragments = without_hidden(pdf, printed, fragments_of(printed.json))
    mark_scripts(printed, fragments, pdf.fonts)
    fragments = in_reading_order(printed, fragments)
    mark_checkboxes(fragments, printed.checkboxes)
    return fragments


class PageLines(NamedTuple):
    """The lines of a page, their fragments, and the boxes of its ruled tables in tenths of a point."""

    fragments: Fragments
    lines: list[Line]
    tables: list[Box]


def lines_of_page(fragments: Fragments, ruling_lines: Sequence[Box]) -> PageLines:
    """The lines of a page. `ruling_lines` holds the boxes of the page's ruling lines in tenths of a point."""
    f, rows = rows_in_order(fragments)
    flow = _flowing(f, rows)
    rules = ruling_lines if len(ruling_lines) > 1 and len(flow.cells) >= _LINES_OF_CELLS else ()
    tables = _whole(ruled_tables(fragments, rules), rows) if rules else []
    cuts = {n: places for table in tables for n, places in table.cuts.items()}
    if cuts:
        fragments = split(fragments, cuts)
        f, rows = rows_in_order(fragments)
        tables = _whole(ruled_tables(fragments, rules), rows)
    lines = _with_tables(f, rows, fragments, tables) if tables else _completed(f, flow)
    return PageLines(fragments, lines, [table.box for table in tables])


def _whole(tables: Sequence[Ruled], rows: Sequence[Row]) -> list[Ruled]:
    """The tables that share almost no line with other text. For example, ruling lines under the sums of one column do not form a table."""
    found: list[Ruled] = []
    for table in tables:
        inside = table.fragments
        cut = sum(not inside.isdisjoint(row) and not inside.issuperset(row) for row in rows)
        if cut * _FEW_CUT <= len(table.rows):
            found.append(table)
    return found


def _with_tables(f: Fragments, rows: Sequence[Row], shown: Fragments, tables: Sequence[Ruled]) -> list[Line]:
    """The lines of tables and of the rows around them. `shown` holds the fragments with their boxes as displayed."""
    lines: list[Line] = []
    for part in _parts(rows, tables):
        found = _completed(f, _flowing(f, part)) if isinstance(part, list) else _tabular(shown, part)
        if lines:
            above, below = lines[-1][1][0], found[0][1][0]
            height = f.y1[above] - f.y0[above]
            if f.y0[below] > f.y1[above] + height * _PARAGRAPH // 10:
                lines.append(_BLANK)
        lines += found
    return lines


def _parts(rows: Sequence[Row], tables: Sequence[Ruled]) -> Iterator[list[Row] | Ruled]:
    """The tables and the rows of other fragments between them. Each table is yielded at the place of its first fragment."""
    owners = {n: table for table in tables for n in table.fragments}
    done: list[Ruled] = []
    flow: list[Row] = []
    for row in rows:
        if own := [n for n in row if n not in owners]:
            flow.append(own)
        for table in [owners[n] for n in row if n in owners]:
            if table in done:
                continue
            if flow:
                yield flow
            yield table
            done.append(table)
            flow = []
    if flow:
        yield flow


class _Flow(NamedTuple):
    """Lines, the cells of lines with several cells, and the numbers of blank lines within a sentence."""

    lines: list[Line]
    cells: dict[int, Cells]
    torn: set[int]


def _flowing(f: Fragments, rows: Sequence[Row]) -> _Flow:
    """The lines of rows, with blank lines where there is space between them."""
    texts, tops, bottoms = f.text, f.y0, f.y1
    lines: list[Line] = []
    blanks: list[int] = []
    cells: dict[int, Cells] = {}
    limit = _FAR  # a line that begins lower gets a blank line before it
    for number, row in enumerate(rows):
        first = row[0]
        top, bottom = tops[first], bottoms[first]
        text = texts[first]
        parted = _NO_CELLS
        if len(row) > 1:
            parted = cells_of(f, rows, number)
            text = joined(f, parted)
        near = top - limit < 2 * (bottom - top)
        if top > limit and not (near and BAR in text and _are_rows(f, lines[-1], row)):
            blanks.append(len(lines))
            lines.append(_BLANK)
        if len(parted) > 1:
            cells[len(lines)] = parted
        lines.append((text, row))
        limit = bottom + (bottom - top) * _PARAGRAPH // 10
    return _Flow(lines, cells, {n for n in blanks if _is_torn(lines[n - 1], lines[n + 1])})


def _completed(f: Fragments, flow: _Flow) -> list[Line]:
    """The lines of the page, with empty cells where other rows show columns, and without blank lines within sentences."""
    if not f.rtl and len(flow.cells) > 1:
        with_empty_cells(f, flow.lines, flow.cells)
    return [line for n, line in enumerate(flow.lines) if n not in flow.torn]


def _are_rows(f: Fragments, above: Line, below: Row) -> bool:
    """Whether the line `above`, which must have cells, and the row `below` have last cells that overlap horizontally, as in a table."""
    text, row = above
    return BAR in text and f.x0[row[-1]] < f.x1[below[-1]] and f.x0[below[-1]] < f.x1[row[-1]]


def _is_torn(before: Line, after: Line) -> bool:
    """Whether a sentence continues after the blank line between `before` and `after`, as in double-spaced text."""
    above, below = before[0], after[0]
    return (
        len(above) >= _SENTENCE
        and above[-1] not in _ENDS
        and below[:1].islower()
        and BAR not in above + below
    )


def _tabular(f: Fragments, table: Ruled) -> list[Line]:
    """One line for each row of a table."""
    lines: list[Line] = []
    for row in table.rows:
        cells = [unbroken(f.text[n] for n in cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            lines.append((BAR.join(cells).strip().replace("  ", " "), [n for cell in row for n in cell]))
    return lines


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
    """Add empty cells before or between the cells of a row, by comparison with the row of the same block that has the most cells.

    `cells` holds the cells of the lines that have several, by the lines' numbers.
    """
    run: dict[int, list[_Span]] = {}
    for n, (text, _) in enumerate([*lines, ("", [])]):
        if n in cells and text.count(BAR) == len(cells[n]) - 1:  # the text of a cell may contain a bar
            run[n] = [(f.x0[cell[0]], f.x1[cell[-1]]) for cell in cells[n]]
        elif not text or len(text) > _PROSE:
            wide = max(run.values(), key=len, default=list[_Span]())
            for number, spans in run.items() if len(wide) >= _MIN_CELLS else ():
                lines[number] = (_filled(lines[number][0], spans, wide), lines[number][1])
            run = {}


def _filled(text: str, cells: Sequence[_Span], wide: Sequence[_Span]) -> str:
    """The text of a row with its missing cells if each of its cells lies in one column of `wide`; else the unchanged text."""
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
    """The fragments of a row by cell. A cell begins after a wide gap, and after a narrower gap if a neighbouring row has a cell there."""
    row = rows[number]
    beside = [*rows[max(number - 1, 0) : number], *rows[number + 1 : number + 2]]
    wide = _CLOSE if len(row) > 2 else _WIDE
    cells = [[row[0]]]
    for last, n in pairwise(row):
        gap = 10 * f.gap(last, n)
        if gap < _CLOSE * f.size[last] or f.text[last] in SIGNS or is_dotted(f, last, n):
            cells[-1].append(n)
        elif gap >= wide * f.size[last] or _is_below(f, beside, last, n):
            cells.append([n])
        else:
            cells[-1].append(n)
    return [row] if len(cells) >= _STRETCHED and _is_stretched(f, beside, cells) else cells


def _is_stretched(f: Fragments, beside: Sequence[Row], cells: Cells) -> bool:
    """Whether a row is prose with wide spaces: most of its cells are words, and few of them begin where a neighbouring row has a cell."""
    words = sum(_WORD.fullmatch(f.text[cell[0]]) is not None for cell in cells if len(cell) == 1)
    if words * 3 < len(cells) * 2:
        return False
    aligned = sum(any(_begins_cell(f, other, cell[0]) for other in beside) for cell in cells[1:])
    return aligned * 3 < len(cells)


def _is_below(f: Fragments, beside: Sequence[Row], last: int, n: int) -> bool:
    """Whether fragment `n` begins a cell because a row `beside` its row, above or below, has a cell at the same edge.

    A fragment after a bullet, a prompt or the number of a heading begins no cell.
    """
    if not any(map(str.isalnum, f.text[last])) or (
        _HEADING_NUMBER.fullmatch(f.text[last]) and not f.text[n][:1].isdigit()
    ):
        return False
    return any(_begins_cell(f, other, n) for other in beside)


def _begins_cell(f: Fragments, row: Row, n: int) -> bool:
    """Whether a cell of a row, except its first, begins at the left edge of fragment `n`, or at its right edge in right-to-left text."""
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
        pair = f"{parts[-1]}\0{f.text[n]}"
        if f.x0[n] < f.x1[last] and (stacked := _STACKED.sub(r"\1\2/\3", pair)) != pair:
            parts[-1] = stacked
            continue
        # The library joins the digits of a number, so digits in two fragments are two numbers.
        is_number = parts[-1][-1:].isdigit() and f.text[n][0].isdigit()
        if is_number or f.gap(last, n) * 8 > f.size[last] or is_dotted(f, last, n):
            parts.append(" ")
        parts.append(f.text[n])
    return "".join(parts)
