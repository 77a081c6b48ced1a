"""Cuts a document into chunks of whole sentences, up to a size. Only a sentence that is longer than this size is cut.

The last sentences of a chunk also begin the next chunk, as far as the overlap allows. Both sizes are `IndexOptions`
(`records/corpus_options.py`). Chunks are positions in the text, and together they cover it. They never cut a character as a reader
sees it (a grapheme cluster of Unicode Annex 29).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from qagen_dagster.english.sentences import split
from qagen_dagster.records.document import Chunk
from qagen_dagster.records.index_options import IndexOptions

if TYPE_CHECKING:
    import regex

_RUN = re.compile(r"\r\n|[\x20-\x7e]?+(?:[^\x00-\x7f]++[\x20-\x7e]?+)++")


@cache
def _cluster() -> regex.Pattern[str]:
    import regex  # imported only for texts that need it, because the import is slow

    return regex.compile(r"\X")


def inner_positions(text: str) -> frozenset[int]:
    """All offsets in `text` that are inside a grapheme cluster."""
    return frozenset(
        position
        for run in _RUN.finditer(text)
        for cluster in _cluster().finditer(text, run.start(), run.end())
        for position in range(cluster.start() + 1, cluster.end())
    )


CHUNKING_VERSION = "1"  # raise it if the same text and options give different chunks
_NEWLINE = re.compile("\n")


def chunks_of(text: str, options: IndexOptions) -> tuple[Chunk, ...]:
    """The chunks of `text` in order. Together they cover the whole text. There are no chunks if no character is
    visible. White space around a chunk belongs to the chunk, but does not count toward its size. A chunk is longer than
    `chunk_characters` only if it is a single grapheme that is longer."""
    units = _Cutter(text, inner_positions(text), options.chunk_characters).units()
    lines = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    return tuple(
        Chunk(
            number=number,
            start=units[first].start,
            end=units[last].end,
            start_line=bisect_right(lines, units[first].visible),
            end_line=bisect_right(lines, units[last].stop - 1),
        )
        for number, (first, last) in enumerate(_packed(units, options), 1)
    )


class _Unit(NamedTuple):
    """A piece that is never cut: a sentence or a part of a long sentence, with the white space around it."""

    start: int
    end: int
    visible: int  # position of the first visible character
    stop: int  # position after the last visible character


@dataclass(frozen=True)
class _Cutter:
    text: str
    inside: frozenset[int]
    size: int

    def units(self) -> list[_Unit]:
        """Pieces that cover the text; empty if no character is visible. White space around a piece does not count toward `size`."""
        if not self.text or self.text.isspace():
            return []
        later = (one.start for one in split(self.text)[1:])
        cuts = [0, *(start for start in later if start not in self.inside), len(self.text)]
        return [unit for start, end in pairwise(cuts) for unit in self._pieces(start, end)]

    def _pieces(self, start: int, end: int) -> Iterator[_Unit]:
        visible, stop = self._visible(start, end)
        while stop - visible > self.size:
            cut = self._cut(visible)
            if cut >= stop:
                break
            yield _Unit(start, cut, visible, self._visible(visible, cut)[1])
            start, (visible, _) = cut, self._visible(cut, end)
        yield _Unit(start, end, visible, stop)

    def _cut(self, start: int) -> int:
        """The end of a piece that begins at `start`: after white space in its second half, else at the end of a grapheme."""
        latest = start + self.size
        for cut in range(latest, start + self.size // 2, -1):
            if cut not in self.inside and self.text[cut - 1].isspace():
                return cut
        cut = latest
        while cut > start and cut in self.inside:
            cut -= 1
        while cut == start or cut in self.inside:
            cut += 1
        return cut

    def _visible(self, start: int, end: int) -> tuple[int, int]:
        """The positions of the first visible character and after the last visible one. There must be a visible character."""
        piece = self.text[start:end]
        return end - len(piece.lstrip()), start + len(piece.rstrip())


def _packed(units: list[_Unit], options: IndexOptions) -> Iterator[tuple[int, int]]:
    """The first and last unit of each chunk."""
    size, count = options.chunk_characters, len(units)
    first = last = 0
    while first < count:
        while last + 1 < count and units[last + 1].stop - units[first].visible <= size:
            last += 1
        yield first, last
        if last + 1 == count:
            return
        before, first = first, last + 1
        room = min(options.overlap_characters, size - (units[first].stop - units[last].stop))
        while first - 1 > before and units[last].stop - units[first - 1].visible <= room:
            first -= 1
        last += 1
