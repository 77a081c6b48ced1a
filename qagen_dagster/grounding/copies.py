"""Detection of the document's own sentences in an answer, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qagen_dagster.index.sentences import Sentence

LEAST = 4  # minimum words of a copy; shorter ones ("No.", a table's cell) mean nothing out of context
_OPENING = 3  # leading words that index the sentences
_ALIKE = 500  # maximum tried positions of identical sentences
_WORD = re.compile(r"\S+")
_QUOTES = "\"'\u201c\u201d\u2018"
_ENDING = ".,;:!" + _QUOTES


@dataclass(frozen=True)
class Copy:
    """A run of `count` complete sentences of the document, from number `first` on, that an answer contains."""

    start: int  # character position in the answer
    end: int
    first: int
    count: int


class Copies:
    """The sentences of one document, indexed by their words."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._texts: list[str] = []
        self._sizes: list[int] = []
        self._places: dict[str, list[int]] = {}
        self._lengths: dict[tuple[str, ...], set[int]] = {}  # of the sentences with this opening
        for number, sentence in enumerate(sentences):
            words = [word for word, _, _ in _words(sentence.text)]
            self._texts.append(" ".join(words))
            self._sizes.append(len(words))
            self._lengths.setdefault(tuple(words[:_OPENING]), set()).add(len(words))
            places = self._places.setdefault(self._texts[-1], [])
            if words and len(places) < _ALIKE:
                places.append(number)

    def find(self, answer: str) -> list[Copy]:
        """The copies in `answer`, in order and without overlap."""
        placed = list(_words(answer))
        words = [word for word, _, _ in placed]
        found: list[Copy] = []
        at = 0
        while at < len(words):
            length, first, count = max(self._runs(words, at), default=(0, 0, 0))
            if length >= LEAST:
                found.append(Copy(placed[at][1], placed[at + length - 1][2], -first, count))
            at += length if length >= LEAST else 1
        return found

    def _runs(self, words: Sequence[str], at: int) -> Iterator[tuple[int, int, int]]:
        """Runs of copies from word `at`: word count, minus the first sentence (earlier is better), sentence count."""
        for size in range(1, _OPENING + 1):
            for length in self._lengths.get(tuple(words[at : at + size]), ()):
                if at + length > len(words):
                    continue
                for first in self._places.get(" ".join(words[at : at + length]), ()):
                    end, number = at + length, first + 1
                    while number < len(self._texts) and self._follows(words, end, number):
                        end += self._sizes[number]
                        number += 1
                    yield end - at, -first, number - first

    def _follows(self, words: Sequence[str], at: int, number: int) -> bool:
        size = self._sizes[number]
        return bool(size) and " ".join(words[at : at + size]) == self._texts[number]


def covering(copies: Sequence[Copy], claim: Sentence) -> Copy | None:
    """The first of the copies that together cover the whole claim; None if they do not."""
    held = [one for one in copies if one.start < claim.end and claim.start < one.end]
    for _, start, end in _words(claim.text):
        if not any(one.start < claim.start + end and claim.start + start < one.end for one in held):
            return None
    return held[0] if held else None


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """Normalised words with positions; a token without letters counts as a word, such as leader dots."""
    for match in _WORD.finditer(text):
        word = match.group().replace("\u2019", "'").casefold()
        yield word.rstrip(_ENDING).lstrip(_QUOTES) or word, match.start(), match.end()
