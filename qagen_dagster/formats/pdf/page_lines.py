"""Builds the lines of a PDF page: rows in reading order, with cells, tables, and blank lines between paragraphs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from qagen_dagster.formats.pdf.bidi import in_reading_order
from qagen_dagster.formats.pdf.cells import BAR, Cells, cells_of, joined, unbroken, with_empty_cells
from qagen_dagster.formats.pdf.font_tables import has_symbols
from qagen_dagster.formats.pdf.fragments import Fragments, fragments_of, mark_checkboxes, mark_scripts, split
from qagen_dagster.formats.pdf.hidden import without_hidden
from qagen_dagster.formats.pdf.mupdf import Pdf, Printed
from qagen_dagster.formats.pdf.reading_order import Line, Row, rows_in_order
from qagen_dagster.formats.pdf.ruled_tables import Box, Ruled, ruled_tables

_ENDS = '.!?:;"\u201d'
_SENTENCE = 40  # minimum characters of a line before a blank line within a sentence
_FEW_CUT = 4  # one in this many rows of a table may be part of a longer line
_LINES_OF_CELLS = 2  # number of lines of cells from which a page may have a ruled table
_PARAGRAPH = 7  # minimum distance between two paragraphs, in tenths of a line's height
_FAR = 1 << 30
_BLANK: Line = ("", [])
_NO_CELLS: Cells = []


def page_fragments(pdf: Pdf, printed: Printed) -> Fragments:
    """The fragments of a page from its print, with raised and lowered letters and ticked boxes marked."""
    fragments = without_hidden(pdf, printed, fragments_of(printed.json))
    mark_scripts(printed, fragments, symbols=has_symbols(pdf.fonts) and has_symbols(printed.content.fonts()))
    fragments = in_reading_order(printed, fragments)
    mark_checkboxes(fragments, printed.checkboxes)
    return fragments


class PageLines(NamedTuple):
    """The lines of a page, their fragments, and the tables among them."""

    fragments: Fragments
    lines: list[Line]
    tables: list[Ruled]


def lines_of_page(fragments: Fragments, ruling_lines: Sequence[Box]) -> PageLines:
    """The lines of a page, given the boxes of its ruling lines."""
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
    return PageLines(fragments, lines, tables)


def _whole(tables: Sequence[Ruled], rows: Sequence[Row]) -> list[Ruled]:
    """The tables that cut almost no lines of the page. For example, ruling lines under the sums of one column do not form a table."""
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
        if top > limit and not (
            top - limit < 2 * (bottom - top) and BAR in text and _are_rows(f, lines[-1], row)
        ):
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
    """Whether a line of cells and the line above it are rows of one table. If so, their last cells overlap."""
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
