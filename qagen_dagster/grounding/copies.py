"""Detection of the document's own sentences in an answer, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from qagen_dagster.index.sentences import Sentence

LEAST = 4  # minimum words of a copy; shorter ones ("No.", a table's cell) mean nothing out of context
MOST = 12  # claims of one copy
_ALIKE = 500  # maximum tried positions of the same words
_WORD = re.compile(r"\S+")
_QUOTES = "\"'\u201c\u201d\u2018"
_ENDING = ".,;:!" + _QUOTES

Run = tuple[int, int]  # sentences of the document: number of the first, and count


class Copies:
    """The words of a document, and where its sentences begin in them."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        words = [f"{' '.join(_words(one.text))} " for one in sentences]
        self._text = f" {''.join(words)}"
        self._starts = {at: number for number, at in enumerate(accumulate(map(len, words), initial=0))}

    def find(self, answer: str, claims: Sequence[Sentence]) -> list[Run | None]:
        """For each claim of the answer, the sentences of the document that it copies, alone or with its neighbours."""
        found: list[Run | None] = []
        while len(found) < len(claims):
            left = claims[len(found) : len(found) + MOST]
            before = claims[len(found) - 1].end if found else 0  # there may be the marker of a list
            pieces = (self._longest(answer, start, left) for start in (before, left[0].start))
            count, copy = max(pieces, key=lambda one: (one[1] is not None, one[0]))
            found += [copy] * count
        return found

    def _longest(self, answer: str, start: int, claims: Sequence[Sentence]) -> tuple[int, Run | None]:
        """How many of the claims, from `start` on, are together a copy of whole sentences, and of which."""
        count, copy = 1, None
        for number, claim in enumerate(claims, 1):
            words = list(_words(answer[start : claim.end]))
            wanted = f" {' '.join(words)} "
            if wanted not in self._text:
                break
            whole = self._whole(wanted) if len(words) >= LEAST else None
            count, copy = (number, whole) if whole else (count, copy)
        return count, copy

    def _whole(self, wanted: str) -> Run | None:
        """The sentences that together are these words; None if the words begin or end inside a sentence."""
        at = -1
        for _ in range(_ALIKE):
            at = self._text.find(wanted, at + 1)
            if at < 0:
                break
            first, last = self._starts.get(at), self._starts.get(at + len(wanted) - 1)
            if first is not None and last is not None:
                return first, last - first
        return None


def _words(text: str) -> Iterator[str]:
    """Normalised words; a token without letters counts as a word, such as leader dots."""
    for match in _WORD.finditer(text):
        word = match.group().replace("\u2019", "'").casefold()
        yield word.rstrip(_ENDING).lstrip(_QUOTES) or word
