"""Captions on a PDF page: their lines, the visual's name, and the whole paragraph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from qagen_dagster.formats.pdf.layout import (
    Piece,
    Text,
    continues_paragraph,
    same_size,
    shared_height,
    shared_width,
    union,
)
from qagen_dagster.formats.pdf.mupdf import Rect

MAX_CAPTION = 500  # characters
_MAX_LINES = 14
_TABLES = {
    "table": "Table",
    "tab.": "Table",
    "tabelle": "Tabelle",
    "tableau": "Tableau",
    "tabla": "Tabla",
    "tabela": "Tabela",
}
_FIGURES = {
    "figure": "Figure",
    "fig.": "Figure",
    "fig": "Figure",
    "chart": "Chart",
    "scheme": "Scheme",
    "plate": "Plate",
    "diagram": "Diagram",
    "abbildung": "Abbildung",
    "abb.": "Abbildung",
    "figura": "Figura",
}
_CAPTION = re.compile(
    r"(?P<word>"
    + "|".join(re.escape(word) for word in sorted([*_TABLES, *_FIGURES], key=len, reverse=True))
    + r")(?:\s{1,3}|(?<=\.)\s{0,3})(?P<number>(?:[A-Z][.-]?)?\d{1,4}(?:[.\u2010-\u2013-]\d{1,3}){0,3}[a-z]?|[IVXLC]{1,6})"
    r"(?P<rest>(?![\w%/(,;]).*)",
    re.IGNORECASE | re.DOTALL,
)
_MARKED = re.compile(r"\s{0,2}[:.|\u2013\u2014-](?:\s|$)|\s{0,2}\(|\s{0,2}[:|]|$")
_LEADERS = re.compile(r"(?:\.\s?){4,}|\s\d{1,4}$")


@dataclass(frozen=True, eq=False)
class Caption:
    """One caption. `name` is the visual's full name: "Figure 3"."""

    name: str
    is_table: bool
    text: str
    box: Rect
    pieces: tuple[Piece, ...]

    @property
    def is_turned(self) -> bool:
        """Whether the text runs up or down the page."""
        return self.pieces[0].is_turned


def captions_of(text: Text, rules: list[Rect]) -> list[Caption]:
    """The captions of a page in reading order, without entries of lists of figures and mentions in prose."""
    named = {n: match for n in range(len(text.pieces)) if (match := _starts(text, n))}
    starts = list(named)
    if len(starts) > 3 and _is_listing([text.pieces[n] for n in starts], text):
        return []
    taken = {text.pieces[n] for n in starts}
    return [_caption(text, n, match, taken, rules) for n, match in named.items()]


def _starts(text: Text, n: int) -> re.Match[str] | None:
    """The match of a caption's beginning in this piece, or None."""
    piece = text.pieces[n]
    match = _CAPTION.match(piece.text)
    if match is None:
        return None
    rest = match["rest"]
    opens = _opens(text, n)
    first = rest.lstrip()[:1]
    if _MARKED.match(rest):
        fits = opens or first in (":", "|") or piece.bold
    else:
        fits = opens and (piece.bold or first.isupper() or first.isdigit())
    return match if fits else None


def _opens(text: Text, n: int) -> bool:
    """Whether the piece does not continue the line before it."""
    piece = text.pieces[n]
    for other in text.pieces[max(0, n - 8) : n]:
        if not continues_paragraph(other, piece):
            continue
        if abs(other.size - piece.size) > 0.3:
            continue
        ended = other.text.rstrip().endswith((".", ":", "!", "?"))
        if not ended:
            return False
    return True


def _is_listing(pieces: list[Piece], text: Text) -> bool:
    """Whether these are entries of a list of figures: most end in page numbers or dots."""
    ends = 0
    for piece in pieces:
        row = " ".join(one.text for one in text.pieces if one.line in (piece.line, piece.line + 1))
        ends += bool(_LEADERS.search(row.rstrip()))
    return ends * 10 >= 6 * len(pieces)


def _caption(text: Text, n: int, match: re.Match[str], taken: set[Piece], rules: list[Rect]) -> Caption:
    first = text.pieces[n]
    word = match["word"].lower()
    number = re.sub("[\u2010-\u2013]", "-", match["number"]).rstrip(".")
    name = f"{(_TABLES | _FIGURES)[word]} {number}"
    pieces = [first]
    if first.is_turned:
        pieces += [one for one in text.pieces[n + 1 : n + 4] if one.is_turned and one not in taken]
    else:
        _gather(text, n, pieces, taken, rules)
    return Caption(name, word in _TABLES, joined(pieces), union(one.box for one in pieces), tuple(pieces))


def _gather(text: Text, n: int, pieces: list[Piece], taken: set[Piece], rules: list[Rect]) -> None:
    """Add the pieces to the right and below that continue the caption."""
    row_end = pieces[0]
    below: list[Piece] = []
    for one in text.pieces[n + 1 : n + 60]:
        if one in taken:
            if shared_width(one.box, pieces[0].box) > 0 and one.line != pieces[0].line:
                break
            continue
        if one.line == row_end.line and one.box[0] >= row_end.box[2] - 1:
            if one.box[0] - row_end.box[2] < 3 * one.size and abs(one.size - row_end.size) < 1.5:
                pieces.append(one)
                row_end = one
            continue
        below.append(one)
    for one in below:
        cells = [] if one in text.prose else below
        if len(pieces) >= _MAX_LINES or not _goes_on(pieces, one, cells, rules):
            if shared_width(one.box, union(p.box for p in pieces)) > 0:
                break
            continue
        pieces.append(one)


def _goes_on(pieces: list[Piece], one: Piece, cells: list[Piece], rules: list[Rect]) -> bool:
    last = pieces[-1]
    box = union(piece.box for piece in pieces)
    if one.is_turned or not (same_size(one, last) or abs(one.size - last.size) < 0.12 * last.size):
        return False
    gap = one.box[1] - last.box[3]
    lead = _leading(pieces)
    if not (-0.6 * one.size < gap < min(lead, 0.7 * one.size)) or one.box[1] <= last.box[1] + 2:
        return False
    if shared_width(one.box, box) <= 0 or one.box[0] < box[0] - 30:
        return False
    if any(
        other.line == one.line and other is not one and shared_height(other.box, one.box) > 2
        for other in cells
    ):
        return False  # part of a row of cells
    if any(
        last.box[3] - 3 <= (rule[1] + rule[3]) / 2 <= one.box[1] + 4 and shared_width(rule, one.box) > 0
        for rule in rules
    ):
        return False
    return not _ended(pieces, one)


def _leading(pieces: list[Piece]) -> float:
    """The maximum gap between two lines of this caption."""
    if len(pieces) < 2 or pieces[-1].line == pieces[-2].line:
        return pieces[-1].size
    gaps = [b.box[1] - a.box[3] for a, b in pairwise(pieces) if b.box[1] > a.box[1] + 2]
    return max([*gaps, 0.25 * pieces[-1].size]) + 0.15 * pieces[-1].size + 0.6  # raised letters narrow a gap


def _ended(pieces: list[Piece], one: Piece) -> bool:
    """Whether the last line clearly ends its paragraph."""
    last, box = pieces[-1], union(piece.box for piece in pieces)
    if not last.text.rstrip().endswith((".", ")", ":")):
        return False
    short = last.box[2] < max(box[2], one.box[2]) - 0.2 * (max(box[2], one.box[2]) - box[0])
    centred = (
        abs((last.box[0] + last.box[2]) / 2 - (one.box[0] + one.box[2]) / 2) < 3 and last.box[0] > box[0] + 6
    )
    return short and not centred and one.text[:1].isupper()


def joined(pieces: list[Piece]) -> str:
    """The pieces as one paragraph, with hyphenated words rejoined, cut at a word."""
    text = ""
    for piece in pieces:
        part = " ".join(piece.text.split())
        if text.endswith("-") and text[-2:-1].isalpha() and part[:1].isalpha():
            text = (text[:-1] if part[0].islower() else text) + part
        else:
            text = f"{text} {part}" if text else part
    if len(text) <= MAX_CAPTION:
        return text
    return text[: MAX_CAPTION - 3].rsplit(" ", 1)[0] + "..."
