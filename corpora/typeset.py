"""Sets marked-up text as pages: headings, prose, lists, ruled tables and captioned figures in one or two columns.

Shared by the `make_documents.py` scripts of the sample corpora. Charts and diagrams are drawn in `drawing.py`; the
words and data of a document belong to its corpus, never here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pymupdf

A4 = (595.0, 842.0)
FONT_CODES = {"serif": "tiro", "serif-bold": "tibo", "serif-italic": "tiit", "sans": "helv", "sans-bold": "hebo"}
FONTS = {name: pymupdf.Font(code) for name, code in FONT_CODES.items()}
Draw = Callable[[pymupdf.Page, pymupdf.Rect], None]
Kind = Literal["title", "byline", "abstract", "h2", "h3", "para", "bullet", "spec", "table", "figure", "break"]
MARKS: Mapping[str, Kind] = {
    "# ": "title",
    "@ ": "byline",
    "> ": "abstract",
    "## ": "h2",
    "### ": "h3",
    "- ": "bullet",
    "= ": "spec",
    "!": "figure",
    "%page": "break",
}


@dataclass(frozen=True)
class Block:
    """One piece of the flow; `rows` holds a table's cells, header first, and `key` names a figure."""

    kind: Kind
    text: str
    rows: tuple[tuple[str, ...], ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Figure:
    """A drawing and the height in points that it needs."""

    height: float
    draw: Draw


@dataclass(frozen=True)
class Style:
    """How one kind of block is set; sizes in points."""

    font: str
    size: float
    before: float = 0.0
    after: float = 4.0
    indent: float = 0.0
    leading: float = 1.25
    justify: bool = False
    center: bool = False


@dataclass(frozen=True)
class Layout:
    """Page geometry and styles of a document; `header` and `footer` may hold `{page}`."""

    columns: int
    styles: Mapping[Kind, Style]
    caption: Style
    cell: Style
    header: str = ""
    footer: str = "{page}"
    margin: float = 54.0
    gutter: float = 18.0
    size: tuple[float, float] = A4


def manual_layout(header: str, footer: str) -> Layout:
    """One sans-serif column, ragged right: manuals, reports and notices."""
    styles: dict[Kind, Style] = {
        "title": Style("sans-bold", 20, after=6),
        "byline": Style("sans", 10, after=3),
        "abstract": Style("serif-italic", 11, before=4, after=8),
        "h2": Style("sans-bold", 13, before=12, after=5),
        "h3": Style("sans-bold", 10.5, before=7, after=3),
        "para": Style("serif", 10.5, after=6, leading=1.3),
        "bullet": Style("serif", 10.5, after=3, indent=14, leading=1.3),
        "spec": Style("sans", 9.5, after=2, indent=6, leading=1.3),
    }
    return Layout(1, styles, Style("sans", 9, after=9), Style("sans", 8.8), header, footer)


def paper_layout(header: str, footer: str) -> Layout:
    """Two justified serif columns under a title that spans both: a journal paper."""
    styles: dict[Kind, Style] = {
        "title": Style("serif-bold", 17, after=8, center=True),
        "byline": Style("serif-italic", 9.5, after=3, center=True),
        "abstract": Style("serif", 9.5, before=4, after=4, indent=36, justify=True),
        "h2": Style("serif-bold", 11, before=8, after=3),
        "h3": Style("serif-italic", 10, before=5, after=2),
        "para": Style("serif", 9.6, after=4, justify=True),
        "bullet": Style("serif", 9, after=2, indent=10),
        "spec": Style("serif", 9.6, after=2, indent=6),
    }
    return Layout(2, styles, Style("serif", 8.6, after=8), Style("serif", 8.4), header, footer)


def parse(source: str) -> list[Block]:
    """Blocks of the markup: `#` marks, `- ` bullets, `= ` key-value lines, `!key caption` figures, `|` tables.

    The paragraph right above a table is its caption.
    """
    blocks: list[Block] = []
    for chunk in re.split(r"\n\s*\n", source.strip()):
        lines = chunk.splitlines()
        if lines[0].startswith("|"):
            rows = tuple(tuple(cell.strip() for cell in line.strip().strip("|").split("|")) for line in lines)
            blocks.append(Block("table", blocks.pop().text, rows))
        else:
            blocks.extend(_parse_lines(lines))
    return blocks


def _parse_lines(lines: list[str]) -> list[Block]:
    blocks: list[Block] = []
    for line in lines:
        mark = next((mark for mark in MARKS if line.startswith(mark)), "")
        body = line.removeprefix(mark).strip()
        if mark == "!":
            key, _, caption = body.partition(" ")
            blocks.append(Block("figure", caption, key=key))
        elif mark:
            blocks.append(Block(MARKS[mark], body))
        elif blocks:
            last = blocks[-1]
            blocks[-1] = Block(last.kind, f"{last.text} {body}", last.rows, last.key)
        else:
            blocks.append(Block("para", body))
    return blocks


def width_of(text: str, style: Style) -> float:
    """Width of `text` in points."""
    return FONTS[style.font].text_length(text, style.size)


def wrap(text: str, style: Style, width: float) -> list[str]:
    r"""Lines of at most `width` points; a word may be broken where it holds the mark `\-`."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        plain = f"{line} {word}".strip().replace("\\-", "")
        if width_of(plain, style) <= width:
            line = plain
            continue
        head, tail = _hyphenate(line, word, style, width)
        lines.append(f"{line} {head}".strip())
        line = tail
    return [*lines, line]


def _hyphenate(line: str, word: str, style: Style, width: float) -> tuple[str, str]:
    parts = word.split("\\-")
    for cut in range(len(parts) - 1, 0, -1):
        head = "".join(parts[:cut]) + "-"
        if width_of(f"{line} {head}".strip(), style) <= width:
            return head, "".join(parts[cut:])
    return "", "".join(parts)


@dataclass
class Typesetter:
    """Flows blocks over the pages of one document; call `flow` once, then `finish`."""

    layout: Layout
    figures: Mapping[str, Figure] = field(default_factory=dict[str, Figure])

    def __post_init__(self) -> None:
        """Starts with an empty document and one full-width column for the title."""
        self.document = pymupdf.open()
        self.waiting: list[Block] = []
        self.before: Kind = "title"
        self._new_page()

    def flow(self, blocks: list[Block]) -> None:
        """Sets all blocks; those before the first section span the page, the rest fill the columns."""
        for block in blocks:
            if block.kind == "h2" and self.spanning:
                self._enter_columns()
            self._set(block)
        while self.waiting:
            self._next_column()

    def finish(self, title: str, author: str, date: str) -> bytes:
        """The PDF; `date` (YYYYMMDD) is its creation date, so that the same text gives the same bytes."""
        self.writer.write_text(self.page)
        stamp = f"D:{date}090000Z"
        self.document.set_metadata({"title": title, "author": author, "creationDate": stamp, "modDate": stamp})
        self.document.subset_fonts()
        return self.document.tobytes(garbage=4, deflate=True, no_new_id=True)

    def _new_page(self) -> None:
        if self.document.page_count:
            self.writer.write_text(self.page)
        layout, (width, height) = self.layout, self.layout.size
        self.page = self.document.new_page(width=width, height=height)
        self.writer = pymupdf.TextWriter(self.page.rect)
        number = str(self.document.page_count)
        small = Style("sans", 8)
        if layout.header:
            self._put(layout.header.replace("{page}", number), small, layout.margin, layout.margin - 22)
            self.page.draw_line((layout.margin, layout.margin - 16), (width - layout.margin, layout.margin - 16), width=0.5)
        footer = layout.footer.replace("{page}", number)
        self._put(footer, small, (width - width_of(footer, small)) / 2, height - layout.margin + 26)
        self.spanning = self.document.page_count == 1
        self.column, self.top, self.y = 0, layout.margin, layout.margin

    def _enter_columns(self) -> None:
        self.spanning = False
        self.top = self.y + 6 if self.layout.columns > 1 else self.y

    @property
    def _span(self) -> tuple[float, float]:
        """Left edge and width of the column being filled."""
        layout = self.layout
        whole = layout.size[0] - 2 * layout.margin
        if self.spanning or layout.columns == 1:
            return layout.margin, whole
        width = (whole - layout.gutter) / 2
        return layout.margin + self.column * (width + layout.gutter), width

    def _next_column(self) -> None:
        if self.column + 1 < self.layout.columns and not self.spanning:
            self.column += 1
            self.y = self.top
        else:
            self._new_page()
            self.spanning = False
        ready, self.waiting = self.waiting, []
        for block in ready:
            self._set(block)

    def _fits(self, height: float) -> bool:
        return self.y + height <= self.layout.size[1] - self.layout.margin

    def _put(self, text: str, style: Style, x: float, y: float) -> None:
        self.writer.append((x, y), text, font=FONTS[style.font], fontsize=style.size)

    def _set(self, block: Block) -> None:
        if block.kind == "break":
            self._next_column()
        elif block.kind in ("table", "figure"):
            self._set_float(block)
        else:
            self._set_text(block)

    def _set_text(self, block: Block) -> None:
        style = self.layout.styles[block.kind]
        heading = block.kind in ("h2", "h3")
        if self.y > self.top:
            self.y += max(style.before, 5.0 if block.kind != self.before in ("byline", "spec", "bullet") else 0.0)
        self.before = block.kind
        if not self._fits(style.size * style.leading * (5 if heading else 2)):
            self._next_column()
        bullet = "• " if block.kind == "bullet" else ""
        self._set_lines(block.text, style, bullet)
        self.y += style.after

    def _set_lines(self, text: str, style: Style, bullet: str = "") -> None:
        lines = wrap(text, style, self._span[1] - style.indent * (1 if bullet else 2 if style.justify else 1))
        step = style.size * style.leading
        for index, line in enumerate(lines):
            if not self._fits(step):
                self._next_column()
            x, width = self._span
            baseline = self.y + style.size
            if bullet and index == 0:
                self._put(bullet, style, x + style.indent - 10, baseline)
            if style.center:
                self._put(line, style, x + (width - width_of(line, style)) / 2, baseline)
            elif style.justify and index < len(lines) - 1:
                self._justify(line, style, x + style.indent, baseline, width - 2 * style.indent)
            else:
                self._put(line, style, x + style.indent, baseline)
            self.y += step

    def _justify(self, line: str, style: Style, x: float, y: float, width: float) -> None:
        words = line.split()
        slack = width - sum(width_of(word, style) for word in words)
        gap = slack / max(1, len(words) - 1)
        for word in words:
            self._put(word, style, x, y)
            x += width_of(word, style) + gap

    def _set_float(self, block: Block) -> None:
        caption = wrap(block.text, self.layout.caption, self._span[1])
        rows = [self._cells(block.rows, row) for row in block.rows]
        body = sum(height for _, height in rows) if rows else self.figures[block.key].height
        style = self.layout.caption
        needed = body + len(caption) * style.size * style.leading + style.after + 10
        if self.waiting or not self._fits(needed):
            self.waiting.append(block)
            return
        self.y += 4
        if rows:
            self._set_lines(block.text, style)
            self.y += 2
            self._rule(rows, self._widths(block.rows))
        else:
            x, width = self._span
            self.figures[block.key].draw(self.page, pymupdf.Rect(x, self.y, x + width, self.y + body))
            self.y += body + 4
            self._set_lines(block.text, style)
        self.y += style.after

    def _widths(self, rows: tuple[tuple[str, ...], ...]) -> list[float]:
        style = self.layout.cell
        natural = [max(width_of(cell, style) for cell in column) + 12 for column in zip(*rows, strict=True)]
        capped = [min(width, self._span[1] * 0.5) for width in natural]
        return [width * self._span[1] / sum(capped) for width in capped]

    def _cells(self, rows: tuple[tuple[str, ...], ...], row: tuple[str, ...]) -> tuple[list[list[str]], float]:
        style = self.layout.cell
        pairs = zip(row, self._widths(rows), strict=True)
        wrapped = [wrap(cell, style, width - 8) for cell, width in pairs]
        return wrapped, max(len(cell) for cell in wrapped) * style.size * style.leading + 5

    def _rule(self, rows: list[tuple[list[list[str]], float]], widths: list[float]) -> None:
        style = self.layout.cell
        family = style.font.partition("-")[0]
        for index, (cells, height) in enumerate(rows):
            x = self._span[0]
            font = Style(f"{family}-bold" if index == 0 else style.font, style.size)
            for lines, width in zip(cells, widths, strict=True):
                box = pymupdf.Rect(x, self.y, x + width, self.y + height)
                self.page.draw_rect(box, color=(0.3, 0.3, 0.3), fill=(0.92, 0.94, 0.96) if index == 0 else None, width=0.6)
                for number, line in enumerate(lines):
                    self._put(line, font, x + 4, self.y + 2 + style.size * (1 + number * style.leading))
                x += width
            self.y += height
