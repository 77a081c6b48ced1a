"""Suggestions for a model whose search found nothing: which of its words occur, and which similar words do."""

from __future__ import annotations

import difflib
import re

from qagen_dagster.toolkit.document_view import DocumentView

MAX_WORDS = 6
_WORD = re.compile(r"\b\w{3,40}\b")


def near_words(view: DocumentView, text: str) -> str:
    """One sentence on the words of `text`; empty if there is nothing helpful to say."""
    words = list(dict.fromkeys(_WORD.findall(text.casefold())))[:MAX_WORDS]
    return "; ".join(fact for word in words if (fact := _fact(view, word)))


def _fact(view: DocumentView, word: str) -> str:
    line = view.vocabulary.get(word)
    if line is not None:
        return f'"{word}" alone occurs, first on line {line}'
    candidates = [
        other
        for other in view.vocabulary
        if abs(len(other) - len(word)) <= 3 and (other[0] == word[0] or other[-2:] == word[-2:])
    ]
    close = difflib.get_close_matches(word, candidates, n=3, cutoff=0.7)
    if not close:
        return f'"{word}" does not occur'
    found = ", ".join(f'"{other}" (line {view.vocabulary[other]})' for other in close)
    return f'"{word}" does not occur, but {found}'
