"""A question without the title of its document: a quoted title lets any search find the document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

HELD = 0.6  # share of a title's words that a question must repeat in a row
LEAST = 4  # words of them, if it does not repeat the whole title
_WORD = re.compile(r"\w+")
_BEFORE = re.compile(
    r"(?:\b(?:according to|as described in|in|of|from|by|at|for|on|per|about|to)\s+)?(?:\bthe\s+)?[\"'\u201c\u2018(]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(r"[\"'\u201d\u2019)]*,?\s*")


def titles_of(text: str, title: str | None) -> list[str]:
    """What may be a document's title: the one in its metadata, its first line, and its first two lines."""
    lines = [line.strip(" #*=-_|") for line in text[:2_000].splitlines()]
    head = [line for line in lines if _WORD.search(line)][:2]
    return [one for one in (title or "", " ".join(head), *head[:1]) if one]


def without_title(question: str, titles: Iterable[str]) -> str:
    """The question without the longest title that it repeats; empty if it repeats none."""
    asked = list(_WORD.finditer(question))
    words = [word.group().lower() for word in asked]
    best = (0, 0)
    for title in titles:
        parts = [word.lower() for word in _WORD.findall(title)]
        found = SequenceMatcher(None, words, parts, autojunk=False).find_longest_match()
        whole = found.size == len(parts) and found.size > 1
        if whole or found.size >= max(LEAST, HELD * len(parts)):
            best = max(best, (found.size, found.a))
    size, first = best
    if not size:
        return ""
    ahead = question[: asked[first].start()]
    before = _BEFORE.search(ahead)
    behind = question[asked[first + size - 1].end() :]
    after = _AFTER.match(behind)
    rest = f"{ahead[: before.start()] if before else ahead} {behind[after.end() if after else 0 :]}"
    rest = re.sub(r"\s+([?.,;:])", r"\1", " ".join(rest.split()))
    return rest[:1].upper() + rest[1:]
