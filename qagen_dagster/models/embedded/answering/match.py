"""Matching of a question's words in a sentence: equal words, and words of similar meaning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qagen_dagster.models.embedded.answering.candidates import Numbers
from qagen_dagster.models.embedded.answering.question import Question, keys
from qagen_dagster.models.embedded.answering.sentence import Sentence
from qagen_dagster.models.vectors import Vectors


@dataclass(frozen=True)
class Wanted:
    """The question's content words: the keys, vector and rarity in the text of each."""

    words: tuple[frozenset[str], ...]
    vectors: Vectors
    weights: Numbers

    @property
    def total(self) -> float:
        return float(self.weights.sum()) or 1.0


@dataclass(frozen=True)
class Match:
    """How a sentence matches the question.

    Attributes:
        exact: for each token the weight of the question's word that it repeats, else 0.
        soft: cosine of each of the question's words to each token.
        share: share of the question's weight that is repeated, 0 to 1.
        late: the same with each word's best cosine instead of repetition.
    """

    exact: Numbers
    soft: Numbers
    share: float
    late: float


def wanted_of(question: Question, vectors: Vectors, sentences: Sequence[Sentence]) -> Wanted:
    """The question's words; a word weighs more the fewer `sentences` contain it."""
    words = tuple(frozenset(keys(question.doc[index])) for index in question.content)
    counts = Counter(index for one in sentences for index, word in enumerate(words) if word & one.said)
    weights = [math.log(1 + len(sentences) / (0.5 + counts[index])) for index in range(len(words))]
    return Wanted(words, vectors[list(question.content)], np.array(weights, dtype=np.float32))


def match(sentence: Sentence, wanted: Wanted) -> Match:
    """Compare all words with all tokens."""
    exact = np.zeros(len(sentence.doc), dtype=np.float32)
    for at, said in enumerate(sentence.words):
        hits = (float(wanted.weights[index]) for index, word in enumerate(wanted.words) if word & said)
        exact[at] = max(hits, default=0.0)
    soft = (wanted.vectors @ sentence.vectors.T).astype(np.float32)
    late = float((wanted.weights * soft.max(axis=1)).sum()) / wanted.total if soft.size else 0.0
    return Match(exact, soft, share_of(sentence.said, wanted), late)


def share_of(said: frozenset[str], wanted: Wanted) -> float:
    """The share of the question's weight whose words are in `said`."""
    found = (float(wanted.weights[index]) for index, word in enumerate(wanted.words) if word & said)
    return sum(found) / wanted.total
