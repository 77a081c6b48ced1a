"""Detection of a word in a claim whose opposite stands at the same place in the evidence.

Opposites come from word forms ("efficient", "inefficient") or from the list of `models/embedded/text/opposites.py`, made by
`benchmarks/grounding/opposites.py`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache

from qagen_dagster.grounding.words import listed, stem
from qagen_dagster.models.embedded.text.opposites import listed_pairs

BESIDE = 2  # content words of the claim on each side of the word
AROUND = 3  # content words of the evidence on each side of the opposite
SHARED = 2  # shared words required for an opposite from the list; one by form needs 1
_REST = 4  # minimum letters of a word without its prefix
_DENYING = listed("un in im ir il non dis mis anti counter de")
_EXCHANGED = tuple(
    pair.split("/")
    for pair in listed("pre/post over/under in/de in/out up/down hypo/hyper max/min im/ex inter/intra")
)


def opposite_in(
    stems: Sequence[str], given: Container[str], windows: Sequence[Sequence[str]]
) -> tuple[str, str] | None:
    """The first word of a claim with an opposite in the windows, and that opposite; words and windows are stems.

    No window may contain the word itself, the claim must not contain the opposite, and both must share neighbouring
    words. `given` holds words of the question, which are not the claim's own.
    """
    held = {word for window in windows for word in window}
    said = {*stems}
    for place, word in enumerate(stems):
        if word in held or word in given:
            continue
        beside = {*stems[max(0, place - BESIDE) : place], *stems[place + 1 : place + 1 + BESIDE]}
        for other, least in _opposites(word):
            if other in held and other not in said and _near(other, beside, windows) >= least:
                return word, other
    return None


def _opposites(word: str) -> Iterator[tuple[str, int]]:
    """Opposites of a stem, with the number of shared words that each requires."""
    for other in sorted(by_form(word)):
        yield other, 1
    for other in _listed().get(word, ()):
        yield other, SHARED


def _near(word: str, beside: set[str], windows: Sequence[Sequence[str]]) -> int:
    """The largest number of words of `beside` around one occurrence of `word`."""
    return max(
        len(beside & {*window[max(0, at - AROUND) : at], *window[at + 1 : at + 1 + AROUND]})
        for window in windows
        for at, one in enumerate(window)
        if one == word
    )


@lru_cache(maxsize=20_000)
def by_form(word: str) -> frozenset[str]:
    """Opposites of a stem by adding, removing or exchanging a prefix or ending; most are not words."""
    found: set[str] = set()
    if len(word) >= _REST:
        found |= {prefix + word for prefix in _DENYING}
    found |= {_cut(word, prefix) for prefix in _DENYING}
    for one, other in _EXCHANGED:
        found |= {other + _cut(word, one)} if _cut(word, one) else set()
        found |= {one + _cut(word, other)} if _cut(word, other) else set()
    for one, other in (("ful", "less"), ("less", "ful")):
        if word.endswith(one) and len(word) - len(one) >= _REST:
            found.add(word.removesuffix(one) + other)
    return frozenset(found - {"", word})


def _cut(word: str, prefix: str) -> str:
    """The word without the prefix; empty if it lacks the prefix or too little remains."""
    rest = word.removeprefix(prefix)
    return rest if rest != word and len(rest) >= _REST else ""


@lru_cache(maxsize=1)
def _listed() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for pair in listed_pairs():
        left, right = map(stem, pair)
        found.setdefault(left, set()).add(right)
        found.setdefault(right, set()).add(left)
    return {word: tuple(sorted(others)) for word, others in found.items()}
