"""A document against which claims are checked.

It has sentences, windows of up to three sentences, and rows of tables with their column headers. It also finds copies of its
sentences in an answer. An index of words over the whole document finds the candidate windows, so no part of a long document is left out.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.english.amounts import Amount
from qagen_dagster.english.facts import Facts, facts, facts_of_document
from qagen_dagster.english.sentences import Sentence, split
from qagen_dagster.english.words import content_stems
from qagen_dagster.records.grading import SpanEvidence

_RULE = re.compile(r"[\s|:+=-]+")
_BARE = re.compile(r"[-+\u2212]?\d[\d,.]*")
_UNIT = re.compile(r"\s*[(\[]\s*(?:in\s)?([^()\[\]]{1,20}?)\s*[)\]]\s*$")
_MONEY = re.compile(r"(us\$|[$£€¥₹])\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A row of a table. `line` is its line in the document, counted from 1. There is one header in `heads` for each of `cells`."""

    line: int
    text: str
    heads: list[str]
    cells: list[str]

    def stated(self) -> str:
        """The row as a statement, in which each cell has its column header and the unit that the header names. If a header is a bare
        number, this is the row as it stands."""
        if any(map(_BARE.fullmatch, self.heads)):
            return self.text
        return "; ".join(_stated(*pair) for pair in zip(self.heads, self.cells, strict=True) if pair[1])


def rows(text: str) -> Iterator[Row]:
    """The rows of all tables of the text, in order, except header rows and rows whose number of cells differs from the header's."""
    heads: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        cells = [" ".join(cell.split()) for cell in re.split(r"\||\t", line.strip().strip("|"))]
        if len(cells) < 2:
            heads = []
        elif _RULE.fullmatch(line):
            continue
        elif len(cells) == len(heads):
            yield Row(number, line.strip(), heads, cells)
        else:
            heads = heads or cells


def _stated(head: str, cell: str) -> str:
    unit = _UNIT.search(head)
    if unit is None or not _BARE.fullmatch(cell):
        return f"{head}: {cell}"
    name, written = head[: unit.start()], unit.group(1).replace("'000", " thousand").removesuffix("s")
    money = _MONEY.fullmatch(written)
    if money:
        return f"{name}: {money.group(1)}{cell} {money.group(2)}".rstrip()
    return f"{name}: {cell}{'' if written == '%' else ' '}{written}"


LEAST_COPIED = 4  # minimum words of a copy, or 2 if `is_statement` holds; a shorter copy ("No.") must follow a copy of the sentence before it
_STOPPED = re.compile(r"[.!?…。\uff01\uff1f][\"'\u201d\u2019)\]]*\Z")
_WORD = re.compile(r"\S+")
_QUOTES = "\"'\u201c\u201d\u2018"
_ENDING = ".,;:!" + _QUOTES


def is_statement(sentence: str) -> bool:
    """Whether a sentence of a document ends as a sentence; titles and cells do not."""
    return _STOPPED.search(sentence) is not None and any(map(str.isalpha, sentence))


class Copies:
    """The sentences of one document, indexed by their words."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}
        self._statements: set[tuple[str, ...]] = set()  # statements (`is_statement`) of two words or more
        self._sizes: dict[str, set[int]] = {}  # sizes in words of the sentences, by their first word
        for number, sentence in enumerate(sentences):
            words = tuple(word for word, _ in _words_at(sentence.text))
            self._numbers.setdefault(words, number)
            self._sizes.setdefault(words[0], set()).add(len(words))
            if len(words) > 1 and is_statement(sentence.text):
                self._statements.add(words)

    def find(self, answer: str, claims: Sequence[Sentence]) -> list[int | None]:
        """For each claim of the answer, the number of the document's sentence that it copies (the first, if it copies several); None if a word
        of the claim is not copied. Copies are searched in the whole answer, because the answer and the document may be split differently."""
        words, starts = zip(*_words_at(answer), strict=True) if answer.strip() else ((), ())
        numbers: dict[int, int] = {}  # number of the copied sentence, by the position of each word
        at, last = 0, -2
        while at < len(words):
            sizes = self._sizes.get(words[at], ())
            size = max((one for one in sizes if self._is_copy(words[at : at + one], last)), default=0)
            if size:
                last = self._numbers[words[at : at + size]]
                numbers.update(dict.fromkeys(starts[at : at + size], last))
            at += size or 1
        return [_first(claim, numbers) for claim in claims]

    def _is_copy(self, words: tuple[str, ...], last: int) -> bool:
        number = self._numbers.get(words)
        long = len(words) >= LEAST_COPIED or words in self._statements
        return number is not None and (long or number == last + 1)


def _first(claim: Sentence, numbers: dict[int, int]) -> int | None:
    """The number of the document's sentence that has the claim's first word; None if any word of the claim is not in a copy."""
    found = [numbers.get(claim.start + start) for _, start in _words_at(claim.text)]
    return found[0] if None not in found else None


def _words_at(text: str) -> Iterator[tuple[str, int]]:
    """The normalised words of a text with their character offsets. A token without letters, such as leader dots, counts as a word."""
    for match in _WORD.finditer(text):
        word = match.group().replace("\u2019", "'").casefold()
        yield word.rstrip(_ENDING).lstrip(_QUOTES) or word, match.start()


SIZES = (1, 2, 3)  # sentences in a window
SMALL = 12  # in a document with at most this many sentences, every window is a candidate
_ENDED = re.compile(r"[.!?…:;,。\uff01\uff1f][\"'\u201d\u2019)\]]*$")


@dataclass(frozen=True, order=True)
class Window:
    """`size` sentences from number `first` on."""

    first: int
    size: int


class Source:
    """One document. Safe to use from many threads."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.computed = ""

    def deriving(self, text: str) -> "Source":
        """The same document with the numbers in `text`, which code has computed from it. A claim may state these numbers."""
        if not text:
            return self
        same = copy(self)
        same.computed = text
        return same

    def has_computed(self, one: Amount) -> bool:
        """Whether the number of `one`, in any unit, is a result or an input of the computation by code."""
        return any(one.number == other.number for other in facts(self.computed).amounts)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(split(self.text))

    @cached_property
    def stems(self) -> tuple[tuple[str, ...], ...]:
        """The stems of each sentence. The stems of a table row include its column headers."""
        return tuple(content_stems(text) for text in self._sentence_texts)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        return tuple(rows(self.text))

    @cached_property
    def _sentence_texts(self) -> tuple[str, ...]:
        """The text of each sentence. In a table row, each cell follows its column header."""
        texts = [" ".join(sentence.text.split()) for sentence in self.sentences]
        for row in self.rows:
            for number in self.sentences_on(row.line, row.line):
                if self.sentences[number].text == row.text:
                    texts[number] = row.stated()
        return tuple(texts)

    @cached_property
    def facts(self) -> Facts:
        return facts_of_document("\n".join([self.text, *(row.stated() for row in self.rows)]))

    @cached_property
    def copies(self) -> Copies:
        """The document's sentences, indexed to find copies."""
        return Copies(self.sentences)

    @cached_property
    def _postings(self) -> dict[str, NDArray[np.int32]]:
        lists: dict[str, list[int]] = {}
        for number, stems in enumerate(self.stems):
            for stem in set(stems):
                lists.setdefault(stem, []).append(number)
        return {stem: np.array(numbers, dtype=np.int32) for stem, numbers in lists.items()}

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for offset, char in enumerate(self.text):
            if char == "\n":
                starts.append(offset + 1)
        return starts

    def rarity(self, stem: str) -> float:
        """The rarity of a stem in this document: smoothed inverse sentence frequency, as a logarithm."""
        found = self._postings.get(stem)
        return math.log((len(self.sentences) + 1) / ((0 if found is None else len(found)) + 0.5)) + 1.0

    def has(self, stem: str) -> bool:
        """Whether any sentence of the document has a word with this stem."""
        return stem in self._postings

    def sentences_on(self, first: int, last: int) -> range:
        """Numbers of the sentences on the lines `first` to `last`, 1-based and inclusive."""
        starts = self._line_starts
        begin = starts[min(max(first, 1), len(starts)) - 1]
        end = starts[max(last, 0)] if last < len(starts) else len(self.text)
        from_here = bisect_right(self.sentences, begin, key=lambda one: one.end)
        return range(from_here, bisect_left(self.sentences, end, key=lambda one: one.start))

    def windows(self) -> list[Window]:
        """Every window, small windows first."""
        count = len(self.sentences)
        return [Window(first, size) for size in SIZES for first in range(count - size + 1)]

    def candidates(self, stems: Iterable[str], each: int) -> list[Window]:
        """The windows with the largest shares of `stems`, where rare stems count more: up to `each` windows of
        every size. Returns all windows of a small document."""
        count = len(self.sentences)
        if count <= SMALL:
            return self.windows()
        covered = {size: np.zeros(count - size + 1, dtype=np.float32) for size in SIZES}
        for stem in set(stems):
            postings = self._postings.get(stem)
            if postings is None:
                continue
            weight = self.rarity(stem)
            for size in SIZES:
                starts = np.unique(np.concatenate([postings - back for back in range(size)]))
                covered[size][starts[(starts >= 0) & (starts <= count - size)]] += weight
        return [Window(int(first), size) for size in SIZES for first in _largest(covered[size], each)]

    def window_text(self, window: Window) -> str:
        """The sentences of the window, joined by spaces. After a sentence without a final mark, such as a heading, a new line begins."""
        chosen = self._sentence_texts[window.first : window.first + window.size]
        return "".join(text + (" " if _ENDED.search(text) else "\n") for text in chosen[:-1]) + chosen[-1]

    def window_stems(self, window: Window) -> list[str]:
        return [stem for stems in self.stems[window.first : window.first + window.size] for stem in stems]

    def evidence(self, window: Window) -> SpanEvidence:
        start = self.sentences[window.first].start
        end = self.sentences[window.first + window.size - 1].end
        first, last = (bisect_right(self._line_starts, offset) for offset in (start, max(start, end - 1)))
        return SpanEvidence(quote=self.text[start:end], start_line=first, end_line=last)


def _largest(scores: NDArray[np.float32], count: int) -> list[int]:
    """Positions of the largest scores above 0, largest first; equal scores keep their order."""
    order = np.argsort(-scores, kind="stable")[:count] if len(scores) <= 4096 else _partial(scores, count)
    return [int(place) for place in order if scores[place] > 0]


def _partial(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    bound = np.partition(scores, -count)[-count]
    places = np.flatnonzero(scores >= bound)
    return places[np.argsort(-scores[places], kind="stable")][:count]
