"""Words of a question found again in a sentence: the same words, and words near in meaning.

What belongs here: comparing words, weighted by how rare they are. What follows for a span is `features`' part.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qagen_dagster.models.embedded.answering.candidates import Numbers
from qagen_dagster.models.embedded.answering.question import Question, keys
from qagen_dagster.models.embedded.answering.sentence import Sentence
from qagen_dagster.models.vectors.minilm import Vectors


@dataclass(frozen=True)
class Wanted:
    """The question's content words: the keys of each, its vector and how rare it is in the text."""

    words: tuple[frozenset[str], ...]
    vectors: Vectors
    weights: Numbers

    @property
    def total(self) -> float:
        return float(self.weights.sum()) or 1.0


@dataclass(frozen=True)
class Match:
    """How a sentence meets the question.

    Attributes:
        exact: of each token the weight of the question's word that it repeats, else 0.
        soft: cosine of each of the question's words to each token.
        share: of the question's weight that is repeated, 0 to 1.
        late: the same with each word's best cosine instead of repetition.
    """

    exact: Numbers
    soft: Numbers
    share: float
    late: float


def wanted_of(question: Question, vectors: Vectors, sentences: Sequence[Sentence]) -> Wanted:
    """The question's words; the fewer `sentences` have one, the more it weighs."""
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
    """The part of the question's weight whose words are among `said`."""
    found = (float(wanted.weights[index]) for index, word in enumerate(wanted.words) if word & said)
    return sum(found) / wanted.total
