"""Which accepted question a new one repeats: a guard that vetoes, a similarity that proposes, a model that decides.

Numbers, names and negation tell questions apart that otherwise share every word ("revenue in 2022?",
"revenue in 2023?"); where they differ no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.agents.qa.deduplicator import DuplicateFinding, find_duplicate
from qagen_dagster.models.base import Model
from qagen_dagster.records.ids import normalise

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_WORD = re.compile(r"[^\W_]+")
_NEGATIONS = frozenset({"no", "not", "never", "without", "neither", "nor", "cannot", "except"})
_OPPOSITES = (
    ("minimum", "maximum"),
    ("lowest", "highest"),
    ("first", "last"),
    ("before", "after"),
    ("smallest", "largest"),
    ("least", "most"),
    ("increase", "decrease"),
    ("oldest", "youngest"),
    ("start", "end"),
)
GREY_FROM = 0.65  # below this cosine two questions are never the same fact (measured on question pairs)
MOST_COMPARED = 40


@dataclass(frozen=True)
class Known:
    """A question to compare with."""

    question: str
    answer: str


def vetoed(new: str, old: str) -> bool:
    """Whether two questions cannot be the same: other numbers, names, negation or direction."""
    if normalise(new) == normalise(old):
        return False
    if set(_NUMBER.findall(new)) != set(_NUMBER.findall(old)):
        return True
    a, b = _names(new), _names(old)
    if a - _words(old) and b - _words(new):
        return True
    words_a, words_b = _words(new), _words(old)
    if bool(words_a & _NEGATIONS) != bool(words_b & _NEGATIONS):
        return True
    return any((x in words_a) != (x in words_b) and (y in words_a) != (y in words_b) for x, y in _OPPOSITES)


def compare(
    model: Model, new: Known, accepted: Sequence[Known], *, document_id: str, attempt: int
) -> DuplicateFinding:
    """The accepted question that `new` repeats. Raises ModelError."""
    for index, old in enumerate(accepted):
        if normalise(new.question) == normalise(old.question):
            return DuplicateFinding(index, "the same words")
    open_cases = [index for index, old in enumerate(accepted) if not vetoed(new.question, old.question)]
    if not open_cases:
        return DuplicateFinding(None, "numbers, names or negation differ from every accepted question")
    nearest = sorted(open_cases, key=lambda index: -_overlap(new.question, accepted[index].question))
    chosen = sorted(nearest[:MOST_COMPARED])
    finding = find_duplicate(
        model,
        new.question,
        new.answer,
        [(accepted[index].question, accepted[index].answer) for index in chosen],
        document_id=document_id,
        attempt=attempt,
    )
    if finding.index is None:
        return finding
    return DuplicateFinding(chosen[finding.index], finding.detail, finding.calls)


def grey_pairs(questions: Sequence[str], encode: Encode) -> list[list[int]]:
    """For each question the earlier ones it may repeat: similar enough, and not vetoed; most similar first."""
    if not questions:
        return []
    vectors = encode(questions)
    found: list[list[int]] = []
    for index in range(len(questions)):
        scores = vectors[:index] @ vectors[index]
        near = [int(i) for i in np.argsort(-scores) if scores[i] >= GREY_FROM]
        found.append([i for i in near if not vetoed(questions[index], questions[i])][:MOST_COMPARED])
    return found


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _names(text: str) -> set[str]:
    """Capitalised words that do not open the question."""
    return {word.casefold() for word in _WORD.findall(text)[1:] if word[0].isupper()}


def _overlap(a: str, b: str) -> float:
    left, right = _words(a), _words(b)
    return len(left & right) / max(1, len(left | right))
