"""Finds duplicates among many new questions: equal words, or a high similarity that the word rules allow.

No model is asked. This only keeps the questions of a round apart. The deduplicator decides later, with the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.loop.questions.duplicates import similarity as pair_decision
from qagen_dagster.loop.questions.duplicates.question_form import form
from qagen_dagster.records.ids import normalise


@dataclass(frozen=True)
class DuplicateMatch:
    """The earlier question, and how it was found."""

    of: str
    score: float  # similarity; 1 for equal words
    exact: bool

    @property
    def detail(self) -> str:
        return "the same words" if self.exact else f"similarity {self.score:.2f}"


def find_duplicates(
    new: Sequence[str], known: Sequence[str], encode: pair_decision.Encode, similarity: float
) -> list[DuplicateMatch | None]:
    """For each of `new`, the most similar question of `known`, or of earlier new ones, that it is a duplicate of.

    Two questions are duplicates from the cosine `similarity` on, unless numbers, names, negation, direction or the kind of
    answer differ: questions about one paper are similar whatever they ask.
    """
    if not new:
        return []
    texts = [*known, *new]
    vectors = encode(texts)
    standing = list(range(len(known)))
    found: list[DuplicateMatch | None] = []
    for index in range(len(known), len(texts)):
        near = [(_likeness(texts, index, old, float(vectors[index] @ vectors[old])), old) for old in standing]
        score, of = max(near, default=(0.0, -1))
        if near and score >= similarity:
            found.append(DuplicateMatch(texts[of], round(min(1.0, score), 4), exact=score > 1))
        else:
            found.append(None)
            standing.append(index)
    return found


def _likeness(texts: Sequence[str], new: int, old: int, cosine: float) -> float:
    """The cosine; 0 if the word rules tell the questions apart, 2 for equal words."""
    if normalise(texts[new]) == normalise(texts[old]):
        return 2.0
    asked = {form(texts[new]).asked, form(texts[old]).asked} - {""}
    return 0.0 if len(asked) > 1 or pair_decision.vetoed(texts[new], texts[old]) else min(1.0, cosine)
