"""Scores a short answer against the right one by words: exact match and token F1.

Source: Rajpurkar et al., SQuAD, 2016: case, punctuation and English articles do not count. In scripts without spaces between words
each character is a token, as in MLQA (Lewis et al. 2020). `answer_match.py` compares the facts of two answers.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII = frozenset(string.punctuation)
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


def exact(given: str, right: str) -> bool:
    """Whether both have the same words in the same order. Two answers without words are compared as strings."""
    mine, wanted = words(given), words(right)
    return mine == wanted if mine or wanted else given.strip() == right.strip()


def token_f1(given: str, right: str) -> float:
    """The harmonic mean of precision and recall over words, 0 to 1."""
    mine, wanted = Counter(words(given)), Counter(words(right))
    if not mine or not wanted:
        return float(exact(given, right))
    common = (mine & wanted).total()
    return 2 * common / (mine.total() + wanted.total())


def words(text: str) -> list[str]:
    """The words that count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join("" if _is_punctuation(char) else char for char in plain)
    return _UNSPACED.sub(r" \1 ", _ARTICLES.sub(" ", bare)).split()


def _is_punctuation(char: str) -> bool:
    return char in _ASCII or unicodedata.category(char).startswith("P")
