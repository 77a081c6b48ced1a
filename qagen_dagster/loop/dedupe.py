"""Which accepted question a new one repeats: a guard that vetoes, a similarity that proposes, a model that decides.

Numbers, names and negation tell questions apart that otherwise share every word ("revenue in 2022?",
"revenue in 2023?"); where they differ no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.agents.qa.deduplicator import DuplicateFinding, find_duplicate
from qagen_dagster.models.base import Model
from qagen_dagster.records.ids import normalise

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_WORD = re.compile(r"[^\W_]+")
_NEGATIONS = frozenset({"no", "not", "never", "without", "neither", "nor", "cannot", "except"})
_CONTRACTED_NOT = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("minimum min lowest smallest least fewest", "maximum max highest largest most greatest"),
        ("first", "last"),
        ("before", "after"),
        ("increase increases increased", "decrease decreases decreased"),
        ("oldest", "youngest"),
        ("start", "end"),
        ("left", "right"),
        ("upper", "lower"),
    )
)
GREY_FROM = 0.65  # below this cosine two questions are never the same fact (measured on question pairs)
MOST_COMPARED = 40


@dataclass(frozen=True)
class Known:
    """A question to compare with."""

    question: str
    answer: str


@dataclass(frozen=True)
class _Features:
    """What of a question can tell it from another without a model."""

    normal: str
    numbers: frozenset[str]  # without thousands separators; small ones also where they are words
    words: frozenset[str]
    names: frozenset[str]  # capitalised words that do not open the question
    negated: bool


@lru_cache(maxsize=20_000)
def _features(question: str) -> _Features:
    words = _words(question)
    return _Features(
        normal=normalise(question),
        numbers=frozenset(
            (
                *(number.replace(",", "") for number in _NUMBER.findall(question)),
                *(_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS),
            )
        ),
        words=words,
        names=frozenset(word.casefold() for word in _WORD.findall(question)[1:] if word[0].isupper()),
        negated=bool(words & _NEGATIONS) or _CONTRACTED_NOT.search(question) is not None,
    )


def vetoed(new: str, old: str) -> bool:
    """Whether two questions cannot be the same: other numbers, names, negation or direction."""
    a, b = _features(new), _features(old)
    if a.normal == b.normal:
        return False
    if a.numbers != b.numbers or a.negated != b.negated:
        return True
    if a.names - b.words and b.names - a.words:
        return True
    return any(
        bool(a.words & one) != bool(b.words & one) and bool(a.words & other) != bool(b.words & other)
        for one, other in _OPPOSITES
    )


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


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _overlap(a: str, b: str) -> float:
    left, right = _words(a), _words(b)
    return len(left & right) / max(1, len(left | right))
