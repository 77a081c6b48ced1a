"""The text of a PDF, page by page: lines in reading order, with text recognition of scanned pages if allowed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.pdf.checkboxes import mark_checkboxes
from qagen_dagster.formats.pdf.fragments import Font, Fragments, fragments_of, split
from qagen_dagster.formats.pdf.lettering import merge_lettering
from qagen_dagster.formats.pdf.mupdf import Pdf, Printed
from qagen_dagster.formats.pdf.reading_order import Row, rows_in_order
from qagen_dagster.formats.pdf.scanned_pages import Recogniser, worth_recognising
from qagen_dagster.formats.pdf.scripts import has_symbols, mark_scripts
from qagen_dagster.formats.pdf.tables.cells import Cells, cells_of, join_wrapped, joined
from qagen_dagster.formats.pdf.tables.empty_cells import BAR, with_empty_cells
from qagen_dagster.formats.pdf.tables.printed import part_printed
from qagen_dagster.formats.pdf.tables.ruling import Box, Ruled, ruled_tables
from qagen_dagster.formats.pdf.tables.wrapping import unbroken
from qagen_dagster.records.document import Outcome, PageSpan

_FILLING = re.compile(r"[\s.|…·_\-\u2013\u2014]+")
_WORDS = re.compile("[a-z]{4} [a-z]+ [a-z]")
_ENDS = '.!?:;"\u201d'
_SENTENCE = 40  # minimum characters of a line of a sentence that goes on after a gap
_FEW_CUT = 4  # of this many rows of a table, one may be part of a longer line
_APART = 8  # tenths of the letter size between close columns
_LINES_OF_CELLS = 3  # from which a page may have a ruled table
_FAR = 1 << 30
_AHEAD = 128  # pages printed ahead
_AHEAD_BYTES = 4_000_000
_SAMPLED = 300  # lines that show the fonts of the running text
_PROSE_CHARS = 40  # minimum length of a line of running text
WIDE = "\u2e7f"  # the scripts after it have wide letters and no capitals
_SAMPLED_LINES = 6  # of the middle of a page, in which a few words show that it is meaningful
_SAMPLE = 400  # characters of a page checked for meaningful text


# The text of a line and its fragments; a blank line has none.
Line = tuple[str, Row]
_BLANK: Line = ("", [])
_ONE: Cells = []  # of a row that is no row of cells
_NO_FONT = Font()


@dataclass
class PdfText:
    """The result of reading all pages. Page numbers are 1-based."""

    lines: list[str] = field(default_factory=list[str])
    fonts: list[Font] = field(default_factory=list["Font"])  # of each line
    pages: list[PageSpan] = field(default_factory=list[PageSpan])
    broken: list[int] = field(default_factory=list[int])
    recognised: list[int] = field(default_factory=list[int])
    unreadable: list[int] = field(default_factory=list[int])  # without meaningful letters, and not recognised
    note: str = ""  # why they were not recognised

    @cached_property
    def letters(self) -> Counter[Font]:
        """How many characters of the running text are printed in each font, by a sample of lines."""
        some = slice(None, None, len(self.lines) // _SAMPLED + 1)
        counted = Counter[Font]()
        for line, font in zip(self.lines[some], self.fonts[some], strict=True):
            counted[font] += len(line) if is_prose(line) else 0
        return +counted or Counter(self.fonts[some])


def is_prose(line: str) -> bool:
    """Whether a line belongs to a paragraph by its length and its words."""
    short = len(line) < _PROSE_CHARS
    if short and (line.isascii() or len(line) + sum([char > WIDE for char in line]) < _PROSE_CHARS):
        return False
    if "@" in line or BAR in line:
        return False
    firsts = [word[0] for word in line.split()]
    return sum([first.islower() or first > WIDE for first in firsts]) * 2 >= len(firsts)


def read_pages(pdf: Pdf, options: ParseOptions) -> PdfText:
    """All pages in order. A broken page is empty and recorded.

    Raises:
        DocumentError: `too_large` if the text exceeds its limit.
    """
    text = PdfText()
    recogniser = Recogniser(options)
    chars = 0
    for number, printed in _printed(pdf):
        try:
            texts, fonts = _read(pdf, number, printed, recogniser, text)
        except (DocumentError, MemoryError):
            raise
        except Exception:  # a broken page does not stop the others
            text.broken.append(number + 1)
            texts, fonts = [], []
        chars += sum(map(len, texts)) + len(texts)
        if chars > options.max_chars:
            raise DocumentError(Outcome.TOO_LARGE, f"more than {options.max_chars:,} characters of text")
        start = len(text.lines) + 1
        text.lines += texts
        text.fonts += fonts
        text.pages.append(PageSpan(page=number + 1, start_line=start, end_line=len(text.lines)))
    text.note = recogniser.note
    return text


def counted(count: int) -> str:
    """ "1 page", "2 pages"."""
    return "1 page" if count == 1 else f"{count} pages"


def listed(numbers: list[int]) -> str:
    """The first ten page numbers: "1, 4, 5"."""
    shown = ", ".join(map(str, numbers[:10]))
    return shown if len(numbers) <= 10 else f"{shown}, ..."


def _printed(pdf: Pdf) -> Iterator[tuple[int, Printed | None]]:
    """The print of each page, None for a broken one.

    Some pages are printed ahead: the library and Python each need most of a processor's cache, and alternating at
    every page would cost a tenth of the time.
    """
    waiting: list[tuple[int, Printed | None]] = []
    size = 0
    for number in range(pdf.count):
        try:
            printed = pdf.print_text(number)
        except MemoryError:
            raise
        except Exception:  # a broken page gives None
            printed = None
        waiting.append((number, printed))
        size += len(printed.json) if printed else 0
        if len(waiting) >= _AHEAD or size > _AHEAD_BYTES:
            yield from waiting
            waiting, size = [], 0
    yield from waiting


def page_fragments(pdf: Pdf, printed: Printed) -> Fragments:
    """The fragments of a page from its print, with raised and lowered letters and ticked boxes marked."""
    fragments = fragments_of(printed.json)
    mark_scripts(printed, fragments, symbols=has_symbols(pdf.fonts) and has_symbols(printed.fonts()))
    mark_checkboxes(fragments, printed.checkboxes)
    return fragments


class PageLines(NamedTuple):
    """The lines of a page, their fragments, and the tables among them."""

    fragments: Fragments
    lines: list[Line]
    tables: list[Ruled]


def lines_of_page(fragments: Fragments, ruling_lines: Callable[[], Sequence[Box]]) -> PageLines:
    """The lines of a page; ruling lines are looked at only if some lines have cells."""
    f, rows = rows_in_order(fragments)
    flow = _flowing(f, rows)
    rules: Sequence[Box] = ruling_lines() if _has_cells(f, flow) else []
    tables = _whole(ruled_tables(fragments, rules), rows) if rules else []
    cuts = {n: places for table in tables for n, places in table.cuts.items()}
    if cuts:
        fragments = split(fragments, cuts)
        f, rows = rows_in_order(fragments)
        tables = _whole(ruled_tables(fragments, rules), rows)
    lines = _with_tables(f, rows, fragments, tables) if tables else _completed(f, flow)
    cells = {n for table in tables for row in table.rows for cell in row for n in cell}
    return PageLines(fragments, merge_lettering(f, lines, cells) if f.figures else lines, tables)


def _has_cells(f: Fragments, flow: _Flow) -> bool:
    """Whether several lines have cells, or two in turn have parts that stand apart: ruled columns may be close."""
    if sum([len(row) > 1 for _, row in flow.lines]) < 2:  # most pages
        return False
    if len(flow.cells) >= _LINES_OF_CELLS:
        return True
    before = False
    for _, row in flow.lines:
        if row:
            apart = len(row) > 1 and any(
                10 * max(f.x0[n] - f.x1[last], f.x0[last] - f.x1[n]) > _APART * f.size[n]
                for last, n in pairwise(row)
            )
            if before and apart:
                return True
            before = apart
    return False


def _whole(tables: Sequence[Ruled], rows: Sequence[Row]) -> list[Ruled]:
    """The tables that do not cut the lines of the page: lines under the sums of one column are no table."""
    found: list[Ruled] = []
    for table in tables:
        inside = {n for row in table.rows for cell in row for n in cell}
        cut = sum(not inside.isdisjoint(row) and not inside.issuperset(row) for row in rows)
        if cut * _FEW_CUT <= len(table.rows):
            found.append(table)
    return found


def _with_tables(f: Fragments, rows: Sequence[Row], shown: Fragments, tables: Sequence[Ruled]) -> list[Line]:
    """The lines of tables and of the rows around them. `shown` has the boxes as displayed."""
    lines: list[Line] = []
    for part in _parts(rows, tables):
        found = _completed(f, _flowing(f, part)) if isinstance(part, list) else _tabular(shown, part)
        if lines and _is_below(f, lines[-1][1], found[0][1]):
            lines.append(_BLANK)
        lines += found
    return lines


def _parts(rows: Sequence[Row], tables: Sequence[Ruled]) -> Iterator[list[Row] | Ruled]:
    """The tables where their first fragment stands, and the rows of other fragments between them."""
    owners = {n: table for table in tables for row in table.rows for cell in row for n in cell}
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
    """Lines one below the other: the cells of those that have several, and the numbers of needless blank lines."""

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
        parted = _ONE
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
        limit = bottom + (bottom - top) * 7 // 10
    return _Flow(lines, cells, {n for n in blanks if _is_torn(lines[n - 1], lines[n + 1])})


def _completed(f: Fragments, flow: _Flow) -> list[Line]:
    """The lines, each with all lines of its cells, and with empty cells where cells show columns."""
    lines, cells, torn = flow
    joins: dict[int, int] = {}
    if cells and not f.rtl:
        joins = join_wrapped(f, lines, cells)
        whole = {base: [*lines[base][1]] for base in joins.values()}
        for n, base in joins.items():
            whole[base] += lines[n][1]
            lines[n] = _BLANK
        if any(len(lines[n][1]) > 2 for n in cells):
            with_empty_cells(f, lines)
        part_printed(f, lines, cells, set(whole))
        for base, row in whole.items():
            lines[base] = (lines[base][0], row)
    if not (joins or torn):
        return lines
    return [line for n, line in enumerate(lines) if n not in joins and n not in torn]


def _are_rows(f: Fragments, above: Line, below: Row) -> bool:
    """Whether a line of cells and the one above it are rows of one table, whose last cells overlap."""
    text, row = above
    return BAR in text and f.x0[row[-1]] < f.x1[below[-1]] and f.x0[below[-1]] < f.x1[row[-1]]


def _is_torn(before: Line, after: Line) -> bool:
    """Whether a sentence goes on after the blank line between two lines, as in double-spaced text."""
    above, below = before[0], after[0]
    return (
        len(above) >= _SENTENCE
        and above[-1] not in _ENDS
        and below[:1].islower()
        and BAR not in above + below
    )


def _is_below(f: Fragments, above: Row, below: Row) -> bool:
    """Whether there is a large gap between two lines."""
    top, bottom = f.y0[above[0]], f.y1[above[0]]
    return f.y0[below[0]] > bottom + (bottom - top) * 7 // 10


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


def _read(
    pdf: Pdf, number: int, printed: Printed | None, recogniser: Recogniser, text: PdfText
) -> tuple[list[str], list[Font]]:
    """The page's lines and their fonts."""
    if printed is None:
        text.broken.append(number + 1)
        return [], []
    fragments, lines, _ = lines_of_page(page_fragments(pdf, printed), printed.rules)
    texts = [line for line, _ in lines]
    if texts and not _is_noise(texts):
        font = fragments.font
        return texts, [font[row[0]] if row else _NO_FONT for _, row in lines]
    page = pdf.page(number)
    if texts or worth_recognising(page):
        found = recogniser.text_of(page)
        if found is None:
            text.unreadable.append(number + 1)
        else:
            text.recognised.append(number + 1)
            texts = found.split("\n") if found else []
    return texts, [_NO_FONT] * len(texts)


def _is_noise(texts: list[str]) -> bool:
    """Whether the text is meaningless, as when a file does not map its glyphs to characters."""
    middle = len(texts) // 2
    if _WORDS.search("\n".join(texts[middle : middle + _SAMPLED_LINES])) or _has_words(
        " ".join(texts[:12])[:_SAMPLE]
    ):
        return False
    shown = _FILLING.sub("", "".join(texts))
    return len(shown) > 80 and sum(map(str.isalnum, shown)) < 0.5 * len(shown)


def _has_words(text: str) -> bool:
    words = text.split()
    return sum(map(str.isalpha, words)) * 4 > len(words)
