"""Computes the scores of a ranking: BM25 over the searched chunks, and the sum of both methods.

BM25: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, with the usual k1 and b. The mean of
cosine and BM25 share was better than reciprocal rank fusion (`benchmarks/answering.py`). No parameter was tuned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75
MEANING_WEIGHT = 0.5  # weight of the cosine; the rest is the weight of the words

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def bm25(
    lengths: Floats, rows: Integers, words: Integers, times: Floats, asked: int
) -> tuple[Floats, Floats]:
    """The BM25 score of every chunk, and the same as a share (0-1) of the highest score that the query allows.

    `lengths`: the number of words of each searched chunk. `rows`, `words`, `times`: for each word of the query and each
    chunk with it, the chunk's place in `lengths`, the word, and how often it occurs. `asked`: the number of different
    words in the query; those that no chunk has count for the share, too.
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
    """One score (0-1) from the cosines and the BM25 shares."""
    return MEANING_WEIGHT * np.clip(meanings, 0.0, 1.0) + (1 - MEANING_WEIGHT) * shares
