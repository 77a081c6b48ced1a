"""Comparison of two pieces of LaTeX: their numbers, words and answers."""

from __future__ import annotations

from collections import Counter

from qagen_dagster.latex.answers import bare_answer
from qagen_dagster.latex.numbers_and_words import numbers_of, words_of
from qagen_dagster.mathematics.values import close, equal, rounds_to, value_of

CLOSE = 0.005  # relative difference allowed between two roundings of one answer


def same_numbers(left: str, right: str) -> bool:
    """Whether both hold the same numbers equally often."""
    return Counter(numbers_of(left)) == Counter(numbers_of(right))


def same_words(left: str, right: str) -> bool:
    """Whether both hold the same words in the same order."""
    return words_of(left) == words_of(right)


def same_answer(left: str, right: str) -> bool | None:
    """Whether two answers are equal values, roundings of one value, or the same words. None: undecidable."""
    one, other = bare_answer(left), bare_answer(right)
    if one == other:
        return True
    try:
        mine, theirs = value_of(one), value_of(other)
    except ValueError:
        return _same_text(one, other)
    return (
        equal(mine, theirs)
        or rounds_to(mine, theirs)
        or rounds_to(theirs, mine)
        or close(mine, theirs, CLOSE)
    )


def _same_text(left: str, right: str) -> bool | None:
    """Answers with the same words and numbers are equal; others may still be."""
    named = bool(words_of(left) or numbers_of(left))
    return True if named and same_words(left, right) and same_numbers(left, right) else None
