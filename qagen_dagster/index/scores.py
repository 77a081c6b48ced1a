"""The arithmetic of a ranking: BM25 over the chunks that are searched, and the sum of the two methods.

Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the usual k1 and b. The sum of cosine and
share of words, halves of each, was measured against reciprocal rank fusion (`benchmarks/answering.py`) and was better; nothing was tuned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75
MEANING_WEIGHT = 0.5  # of the cosine; the rest is the words'

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def bm25(
    lengths: Floats, rows: Integers, words: Integers, times: Floats, asked: int
) -> tuple[Floats, Floats]:
    """BM25 of every chunk, and the same as a share (0-1) of what any chunk could reach for this query.

    `lengths`: words in each chunk that is searched. `rows`, `words`, `times`: for each word of the query and each chunk it stands
    in: the chunk's place in `lengths`, the word, how often. `asked`: how many different words the query has; those that
    stand nowhere count for the share, as ones that no chunk has.
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
    """One score, 0-1, of cosines and shares of words."""
    return MEANING_WEIGHT * np.clip(meanings, 0.0, 1.0) + (1 - MEANING_WEIGHT) * shares
