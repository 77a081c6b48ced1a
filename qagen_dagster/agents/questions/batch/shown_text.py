"""Chooses the text that agents without tools see: the whole document without long back matter, or parts from the whole document.

A document that is too long is not cut off at the end. Its back matter is left out first. If the rest is still too long, each round shows
other parts of the body at even distances. The prompt states what is left out, and the result records what was shown. Blanks that only
justify a line to the margin are removed. The columns of tables keep their gaps.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from qagen_dagster.records.document import merged_lines
from qagen_dagster.records.questions.results import LineSpan
from qagen_dagster.toolkit.back_matter import BackMatter
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, neutralise

_GAP = re.compile(r"(?<=\S)[ \u00a0\u2000-\u200a]{2,}(?=\S)")
_DRAWN = re.compile(r"[|\t\u2500-\u257f]")
_SENTENCE_END = re.compile("[.!?;:,][\"'\u201d\u2019)\\]]{0,2}\\d{0,3}\\Z")
_VALUE = re.compile(r"[-+\u2212\u2013(<>~$\u20ac\u00a3]{0,3}\d")


_NEAR = 4  # lines before and after a line that are compared with it; blank lines do not count


@dataclass(frozen=True)
class _Line:
    """The offsets at which columns start after a gap and end before a gap, and whether the line is surely a table row. A row is drawn, or
    has numbers after at least half of its gaps. The end of the line is no end of a column, because it is the margin."""

    starts: frozenset[int]
    ends: frozenset[int]
    is_row: bool

    def beside(self, other: "_Line") -> "_Line":
        return _Line(self.starts | other.starts, self.ends | other.ends, is_row=True)

    def fits(self, other: "_Line") -> bool:
        """Whether most columns of this line begin or end where columns of `other` do."""
        size = len(self.starts)
        return 2 * len(self.starts & other.starts) > size or 2 * len(self.ends & other.ends) > size


_NOTHING = _Line(frozenset(), frozenset(), is_row=False)


def unpadded(lines: Sequence[str]) -> list[str]:
    """The lines, in order. Outside table rows, each run of blanks becomes one blank."""
    words = [number for number, line in enumerate(lines) if line.strip()]
    parsed = [_parsed(lines[number]) for number in words]
    shown = list(lines)
    for place, number in enumerate(words):
        if not _in_table(parsed, place):
            shown[number] = _GAP.sub(" ", lines[number]).rstrip()
    return shown


def _parsed(line: str) -> _Line:
    gaps = list(_GAP.finditer(line))
    if len(gaps) == 1 and _SENTENCE_END.search(line, 0, gaps[0].start()):
        gaps = []
    values = sum(_VALUE.match(line, gap.end()) is not None for gap in gaps)
    is_row = _DRAWN.search(line) is not None or 2 * values >= len(gaps) > 0
    return _Line(frozenset(gap.end() for gap in gaps), frozenset(gap.start() for gap in gaps), is_row)


def _in_table(lines: Sequence[_Line], place: int) -> bool:
    """Whether the line is surely a table row, or its columns fit the line before or after it or the rows near it."""
    this = lines[place]
    if this.is_row or not this.starts:
        return this.is_row
    before, after = lines[max(0, place - _NEAR) : place], lines[place + 1 : place + 1 + _NEAR]
    rows = reduce(_Line.beside, (one for one in (*before, *after) if one.is_row), _NOTHING)
    return any(this.fits(one) for one in (*before[-1:], *after[:1], rows))


ROUNDS = 5  # maximum rounds of questions; each shows other parts of a long document
BUDGETS = (
    100_000,
    50_000,
    25_000,
    12_000,
    6_000,
)  # characters; tried in order until a model accepts the text
PART = 3_000  # characters
NEAR = 4  # parts of a long document that are added because they share words with a question
_GOES_ON = " [line {number} goes on]"
_WORD = re.compile(r"\w{3,}")
_WHOLE = "The whole document, lines 1-{total}."
_PARTS = (
    "Only parts of the document, taken from all over it: lines {lines} of {total}. Say nothing that "
    "depends on what is not shown, such as totals over the document, or what it says first, last, only or nowhere; "
    "a total over a table or list that is shown whole is fine."
)
_BODY = "The whole body of the document: lines {lines} of {total}."
_LEFT_OUT = " Its back matter is left out: {what}."
_NAMED = 12  # maximum sections of back matter that are named


@dataclass(frozen=True)
class Part:
    """Consecutive lines (1-based, inclusive) as rows to show. A very long line may be split into several parts."""

    start: int
    end: int
    rows: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(len(row) + 1 for row in self.rows)


class Reading:
    """One document in parts. A choice of parts is a tuple of indexes; an empty tuple means all parts. A line longer than PART is split."""

    def __init__(self, view: DocumentView) -> None:
        self._view = view

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        starts = {section.start_line for section in self._view.document.sections}
        edges = {edge for one in self._view.back_matter for edge in (one.start, one.end + 1)}
        return tuple(_parts(unpadded(self._view.lines), starts, edges))

    def choose(self, round_: int, budget: int) -> tuple[int, ...]:
        """The parts to show in a round (from 1): all but long back matter, or else the whole body, if they fit `budget` characters.
        Otherwise evenly spaced parts of the body."""
        asked = self._body or tuple(range(len(self.parts)))
        for shown in (self._without(self._view.long_back_matter), asked):
            if sum(self.parts[index].size for index in shown) <= budget:
                return shown if len(shown) < len(self.parts) else ()
        count = max(1, min(len(asked), budget // PART))
        step = len(asked) / count
        first = step * ((round_ - 1) % ROUNDS) / ROUNDS
        return tuple(sorted({asked[int(first + number * step)] for number in range(count)}))

    def near(self, words: str, budget: int) -> tuple[int, ...]:
        """As `choose` if the whole body fits. Otherwise the parts that share most rare words with `words`; if none does, as `choose`."""
        chosen = self.choose(1, budget)
        return chosen if self.has_body(chosen) else self.about(words, budget // PART) or chosen

    def has_body(self, chosen: tuple[int, ...]) -> bool:
        """Whether the chosen parts hold the whole body of the document."""
        return not chosen or (bool(self._body) and set(self._body) <= set(chosen))

    def beside(self, chosen: tuple[int, ...], question: str) -> tuple[int, ...]:
        """`chosen` and the parts of the body that share most of the question's rare words. An empty tuple stays empty."""
        if not chosen:
            return ()
        rest = tuple(index for index in range(len(self.parts)) if self._body and index not in self._body)
        return tuple(sorted((*chosen, *self.about(question, NEAR, without=(*chosen, *rest)))))

    def about(self, question: str, most: int, *, without: tuple[int, ...] = ()) -> tuple[int, ...]:
        """At most `most` parts that share most of the question's rare words, in order. The body is preferred to back matter."""
        asked = _words([question])
        scores = {
            index: sum(self._rarity[word] for word in asked & words)
            for index, words in enumerate(self._words)
            if index not in without
        }
        near = [index for index in scores if scores[index] > 0]
        near.sort(key=lambda index: (index not in self._body, -scores[index]))
        return tuple(sorted(near[:most]))

    def around(self, lines: Iterable[int]) -> tuple[int, ...]:
        """The parts that hold these lines, and the part before and after each of them."""
        wanted = set(lines)
        found = [
            i for i, one in enumerate(self.parts) if not wanted.isdisjoint(range(one.start, one.end + 1))
        ]
        near = {index for i in found for index in (i - 1, i, i + 1)}
        return tuple(sorted(near & set(range(len(self.parts)))))

    def show(self, chosen: tuple[int, ...]) -> str:
        """The numbered lines of the chosen parts between delimiters; `[...]` stands for what is left out."""
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
        """A sentence that states which lines `show` shows."""
        total = len(self._view.lines)
        if not chosen:
            return _WHOLE.format(total=total)
        lines = ", ".join(f"{span.start}-{span.end}" for span in self.spans(chosen))
        how = _BODY if self.has_body(chosen) else _PARTS
        return how.format(lines=lines, total=total) + self._left_out(chosen)

    def spans(self, chosen: Iterable[int]) -> tuple[LineSpan, ...]:
        """The lines of the chosen parts; adjacent ranges are merged."""
        found = (self.parts[index] for index in chosen)
        merged = merged_lines((part.start, part.end) for part in found)
        return tuple(LineSpan(start=start, end=end) for start, end in merged)

    def _left_out(self, chosen: tuple[int, ...]) -> str:
        """A sentence that names the back matter which is not shown."""
        shown = [self.parts[index] for index in chosen]
        names = [
            f"{one.title} (lines {one.start}-{one.end})"
            for one in self._view.back_matter
            if not any(part.start <= one.end and one.start <= part.end for part in shown)
        ]
        if len(names) > _NAMED:
            names[_NAMED:] = [f"{len(names) - _NAMED} sections more"]
        return _LEFT_OUT.format(what=", ".join(names)) if names else ""

    @cached_property
    def _body(self) -> tuple[int, ...]:
        return self._without(self._view.back_matter)

    def _without(self, back_matter: Sequence[BackMatter]) -> tuple[int, ...]:
        """The parts that hold more than back matter."""
        return tuple(
            index
            for index, part in enumerate(self.parts)
            if not any(one.start <= part.start and part.end <= one.end for one in back_matter)
        )

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(_words(part.rows) for part in self.parts)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(word for words in self._words for word in words)
        return {word: math.log(len(self.parts) / count) for word, count in counts.items()}


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in _WORD.findall(text))


def _parts(lines: Sequence[str], section_starts: set[int], edges: set[int]) -> Iterator[Part]:
    """Parts of about PART characters. A part begins at each line in `edges`, and at a line in `section_starts` if the part before is
    more than half full."""
    rows: list[str] = []
    start = size = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        begins = number in edges or (number in section_starts and size > PART // 2)
        if rows and (begins or size + len(line) > PART):
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
    """A line in pieces of at most PART characters, broken at spaces if possible."""
    pieces: list[str] = []
    at = 0
    while len(line) - at > PART:
        end = line.rfind(" ", at + 1, at + PART) + 1 or at + PART
        pieces.append(line[at:end])
        at = end
    return [*pieces, line[at:]]
