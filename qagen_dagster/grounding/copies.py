"""Detection of the document's own sentences in an answer, word for word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from qagen_dagster.index.sentences import Sentence

LEAST = 4  # minimum words of a copy; shorter ones ("No.", a table's cell) mean nothing out of context
_ALIKE = 500  # maximum tried positions of the same words
_WORD = re.compile(r"\S+")
_QUOTES = "\"'\u201c\u201d\u2018"
_ENDING = ".,;:!" + _QUOTES
_BULLETS = frozenset("-*+\u2022\u2023\u25aa\u25cf\u25e6\u2043\u2013\u2014")


class Copies:
    """The words of one document as a string, and where its sentences start in it."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        texts = [" ".join(_words(one.text)) for one in sentences]
        self._words = f" {' '.join(texts)} "
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=1))

    def find(self, claim: str) -> tuple[int, int] | None:
        """The number and count of the complete sentences in a row that are the claim; None if there are none."""
        words = list(_words(claim))
        text, place = f" {' '.join(words)} ", -1
        for _ in range(_ALIKE if len(words) >= LEAST else 0):
            place = self._words.find(text, place + 1)
            if place < 0:
                break
            first, end = (bisect_right(self._starts, at) - 1 for at in (place + 1, place + len(text)))
            if self._starts[first] == place + 1 and self._starts[end] == place + len(text):
                return first, end - first
        return None


def _words(text: str) -> Iterator[str]:
    """Normalised words without bullets; a token without letters counts as a word, such as leader dots."""
    for match in _WORD.finditer(text):
        word = match.group().replace("\u2019", "'").casefold()
        if word not in _BULLETS:
            yield word.rstrip(_ENDING).lstrip(_QUOTES) or word
