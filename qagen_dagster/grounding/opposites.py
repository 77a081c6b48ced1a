"""Whether a claim has the opposite of a word that the evidence has in the same place.

What belongs here: opposites by form ("efficient", "inefficient"), opposites by a list (`opposites.txt`, made by
`benchmarks/grounding/opposites.py`), and looking for both among the words near by. What does not: denials (`poles.py`),
and what an opposite is worth (`features.py`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from importlib import resources

from qagen_dagster.grounding.words import listed, stem

FILE = "opposites.txt"
BESIDE = 2  # content words of the claim on each side that may stand near the opposite, too
AROUND = 3  # content words on each side of the opposite among which they are looked for
SHARED = 2  # of them that must be there for an opposite of the list; one by form needs 1
_REST = 4  # letters that a word keeps without its prefix
_DENYING = listed("un in im ir il non dis mis anti counter de")
_EXCHANGED = tuple(
    pair.split("/")
    for pair in listed("pre/post over/under in/de in/out up/down hypo/hyper max/min im/ex inter/intra")
)


def exchanged(
    stems: Sequence[str], given: Container[str], windows: Sequence[Sequence[str]]
) -> tuple[str, str] | None:
    """The first word of a claim that has an opposite in the windows, and that one; words and windows are stems.

    It counts if no window has the word itself, the claim does not have the opposite, and words beside the one stand
    near the other. `given`: words of the question, which are not the claim's own.
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
    """Opposites of a stem, and how many words must be shared."""
    for other in sorted(by_form(word)):
        yield other, 1
    for other in _listed().get(word, ()):
        yield other, SHARED


def _near(word: str, beside: set[str], windows: Sequence[Sequence[str]]) -> int:
    """How many of the words `beside` stand around `word`, where most do."""
    return max(
        len(beside & {*window[max(0, at - AROUND) : at], *window[at + 1 : at + 1 + AROUND]})
        for window in windows
        for at, one in enumerate(window)
        if one == word
    )


@lru_cache(maxsize=20_000)
def by_form(word: str) -> frozenset[str]:
    """What a denying prefix more or less makes of a stem, and an exchanged prefix or ending; most are no words."""
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
    """The word without the prefix; empty if it does not have it or too little is left."""
    rest = word.removeprefix(prefix)
    return rest if rest != word and len(rest) >= _REST else ""


@lru_cache(maxsize=1)
def _listed() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    text = resources.files("qagen_dagster.grounding").joinpath(FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            left, right = map(stem, line.split())
            found.setdefault(left, set()).add(right)
            found.setdefault(right, set()).add(left)
    return {word: tuple(sorted(others)) for word, others in found.items()}
