"""How near a short answer is to the right one, by words alone: exact match and token F1.

Source: Rajpurkar et al., SQuAD, 2016: case, punctuation and English articles do not count. Characters of scripts
without spaces between words are tokens of their own, as in MLQA (Lewis et al. 2020). Whether two answers state one fact
is `answer_match.py`'s.
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
    """Whether both are the same words in the same order. Two answers of no words are compared as they are written."""
    mine, wanted = words(given), words(right)
    return mine == wanted if mine or wanted else given.strip() == right.strip()


def token_f1(given: str, right: str) -> float:
    """Harmonic mean of precision and recall over words, 0 to 1."""
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
