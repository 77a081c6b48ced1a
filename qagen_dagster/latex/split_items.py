r"""Splitting of a TeX text into items; the pieces together give the text unchanged.

An item is an `\item` of an outermost list; lists inside an item, in a solution or an option belong to it. If some of
the outermost lists have solutions, the others (instructions, formulas) hold no problems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from qagen_dagster.latex.code import code_of, plain_of

_MARK = re.compile(
    r"\\(?P<kind>begin|end)\s*\{(?P<name>[^{}\n]{1,60})\}|(?P<item>\\item)(?![A-Za-z@])|(?P<brace>[{}])"
)
_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_OVER = re.compile(r"\\end\s*\{document\}")
_SOLUTION = re.compile(r"\\begin\s*\{solution\*?\}")


@dataclass(frozen=True)
class Piece:
    r"""A part of a TeX text: an item from `\item` to the next item or the end of its list, or the text between."""

    text: str
    is_item: bool = False


@dataclass(frozen=True)
class TexItems:
    """A TeX text as pieces, which joined give the text character for character."""

    pieces: tuple[Piece, ...]
    preamble: str = ""  # the text before the document; empty in a fragment

    @property
    def items(self) -> tuple[str, ...]:
        """The items in order, each with its trailing white space."""
        return tuple(piece.text for piece in self.pieces if piece.is_item)

    @property
    def bare_items(self) -> tuple[str, ...]:
        """The items without trailing white space and comments, because such a comment is about the next item."""
        return tuple(_without_tail(item) for item in self.items)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def with_items(self, items: Sequence[str]) -> str:
        """The text with its items replaced, one by one. Raises ValueError for another number of items."""
        fresh = iter(items)
        if len(items) != len(self.items):
            raise ValueError(f"{len(items)} items given, {len(self.items)} expected")
        return "".join(next(fresh) if piece.is_item else piece.text for piece in self.pieces)


def split_items(latex: str) -> TexItems:
    """Split a document or a fragment into its items. A text without an item is one piece."""
    plain = plain_of(latex)
    document = _DOCUMENT.search(plain)
    over = _OVER.search(plain)
    start = document.end() if document else 0
    stop = over.start() if over and over.start() >= start else len(latex)
    lists = _lists(plain, start, stop)
    solved = [one for one in lists if _SOLUTION.search(plain, one.starts[0], one.end)]
    cuts = [cut for one in sorted(solved or lists, key=lambda one: one.starts[0]) for cut in one.spans()]
    pieces, place = list[Piece](), 0
    for begin, end in cuts:
        if begin > place:
            pieces.append(Piece(latex[place:begin]))
        pieces.append(Piece(latex[begin:end], is_item=True))
        place = end
    if place < len(latex):
        pieces.append(Piece(latex[place:]))
    return TexItems(tuple(pieces), latex[: document.start()] if document else "")


@dataclass
class _Frame:
    """An open environment: its name, the brace depth around it, where its own items begin."""

    name: str
    braces: int
    starts: list[int] = field(default_factory=list[int])
    end: int = 0

    def spans(self) -> list[tuple[int, int]]:
        return list(pairwise((*self.starts, self.end)))


class _Reader:
    """Tracks environments and braces, and collects the outermost environments that have items."""

    def __init__(self) -> None:
        self.lists: list[_Frame] = []
        self._open = [_Frame("", 0)]
        self._names = Counter[str]()
        self._listing = 0  # number of open environments with items
        self._braces = 0

    def read(self, mark: re.Match[str]) -> None:
        if mark.group("brace"):
            self._braces = max(0, self._braces + (1 if mark.group() == "{" else -1))
        elif mark.group("item"):
            self._item(mark.start())
        elif mark.group("kind") == "begin":
            self._open.append(_Frame(mark.group("name"), self._braces))
            self._names[mark.group("name")] += 1
        else:
            self._close(mark.group("name"), mark.start())

    def finish(self, place: int) -> None:
        while self._open:
            self._leave(place)

    def _item(self, place: int) -> None:
        """Record an item, unless it stands in a nested list or in a group of braces, such as a definition."""
        frame = self._open[-1]
        nested = self._listing > bool(frame.starts)
        if not nested and self._braces <= frame.braces:
            self._listing += not frame.starts
            frame.starts.append(place)

    def _close(self, name: str, place: int) -> None:
        """Close the environment and those still open in it; an end without a beginning is ignored."""
        while self._names[name]:
            if self._leave(place) == name:
                return

    def _leave(self, place: int) -> str:
        frame = self._open.pop()
        frame.end = place
        self._braces = frame.braces
        self._names[frame.name] -= 1
        if frame.starts:
            self._listing -= 1
            self.lists.append(frame)
        return frame.name


def _lists(plain: str, start: int, stop: int) -> list[_Frame]:
    reader = _Reader()
    for mark in _MARK.finditer(plain, start, stop):
        reader.read(mark)
    reader.finish(stop)
    return reader.lists


def _without_tail(item: str) -> str:
    end = len(code_of(item).rstrip())
    lines = (line.strip() for line in item[end:].split("\n"))
    return item[:end] if all(line[:1] in ("", "%") for line in lines) else item.rstrip()
