"""Figures of how varied the questions of a set are. `docs/published-sets.md` has the formulas and their sources."""

from __future__ import annotations

import gzip
import math
import re
from collections import Counter
from collections.abc import Sequence

from qagen_dagster.records.base import Record

SAMPLE = 50  # questions; sets of different sizes are compared on as many
_LONGEST = 4  # words of an n-gram
_OPENING = 3  # words
_WORD = re.compile(r"\w+")


class Diversity(Record):
    """The figures of some questions. None: there are too few words."""

    questions: int
    mean_words: float
    ngram_diversity: float | None
    compression_ratio: float | None
    self_repetition: float | None
    distinct_openings: int


def diversity(questions: Sequence[str]) -> Diversity:
    """The figures of these questions, which do not depend on their order."""
    texts = sorted(questions)
    words = [_WORD.findall(text.casefold()) for text in texts]
    return Diversity(
        questions=len(texts),
        mean_words=sum(map(len, words)) / len(words) if words else 0.0,
        ngram_diversity=_ngram_diversity([word for each in words for word in each]),
        compression_ratio=_compression_ratio(" ".join(texts).encode()),
        self_repetition=_self_repetition(words),
        distinct_openings=len({tuple(each[:_OPENING]) for each in words}),
    )


def _ngram_diversity(words: Sequence[str]) -> float | None:
    if len(words) < _LONGEST:
        return None
    found = [_ngrams(words, size) for size in range(1, _LONGEST + 1)]
    return sum(len(set(ngrams)) / len(ngrams) for ngrams in found)


def _compression_ratio(data: bytes) -> float | None:
    return len(data) / len(gzip.compress(data, mtime=0)) if data else None


def _self_repetition(words: Sequence[Sequence[str]]) -> float | None:
    each = [set(_ngrams(one, _LONGEST)) for one in words]
    holders = Counter(ngram for ngrams in each for ngram in ngrams)
    scores = [math.log(1 + sum(holders[ngram] - 1 for ngram in ngrams)) for ngrams in each]
    return sum(scores) / len(scores) if scores else None


def _ngrams(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]
