"""Sets blocks as pages: headings, prose, lists, ruled tables and captioned figures in one or two columns.

Shared by the `make_documents.py` scripts of the sample corpora. The words and data of a document belong to its corpus,
never here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from samples.markup import Block, Kind
from samples.sheet import Area, Color, Paper, Sheet, text_width

A4 = (595.0, 842.0)
RULE: Color = (0.3, 0.3, 0.3)
SHADE: Color = (0.92, 0.94, 0.96)
Rows = Sequence[Sequence[str]]
Draw = Callable[[Sheet, Area], None]


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

    @property
    def step(self) -> float:
        """Distance between baselines."""
        return self.size * self.leading

    def width(self, text: str) -> float:
        """Width of `text`."""
        return text_width(text, self.font, self.size)


@dataclass(frozen=True)
class Layout:
    """Page geometry and styles of a document; the footer may hold `{page}`."""

    columns: int
    styles: Mapping[Kind, Style]
    caption: Style
    cell: Style
    header: str
    footer: str
    size: tuple[float, float] = A4
    margin: float = 54.0
    gutter: float = 18.0
    first_page: int = 1


def manual_layout(header: str, footer: str, size: tuple[float, float] = A4) -> Layout:
    """One column, ragged right: manuals, reports and notices."""
    styles: dict[Kind, Style] = {
        "title": Style("sans-bold", 20, after=6),
        "byline": Style("sans", 10, after=3),
        "h2": Style("sans-bold", 13, before=12, after=5),
        "para": Style("serif", 10.5, after=6, leading=1.3),
        "bullet": Style("serif", 10.5, after=3, indent=14, leading=1.3),
        "spec": Style("sans", 9.5, after=2, indent=6, leading=1.3),
    }
    return Layout(1, styles, Style("sans", 9, after=9), Style("sans", 8.8), header, footer, size)


def paper_layout(header: str, footer: str, first_page: int) -> Layout:
    """Two justified columns under a title that spans both: a journal paper."""
    styles: dict[Kind, Style] = {
        "title": Style("serif-bold", 17, after=8, center=True),
        "byline": Style("serif-italic", 9.5, after=3, center=True),
        "abstract": Style("serif", 9.5, before=4, after=4, indent=36, justify=True),
        "h2": Style("serif-bold", 11, before=8, after=3),
        "h3": Style("serif-italic", 10, before=5, after=2),
        "para": Style("serif", 9.6, after=4, justify=True),
        "bullet": Style("serif", 9, after=2, indent=10),
    }
    return Layout(
        2, styles, Style("serif", 8.6, after=8), Style("serif", 8.4), header, footer, first_page=first_page
    )


def wrap(text: str, style: Style, width: float) -> list[str]:
    r"""Lines of at most `width` points; a word may be broken where it holds the mark `\-`."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip().replace("\\-", "")
        if style.width(longer) <= width:
            line = longer
            continue
        head, tail = _hyphenate(line, word, style, width)
        lines.append(f"{line} {head}".strip())
        line = tail
    return [*lines, line]


def _hyphenate(line: str, word: str, style: Style, width: float) -> tuple[str, str]:
    parts = word.split("\\-")
    for cut in range(len(parts) - 1, 0, -1):
        head = "".join(parts[:cut]) + "-"
        if style.width(f"{line} {head}".strip()) <= width:
            return head, "".join(parts[cut:])
    return "", "".join(parts)


def column_widths(rows: Rows, style: Style, width: float) -> list[float]:
    """Widths that share `width` by the longest cell of each column, no column counting for more than half."""
    natural = [max(style.width(cell) for cell in column) + 12 for column in zip(*rows, strict=True)]
    capped = [min(wish, width / 2) for wish in natural]
    return [wish * width / sum(capped) for wish in capped]


class Typesetter:
    """Flows blocks over the pages of one document: `flow` once, then `finish`."""

    def __init__(self, layout: Layout, figures: Mapping[str, Figure]) -> None:
        """Starts with an empty first page; `figures` are those that the blocks may name."""
        self._layout = layout
        self._figures = figures
        self._paper = Paper(*layout.size)
        self._waiting: list[Block] = []
        self._last: Kind = "title"
        self._new_page()
        self._spanning = True

    def flow(self, blocks: Sequence[Block]) -> None:
        """Sets all blocks; those before the first section span the page, the rest fill the columns."""
        for block in blocks:
            if block.kind == "h2" and self._spanning:
                self._spanning = False
                self._top = self._y = self._y + (8 if self._layout.columns > 1 else 0)
            self._set(block)
        while self._waiting:
            self._next_column()

    def finish(self, title: str, author: str, date: str) -> bytes:
        """The PDF, dated `date` (YYYYMMDD)."""
        self._foot()
        return self._paper.save(title, author, date)

    def _new_page(self) -> None:
        if self._paper.pages:
            self._foot()
        self._sheet = self._paper.sheet()
        header, margin = self._layout.header, self._layout.margin
        if header:
            self._sheet.text((margin, margin - 22), header, size=8)
            right = self._layout.size[0] - margin
            self._sheet.line((margin, margin - 16), (right, margin - 16), width=0.5)
        self._spanning = False
        self._column = 0
        self._top = self._y = margin

    def _foot(self) -> None:
        """Writes the footer; done last, so that it follows the page's text in the file too."""
        layout, (width, height) = self._layout, self._layout.size
        number = layout.first_page + self._paper.pages - 1
        footer = layout.footer.replace("{page}", str(number))
        self._sheet.text((width / 2, height - layout.margin + 26), footer, size=8, anchor=0.5)

    @property
    def _span(self) -> tuple[float, float]:
        """Left edge and width of the column being filled."""
        layout = self._layout
        whole = layout.size[0] - 2 * layout.margin
        if self._spanning or layout.columns == 1:
            return layout.margin, whole
        width = (whole - layout.gutter) / 2
        return layout.margin + self._column * (width + layout.gutter), width

    def _next_column(self) -> None:
        if self._column + 1 < self._layout.columns and not self._spanning:
            self._column += 1
            self._y = self._top
        else:
            self._new_page()
        ready, self._waiting = self._waiting, []
        for block in ready:
            self._set(block)

    def _fits(self, height: float) -> bool:
        return self._y + height <= self._layout.size[1] - self._layout.margin

    def _set(self, block: Block) -> None:
        if block.kind in ("table", "figure"):
            self._set_float(block)
        else:
            self._set_text(block)

    def _set_text(self, block: Block) -> None:
        style = self._layout.styles[block.kind]
        changed = block.kind != self._last and self._last in ("byline", "spec", "bullet")
        if self._y > self._top:
            self._y += max(style.before, 5.0 if changed else 0.0)
        self._last = block.kind
        if not self._fits(style.step * (5 if block.kind in ("h2", "h3") else 2)):
            self._next_column()
        self._set_lines(block.text, style, "•" if block.kind == "bullet" else "")
        self._y += style.after

    def _set_lines(self, text: str, style: Style, bullet: str = "") -> None:
        sides = 2 if style.justify else 1
        lines = wrap(text, style, self._span[1] - sides * style.indent)
        for index, line in enumerate(lines):
            if not self._fits(style.step):
                self._next_column()
            x, width = self._span
            baseline = self._y + style.size
            if bullet and index == 0:
                self._sheet.text((x + style.indent - 10, baseline), bullet, style.font, style.size)
            if style.center:
                self._sheet.text((x + width / 2, baseline), line, style.font, style.size, anchor=0.5)
            elif style.justify and index < len(lines) - 1:
                self._justify(line, style, (x + style.indent, baseline), width - sides * style.indent)
            else:
                self._sheet.text((x + style.indent, baseline), line, style.font, style.size)
            self._y += style.step

    def _justify(self, line: str, style: Style, start: tuple[float, float], width: float) -> None:
        words = line.split()
        gap = (width - sum(style.width(word) for word in words)) / max(1, len(words) - 1)
        x, y = start
        for word in words:
            self._sheet.text((x, y), word, style.font, style.size)
            x += style.width(word) + gap

    def _set_float(self, block: Block) -> None:
        """Sets a table or figure here, or keeps it for the top of the next column when it does not fit."""
        caption = self._layout.caption
        rows = self._wrapped(block.rows) if block.rows else []
        body = sum(height for _, height in rows) if rows else self._figures[block.key].height
        needed = body + len(wrap(block.text, caption, self._span[1])) * caption.step + caption.after + 10
        if self._waiting or not self._fits(needed):
            self._waiting.append(block)
            return
        self._y += 4
        if rows:
            self._set_lines(block.text, caption)
            self._y += 2
            self._rule(rows, column_widths(block.rows, self._layout.cell, self._span[1]))
        else:
            x, width = self._span
            self._figures[block.key].draw(self._sheet, Area(x, self._y, x + width, self._y + body))
            self._y += body + 4
            self._set_lines(block.text, caption)
        self._y += caption.after

    def _wrapped(self, rows: Rows) -> list[tuple[list[list[str]], float]]:
        """Each row's cells as lines, with the height of the row."""
        style = self._layout.cell
        widths = column_widths(rows, style, self._span[1])
        cells = [
            [wrap(cell, style, width - 8) for cell, width in zip(row, widths, strict=True)] for row in rows
        ]
        return [(row, max(len(cell) for cell in row) * style.step + 5) for row in cells]

    def _rule(self, rows: list[tuple[list[list[str]], float]], widths: list[float]) -> None:
        style = self._layout.cell
        for index, (cells, height) in enumerate(rows):
            x = self._span[0]
            font = f"{style.font}-bold" if index == 0 else style.font
            for lines, width in zip(cells, widths, strict=True):
                box = Area(x, self._y, x + width, self._y + height)
                self._sheet.box(box, RULE, SHADE if index == 0 else None)
                for number, line in enumerate(lines):
                    baseline = self._y + 2 + style.size + number * style.step
                    self._sheet.text((x + 4, baseline), line, font, style.size)
                x += width
            self._y += height
