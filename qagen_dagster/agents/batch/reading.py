"""What of a document is shown to agents without tools: all of it, or parts spread over all of it.

A document that is too long is never cut at some length: parts are taken at even distances, others in each round,
and what they are is told to the model and kept with the result.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.agents.qa.history import reference_lines
from qagen_dagster.records.question import LineSpan
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, neutralise

ROUNDS = 5  # of questions, at most; each shows other parts of a long document
BUDGETS = (100_000, 50_000, 25_000, 12_000, 6_000)  # characters; the next where a model cannot take so much
PART = 3_000  # characters
NEAR = 4  # parts of a long document that are shown beside, because they share words with a question
_GOES_ON = " [line {number} goes on]"
_WORD = re.compile(r"\w{3,}")
_WHOLE = "The whole document, lines 1-{total}."
_PARTS = (
    "Only parts of the document, taken from all over it: lines {lines} of {total}. Say nothing that "
    "depends on what is not shown, such as totals over the document, or what it says first, last, only or nowhere; "
    "a total over a table or list that is shown whole is fine."
)


@dataclass(frozen=True)
class Part:
    """Consecutive lines (1-based, inclusive) as rows to show; a very long line may fill several parts."""

    start: int
    end: int
    rows: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(len(row) + 1 for row in self.rows)


class Reading:
    """One document in parts. A choice of parts is a tuple of their indexes; the empty one means all."""

    def __init__(self, view: DocumentView) -> None:
        self._view = view

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        starts = {section.start_line for section in self._view.document.sections}
        return tuple(_parts(self._view.lines, starts))

    def choose(self, round_: int, budget: int) -> tuple[int, ...]:
        """The parts to show in a round (from 1): all if they fit `budget` characters, else evenly spread ones."""
        if sum(part.size for part in self.parts) <= budget:
            return ()
        asked = [index for index, part in enumerate(self.parts) if not self._lists_references(part)]
        asked = asked or list(range(len(self.parts)))
        count = max(1, min(len(asked), budget // PART))
        step = len(asked) / count
        first = step * ((round_ - 1) % ROUNDS) / ROUNDS
        return tuple(sorted({asked[int(first + number * step)] for number in range(count)}))

    def beside(self, chosen: tuple[int, ...], question: str) -> tuple[int, ...]:
        """`chosen` with the parts that share most of the question's rare words; all stays all."""
        return tuple(sorted((*chosen, *self.about(question, NEAR, without=chosen)))) if chosen else ()

    def about(self, question: str, most: int, *, without: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The parts that share most of the question's rare words, in order."""
        asked = _words([question])
        scores = {
            index: sum(self._rarity[word] for word in asked & words)
            for index, words in enumerate(self._words)
            if index not in without
        }
        near = sorted((index for index in scores if scores[index] > 0), key=lambda index: -scores[index])
        return tuple(sorted(near[:most]))

    def show(self, chosen: tuple[int, ...]) -> str:
        """The numbered lines of the chosen parts, delimited, with a mark where something is left out."""
        rows: list[str] = []
        before = -1
        for index in chosen or range(len(self.parts)):
            if index != before + 1:
                rows.append("[...]")
            rows += self.parts[index].rows
            before = index
        if before < len(self.parts) - 1:
            rows.append("[...]")
        return enclose(rows)

    def note(self, chosen: tuple[int, ...]) -> str:
        """What `show` shows, in words."""
        total = len(self._view.lines)
        if not chosen:
            return _WHOLE.format(total=total)
        lines = ", ".join(f"{span.start}-{span.end}" for span in self.spans(chosen))
        return _PARTS.format(lines=lines, total=total)

    def spans(self, chosen: Iterable[int]) -> tuple[LineSpan, ...]:
        """The lines of the chosen parts, touching ones together."""
        spans: list[LineSpan] = []
        for index in sorted(set(chosen)):
            part = self.parts[index]
            if spans and part.start <= spans[-1].end + 1:
                spans[-1] = LineSpan(start=spans[-1].start, end=max(part.end, spans[-1].end))
            else:
                spans.append(LineSpan(start=part.start, end=part.end))
        return tuple(spans)

    def _lists_references(self, part: Part) -> bool:
        spans = reference_lines(self._view.document)
        return any(start <= part.start and part.end <= end for start, end in spans)

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(_words(part.rows) for part in self.parts)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(word for words in self._words for word in words)
        return {word: math.log(len(self.parts) / count) for word, count in counts.items()}


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in _WORD.findall(text))


def _parts(lines: Sequence[str], section_starts: set[int]) -> Iterator[Part]:
    rows: list[str] = []
    start = size = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        full = size + len(line) > PART or (number in section_starts and size > PART // 2)
        if rows and full:
            yield Part(start, number - 1, tuple(rows))
            rows, size = [], 0
        *whole, rest = _pieces(line)
        for piece in whole:
            yield Part(number, number, (f"{number}| {neutralise(piece)}{_GOES_ON.format(number=number)}",))
        start = start if rows else number
        rows.append(f"{number}| {neutralise(rest)}")
        size += len(rest) + 1
    if rows:
        yield Part(start, len(lines), tuple(rows))


def _pieces(line: str) -> list[str]:
    """A line in pieces of at most PART characters, broken at spaces where there are some."""
    pieces: list[str] = []
    at = 0
    while len(line) - at > PART:
        end = line.rfind(" ", at + 1, at + PART) + 1 or at + PART
        pieces.append(line[at:end])
        at = end
    return [*pieces, line[at:]]
