"""The arithmetic of a ranking: BM25 over the searched chunks, and the combined score of both methods.

Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, with the usual k1 and b. The mean of cosine
and share of words was better than reciprocal rank fusion in `benchmarks/answering.py`. Nothing was tuned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75
MEANING_WEIGHT = 0.5  # of the cosine; the rest is the weight of the words

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def bm25(
    lengths: Floats, rows: Integers, words: Integers, times: Floats, asked: int
) -> tuple[Floats, Floats]:
    """BM25 of every chunk, and the same as a share (0-1) of the best possible score for this query.

    `lengths`: the number of words of each searched chunk. `rows`, `words` and `times` have an entry for each word of the query and each
    chunk that contains it: the index of the chunk in `lengths`, the word, how often it occurs. `asked`: the number of different words
    in the query; a word that no chunk contains counts for the best possible score.
    """
    count = len(lengths)
    kinds, which, found = np.unique(words, return_inverse=True, return_counts=True)
    rarity = np.log1p((count - found + 0.5) / (found + 0.5))
    missing = asked - len(kinds)
    reach = (K1 + 1) * (rarity.sum() + missing * np.log1p((count + 0.5) / 0.5))
    average = max(float(lengths.mean()), 1.0) if count else 1.0
    damped = times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[rows] / average))
    total = np.zeros(count)
    np.add.at(total, rows, rarity[which] * damped)
    return total, total / reach if reach > 0 else total


def both(meanings: Floats, shares: Floats) -> Floats:
    """The combined score (0-1) of cosines and shares of words."""
    return MEANING_WEIGHT * np.clip(meanings, 0.0, 1.0) + (1 - MEANING_WEIGHT) * shares
