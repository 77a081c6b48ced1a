"""Whether two pieces of LaTeX say the same: their numbers, their words, their answers. How values are computed is `mathematics/`'s."""

from __future__ import annotations

from collections import Counter

from qagen_dagster.latex.answers import bare_answer
from qagen_dagster.latex.said import numbers_of, words_of
from qagen_dagster.mathematics.values import close, equal, rounds_to, value_of

CLOSE = 0.005  # share by which two roundings of one answer may differ


def same_numbers(left: str, right: str) -> bool:
    """Whether both hold the same numbers, each as often."""
    return Counter(numbers_of(left)) == Counter(numbers_of(right))


def same_words(left: str, right: str) -> bool:
    """Whether both say the same words in the same order."""
    return words_of(left) == words_of(right)


def same_answer(left: str, right: str) -> bool | None:
    """Whether two answers are one value, or roundings of one, or the same words. None: that cannot be said."""
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
    """Words and numbers that are the same are the same answer; others may still be."""
    named = bool(words_of(left) or numbers_of(left))
    return True if named and same_words(left, right) and same_numbers(left, right) else None
