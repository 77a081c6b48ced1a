"""Ranks texts for a query: the words that a search compares, their BM25 scores, and the score of words and meaning together.

Case, accents and plural endings of words are ignored. Scripts without spaces are split into pairs of characters. BM25 is from
Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, with the usual k1 and b. The mean of cosine
and BM25 share was better than reciprocal rank fusion (`benchmarks/answering.py`). No parameter was tuned.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

WORDS_VERSION = "1"  # raise it if the same text gives different words
# Chinese, Japanese kana, Thai, Lao, Khmer, Burmese: no spaces between words.
_JOINED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
_WORD = re.compile(r"\w+")
# Accents and vowel signs.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")


def words_of(text: str) -> Counter[int]:
    """The count of each word in `text`, by the word's hash (see `_number`)."""
    return Counter(_number(word) for word in _words(text))


def _words(text: str) -> Iterator[str]:
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text)).casefold()
    for word in _WORD.findall(unicodedata.normalize("NFC", plain)):
        at = 0
        for joined in _JOINED.finditer(word):
            if joined.start() > at:
                yield _singular(word[at : joined.start()])
            yield from _pairs(joined.group())
            at = joined.end()
        if at < len(word):
            yield _singular(word[at:])


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


def _singular(word: str) -> str:
    """The word without an English plural ending (the S-stemmer of Harman, How Effective Is Suffixing?, 1991)."""
    if len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


@lru_cache(maxsize=200_000)
def _number(word: str) -> int:
    """A stable 63-bit hash: the chance of a collision among 300,000 words is 1 in 200 million."""
    found = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(found, "big") >> 1


K1, B = 1.2, 0.75
MEANING_WEIGHT = 0.5  # weight of the cosine; the rest is the weight of the words

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def bm25(
    lengths: Floats, rows: Integers, words: Integers, times: Floats, asked: int
) -> tuple[Floats, Floats]:
    """The BM25 score of every chunk, and that score as a share (0-1) of the highest score that the query allows.

    `lengths` holds the number of words of each searched chunk. `rows`, `words` and `times` have an entry for each word of the
    query in each chunk: the chunk's place in `lengths`, the word, and its number of occurrences there. `asked` is the number of
    different words in the query, including those that no chunk has.
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
