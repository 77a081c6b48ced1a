"""Divides the text of a PDF page into pieces, and finds which pieces are prose and which form captions.

A piece is a part of a line that is separate from its neighbours. Positions are in points on the page as displayed. This module
also compares boxes in points.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import mean

from qagen_dagster.formats.pdf.fragments import Fragments
from qagen_dagster.formats.pdf.mupdf import Rect, union
from qagen_dagster.formats.pdf.page_lines import unbroken
from qagen_dagster.formats.pdf.reading_order import Line

MARGIN = 0.08  # share of the page's height, at the top for running heads and at the bottom for running feet
_TENTH = 0.1  # points per unit of a fragment's coordinates
_WORD = re.compile(r"[^\W\d_]{2,}")
_PROSE_CHARS = 26  # minimum average characters of lines of prose
_LONE_CHARS = 45  # minimum average characters per line in a block of prose of one or two lines
_CELL_CHARS = 40  # minimum average characters of pieces of prose that share their lines with another piece
MAX_CAPTION = 500  # characters
_MAX_LINES = 14  # maximum pieces of a caption
# The words in lower case that begin a caption, each with the name of the visual.
_TABLES = {"tab.": "Table"} | {
    name.lower(): name for name in ("Table", "Tabelle", "Tableau", "Tabla", "Tabela")
}
_FIGURES = {"fig.": "Figure", "fig": "Figure", "abb.": "Abbildung"} | {
    name.lower(): name for name in ("Figure", "Chart", "Scheme", "Plate", "Diagram", "Abbildung", "Figura")
}
_CAPTION = re.compile(
    r"(?P<word>"
    + "|".join(re.escape(word) for word in sorted([*_TABLES, *_FIGURES], key=len, reverse=True))
    + r")(?:\s{1,3}|(?<=\.)\s{0,3})(?P<number>(?:[A-Z][.-]?)?\d{1,4}(?:[.\u2010-\u2013-]\d{1,3}){0,3}[a-z]?|[IVXLC]{1,6})"
    r"(?P<rest>(?![\w%/(,;]).*)",
    re.IGNORECASE | re.DOTALL,
)
_MARKED = re.compile(r"\s{0,2}[:.|\u2013\u2014-](?:\s|$)|\s{0,2}\(|\s{0,2}[:|]|$")


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a line that is separate from the rest. `line` is the 1-based number of the line in the document's text."""

    text: str
    box: Rect
    size: float
    bold: bool
    line: int


@dataclass
class Text:
    """The text of one page."""

    width: float
    height: float
    pieces: list[Piece]
    body: float  # the document's ordinary letter size

    @cached_property
    def prose(self) -> set[Piece]:
        """The pieces in paragraphs, without labels, cells and headings."""
        shared = Counter(piece.line for piece in self.pieces)
        blocks = _blocks(self.pieces)
        return {piece for block in blocks if _is_prose(block, self, shared) for piece in block}

    def inside(self, box: Rect) -> list[Piece]:
        """The pieces whose centres lie in a box."""
        return [piece for piece in self.pieces if contains(box, piece.box)]

    def is_marginal(self, piece: Piece) -> bool:
        """Whether a piece lies where running heads and feet are."""
        return piece.box[3] < MARGIN * self.height or piece.box[1] > (1 - MARGIN) * self.height


def area(box: Rect) -> float:
    """Area in square points; zero for a line."""
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)


def shared_width(a: Rect, b: Rect) -> float:
    """The width in points that both boxes share; if negative, the horizontal distance between them."""
    return min(a[2], b[2]) - max(a[0], b[0])


def shared_height(a: Rect, b: Rect) -> float:
    """The height in points that both boxes share; if negative, the vertical distance between them."""
    return min(a[3], b[3]) - max(a[1], b[1])


def expanded(box: Rect, by: float) -> Rect:
    """The box with a margin of `by` points on all sides."""
    return (box[0] - by, box[1] - by, box[2] + by, box[3] + by)


def contains(outer: Rect, inner: Rect) -> bool:
    """Whether the centre of `inner` lies in `outer`."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def pieces_of(f: Fragments, lines: Sequence[Line], first: int) -> list[Piece]:
    """The pieces of a page's lines; `first` is the number of the first line in the document's text."""
    pieces: list[Piece] = []
    for number, (_, row) in enumerate(lines, first):
        parts: list[list[int]] = []
        for n in row:
            if parts and not _apart(f, parts[-1][-1], n):
                parts[-1].append(n)
            else:
                parts.append([n])
        pieces += [_piece(f, part, number) for part in parts]
    return pieces


def _apart(f: Fragments, last: int, n: int) -> bool:
    return (
        f.gap(last, n) * 10 >= 11 * max(f.size[last], f.size[n])
        or f.y0[n] >= f.y1[last]  # a row may have fragments at several heights
        or f.y0[last] >= f.y1[n]
    )


def _piece(f: Fragments, part: list[int], number: int) -> Piece:
    box = union((f.x0[n] * _TENTH, f.y0[n] * _TENTH, f.x1[n] * _TENTH, f.y1[n] * _TENTH) for n in part)
    first = part[0]
    text = f.text[first]
    for last, n in pairwise(part):
        text += (" " if f.gap(last, n) * 8 > f.size[last] else "") + f.text[n]
    longest = max(part, key=lambda n: len(f.text[n]))
    return Piece(text, box, f.size[longest] * _TENTH, f.font[first].bold, number)


def continues_paragraph(above: Piece, below: Piece) -> bool:
    """Whether `below` can be the next line of the same paragraph."""
    gap = below.box[1] - above.box[3]
    tall = min(above.size, below.size)
    return (
        abs(above.size - below.size) < 0.5
        and -0.6 * tall < gap < 0.75 * tall
        and below.box[1] > above.box[1] + 0.5 * tall
        and shared_width(above.box, below.box) > 0
    )


def _blocks(pieces: list[Piece]) -> list[list[Piece]]:
    blocks: list[list[Piece]] = []
    for piece in pieces:
        for block in reversed(blocks[-6:]):
            if continues_paragraph(block[-1], piece):
                block.append(piece)
                break
        else:
            blocks.append([piece])
    return blocks


def _is_prose(block: list[Piece], text: Text, shared: Counter[int]) -> bool:
    words = sum(len(_WORD.findall(piece.text)) for piece in block)
    chars = mean(len(piece.text) for piece in block)
    if words * 9 < chars * len(block):  # figures and symbols instead of words
        return False
    wide = max(piece.box[2] - piece.box[0] for piece in block)
    alone = 1 if chars < _CELL_CHARS else 2  # a long piece may share its line with one other, as in columns
    cells = sum(shared[piece.line] > alone for piece in block)
    if wide < 0.2 * text.width or cells * 2 > len(block):
        return False
    if len(block) < 3:
        near = abs(block[0].size - text.body) < 0.12 * text.body
        return chars >= _LONE_CHARS and near and wide > 0.3 * text.width
    full = sum(piece.box[2] - piece.box[0] > 0.7 * wide for piece in block)
    return chars >= _PROSE_CHARS and full * 10 >= 6 * len(block)


@dataclass(frozen=True, eq=False)
class Caption:
    """One caption. `name` is the visual's full name: "Figure 3"."""

    name: str
    is_table: bool
    text: str
    box: Rect
    pieces: tuple[Piece, ...]


def captions_of(text: Text) -> list[Caption]:
    """The captions of a page in reading order, without mentions in prose."""
    named = {n: match for n in range(len(text.pieces)) if (match := _starts(text, n))}
    taken = {text.pieces[n] for n in named}
    return [_caption(text, n, match, taken) for n, match in named.items()]


def _starts(text: Text, n: int) -> re.Match[str] | None:
    """The match of a caption's beginning in this piece, or None."""
    piece = text.pieces[n]
    match = _CAPTION.match(piece.text)
    if match is None:
        return None
    opens = not any(
        continues_paragraph(above, piece) and above.text.rstrip()[-1:] not in ".:!?"
        for above in text.pieces[max(0, n - 8) : n]
    )
    first = match["rest"].lstrip()[:1]
    if _MARKED.match(match["rest"]):
        return match if opens or piece.bold or first in (":", "|") else None
    return match if opens and (piece.bold or first.isupper() or first.isdigit()) else None


def _caption(text: Text, n: int, match: re.Match[str], taken: set[Piece]) -> Caption:
    first = text.pieces[n]
    word = match["word"].lower()
    number = re.sub("[\u2010-\u2013]", "-", match["number"]).rstrip(".")
    name = f"{(_TABLES | _FIGURES)[word]} {number}"
    pieces = [first]
    _gather(text, n, pieces, taken)
    return Caption(name, word in _TABLES, joined(pieces), union(one.box for one in pieces), tuple(pieces))


def _gather(text: Text, n: int, pieces: list[Piece], taken: set[Piece]) -> None:
    """Add the pieces to the right and below that continue the caption."""
    following = text.pieces[n + 1 : n + 60]
    for one in following:
        over = shared_width(one.box, union(piece.box for piece in pieces)) > 0
        ends = over and one.line != pieces[-1].line
        if one not in taken and len(pieces) < _MAX_LINES:
            cells = [] if one in text.prose else [other for other in following if other is not one]
            last, gap = pieces[-1], one.box[0] - pieces[-1].box[2]
            level = one.line == last.line and abs(one.size - last.size) < 1.5
            if (level and -1 <= gap < 3 * one.size) or (over and _is_next_line(last, one, cells)):
                pieces.append(one)
                ends = False
        if ends:
            break


def _is_next_line(last: Piece, one: Piece, cells: list[Piece]) -> bool:
    """Whether a piece is close below the last piece of a caption, of the same size, and not in a row with one of `cells`."""
    return (
        abs(one.size - last.size) <= max(0.5, 0.12 * last.size)
        and -0.6 * one.size < one.box[1] - last.box[3] < 0.7 * one.size
        and not any(other.line == one.line and shared_height(other.box, one.box) > 2 for other in cells)
    )


def joined(pieces: list[Piece]) -> str:
    """The pieces as one paragraph, with hyphenated words rejoined. A paragraph that is too long for a caption is cut between words."""
    text = unbroken(" ".join(piece.text.split()) for piece in pieces)
    if len(text) <= MAX_CAPTION:
        return text
    return text[: MAX_CAPTION - 3].rsplit(" ", 1)[0] + "..."
