"""Words and their opposites: from a list (the antonyms of WordNet 3.0, `opposites.txt`), or by a denying prefix."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

FILE = "opposites.txt"
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "anti")


@lru_cache(maxsize=1)
def listed_opposites() -> dict[str, frozenset[str]]:
    """The list: words, each with its opposites."""
    found: dict[str, set[str]] = {}
    text = resources.files("qagen_dagster.models.embedded.text").joinpath(FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            left, right = line.split()
            found.setdefault(left, set()).add(right)
            found.setdefault(right, set()).add(left)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=20_000)
def opposites_of(word: str) -> frozenset[str]:
    """The opposites of a word in lower case; some of those by prefix are no words."""
    made = {prefix + word for prefix in _PREFIXES} | {word.removeprefix(prefix) for prefix in _PREFIXES}
    return listed_opposites().get(word, frozenset()) | {other for other in made - {word} if len(other) > 3}
