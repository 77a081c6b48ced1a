"""Detection of the document's own sentences in an answer, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qagen_dagster.english.sentences import Sentence

LEAST = 4  # minimum words of a copy; a shorter one ("No.", a table's cell) counts only behind the sentence before it
_WORD = re.compile(r"\S+")
_QUOTES = "\"'\u201c\u201d\u2018"
_ENDING = ".,;:!" + _QUOTES


class Copies:
    """The sentences of one document, by their words."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}
        self._sizes: dict[str, set[int]] = {}  # word counts of the sentences with this first word
        for number, sentence in enumerate(sentences):
            words = tuple(word for word, _ in _words(sentence.text))
            self._numbers.setdefault(words, number)
            self._sizes.setdefault(words[0], set()).add(len(words))

    def find(self, answer: str, claims: Sequence[Sentence]) -> list[int | None]:
        """For each claim of the answer that is a copy, the number of the document's sentence in which it begins.

        Copies are searched in the whole answer, which may be split into other sentences than the document.
        """
        words, starts = zip(*_words(answer), strict=True) if answer.strip() else ((), ())
        held: dict[int, int] = {}  # for the start of each word in a copy, the number of the sentence
        at, last = 0, -2
        while at < len(words):
            sizes = self._sizes.get(words[at], ())
            size = max((one for one in sizes if self._is_copy(words[at : at + one], last)), default=0)
            if size:
                last = self._numbers[words[at : at + size]]
                held.update(dict.fromkeys(starts[at : at + size], last))
            at += size or 1
        return [_first(claim, held) for claim in claims]

    def _is_copy(self, words: tuple[str, ...], last: int) -> bool:
        number = self._numbers.get(words)
        return number is not None and (len(words) >= LEAST or number == last + 1)


def _first(claim: Sentence, held: dict[int, int]) -> int | None:
    """The sentence of the claim's first word; None if one of its words is not in a copy."""
    numbers = [held.get(claim.start + start) for _, start in _words(claim.text)]
    return numbers[0] if None not in numbers else None


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Normalised words with positions; a token without letters counts as a word, such as leader dots."""
    for match in _WORD.finditer(text):
        word = match.group().replace("\u2019", "'").casefold()
        yield word.rstrip(_ENDING).lstrip(_QUOTES) or word, match.start()
