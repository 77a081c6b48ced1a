"""Detection of a word in a claim whose opposite by form ("efficient", "inefficient") is at the same place in the evidence."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache

from qagen_dagster.facts.words import listed

BESIDE = 2  # content words of the claim on each side of the word
AROUND = 3  # content words of the evidence on each side of the opposite
_REST = 4  # minimum letters of a word without its prefix
_DENYING = listed("un in im ir il non dis mis anti counter de")
_PREFIXES = ["", *_DENYING, *listed("pre post over under hypo hyper")]
_EXCHANGED = [
    (one, other)
    for one in _PREFIXES
    for other in _PREFIXES
    if (one or other in _DENYING) and (other or one in _DENYING)
]


def opposite_in(
    stems: Sequence[str], given: Container[str], windows: Sequence[Sequence[str]]
) -> tuple[str, str] | None:
    """The first word of a claim with an opposite in the windows, and that opposite; words and windows are stems.

    No window may contain the word itself, the claim must not contain the opposite, and both must share a neighbouring
    word. `given` holds words of the question, which are not the claim's own.
    """
    held = {word for window in windows for word in window}
    for place, word in enumerate(stems):
        if word in held or word in given:
            continue
        beside = {*stems[max(0, place - BESIDE) : place], *stems[place + 1 : place + 1 + BESIDE]}
        for other in sorted(by_form(word) & held - {*stems}):
            if _beside(other, beside, windows):
                return word, other
    return None


def _beside(word: str, beside: set[str], windows: Sequence[Sequence[str]]) -> bool:
    return any(
        beside & {*window[max(0, at - AROUND) : at], *window[at + 1 : at + 1 + AROUND]}
        for window in windows
        for at, one in enumerate(window)
        if one == word
    )


@lru_cache(maxsize=20_000)
def by_form(word: str) -> frozenset[str]:
    """The stems that differ from this one only in a prefix; most are not words."""
    found = (
        other + word.removeprefix(one)
        for one, other in _EXCHANGED
        if word.startswith(one) and len(word) - len(one) >= _REST
    )
    return frozenset(found) - {word}
