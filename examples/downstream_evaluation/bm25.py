"""A small retrieval system: passages of a few lines, ranked by BM25 over lower-case words.

Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

LINES, STEP = 8, 4  # of a passage, and from one passage to the next
K1, B = 1.2, 0.75
_WORD = re.compile(r"\w+")

Passage = dict[str, object]


class Bm25:
    """An index over the texts of documents by id."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._passages: list[tuple[Passage, Counter[str]]] = []
        for name, text in texts.items():
            lines = text.split("\n")
            for start in range(0, len(lines), STEP):
                part = lines[start : start + LINES]
                place: Passage = {"document_id": name, "start_line": start + 1, "end_line": start + len(part)}
                self._passages.append((place, _words("\n".join(part))))
        self._held = Counter(word for _, words in self._passages for word in words)
        self._mean = sum(words.total() for _, words in self._passages) / max(1, len(self._passages))

    def search(self, question: str, most: int) -> list[Passage]:
        """The best passages that share a word with the question."""
        asked = _words(question)
        found = [(self._score(asked, words), place) for place, words in self._passages]
        found = sorted((one for one in found if one[0] > 0), key=lambda one: -one[0])
        return [place for _, place in found[:most]]

    def _score(self, asked: Counter[str], words: Counter[str]) -> float:
        norm = K1 * (1 - B + B * words.total() / self._mean) if words else 1.0
        return sum(self._weight(word) * words[word] * (K1 + 1) / (words[word] + norm) for word in asked)

    def _weight(self, word: str) -> float:
        held = self._held[word]
        return math.log(1 + (len(self._passages) - held + 0.5) / (held + 0.5))


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))
