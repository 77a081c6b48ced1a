"""The language of a text, and whether it is certainly not in a given language. py3langid determines it."""

from importlib import import_module
from typing import Any

LEAST_LETTERS = 40  # the language of a text with fewer letters is uncertain
# The margin by which another language must be more likely, per character. English texts have at most 0.05, others at least 0.8.
FOREIGN = 0.4
ENOUGH = 4_000  # characters that decide the language of a document


def language_of(text: str) -> str:
    """The ISO 639-1 code of the most likely language; empty if the text is too short."""
    return max(_likely(text).items(), key=lambda one: one[1])[0] if _can_tell(text) else ""


def is_foreign(text: str, language: str) -> bool:
    """Whether the text is certainly not in `language`. False if the text is too short, or `language` is unknown."""
    if not _can_tell(text):
        return False
    likely = _likely(text)
    return language in likely and max(likely.values()) - likely[language] >= FOREIGN * len(text)


def _can_tell(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= LEAST_LETTERS


def _likely(text: str) -> dict[str, float]:
    identifier: Any = import_module("py3langid")
    return dict(identifier.rank(text))
