"""Finds the questions of a set that look like one of them: rare words choose some, embeddings sort them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator

from qagen_dagster.models.vectors import Encode, Vectors
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import normalise
from qagen_dagster.web.review_set import ReviewSet

CHOSEN = 60  # questions whose embeddings are compared
SHOWN = 5
FROM = 0.5  # cosine
_WORD = re.compile(r"\w+")


class Similar(Record):
    """A question that looks like another, and the cosine of the two."""

    id: str
    score: float


class SimilarQuestions:
    """The accepted questions of one set by their words. Embeddings are computed when they are needed, and kept."""

    def __init__(self, found: ReviewSet, encode: Encode) -> None:
        self._encode = encode
        self._texts = {row.id: row.question for row in found.rows if row.outcome == "accepted"}
        self._with_word: defaultdict[str, list[str]] = defaultdict(list)
        for key, text in self._texts.items():
            for word in _words(text):
                self._with_word[word].append(key)
        self._vectors: dict[str, Vectors] = {}

    def like(self, key: str, question: str) -> tuple[Similar, ...]:
        """The most similar questions other than `key`, the nearest first."""
        chosen = [one for one in self._by_words(question) if one != key][:CHOSEN]
        texts = {question, *(self._texts[one] for one in chosen)}
        new = sorted(text for text in texts if text not in self._vectors)
        if new:
            self._vectors.update(zip(new, self._encode(new), strict=True))
        own = self._vectors[question]
        scored = (Similar(id=one, score=float(own @ self._vectors[self._texts[one]])) for one in chosen)
        near = sorted((one for one in scored if one.score >= FROM), key=lambda one: (-one.score, one.id))
        return tuple(near[:SHOWN])

    def _by_words(self, question: str) -> Iterator[str]:
        weights: defaultdict[str, float] = defaultdict(float)
        for word in _words(question):
            for key in self._with_word.get(word, ()):
                weights[key] += math.log(1 + len(self._texts) / len(self._with_word[word]))
        return iter(sorted(weights, key=lambda key: -weights[key]))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(normalise(text)))
