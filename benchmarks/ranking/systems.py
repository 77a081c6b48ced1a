"""Retrieval systems, good and bad ones, and how each ranks the right passages.

Lexical systems hold one dense matrix, terms by passages, of the terms that questions use; the score of a question is the sum of
its rows. Dense systems use the embedder that the package ships.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.ranking.sets import Asked, Passage
from qagen_dagster.english import sentences
from qagen_dagster.english.words import stem, word_set
from qagen_dagster.models.embedders import encode

Matrix = NDArray[np.float32]
Terms = Callable[[str], Sequence[str]]

CUT = 10
_RRF = 60  # the constant of reciprocal rank fusion
_STOP = word_set(
    "a an the of in on at to for from by with and or but is are was were be been being do does did has have had what which who "
    "whom when where why how many much not no that this as it its than into can could may might will would"
)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


_stem = cache(stem)


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _words(text)]


def _content(text: str) -> list[str]:
    return [_stem(word) for word in _words(text) if word not in _STOP]


def _short(text: str) -> list[str]:
    return [word[:4] for word in _words(text)]


def _letters(text: str) -> list[str]:
    joined = f" {' '.join(_words(text))} "
    return [joined[at : at + 4] for at in range(len(joined) - 3)]


def _pairs(text: str) -> list[str]:
    found = _stems(text)
    return [*found, *(f"{first} {second}" for first, second in pairwise(found))]


class Counts:
    """How often the passages have each term; `frequency` is terms by passages of the terms in `known`."""

    def __init__(self, texts: Sequence[str], terms: Terms, known: frozenset[str]) -> None:
        self.terms = terms
        found = [Counter(terms(text)) for text in texts]
        self.rows = {term: row for row, term in enumerate(sorted(known))}
        self.frequency = np.zeros(
            (len(known) + 1, len(texts)), dtype=np.float32
        )  # the last row is an unknown term
        for column, counts in enumerate(found):
            for term in counts.keys() & known:
                self.frequency[self.rows[term], column] = counts[term]
        self.length = np.array([max(1, counts.total()) for counts in found], dtype=np.float32)
        self.documents = (self.frequency > 0).sum(1, keepdims=True).astype(np.float32)

    def scores(self, weights: Matrix, questions: Sequence[str], offset: Matrix | float = 0.0) -> Matrix:
        made = np.zeros((len(questions), weights.shape[1]), dtype=np.float32)
        for place, question in enumerate(questions):
            rows = [self.rows[term] for term in self.terms(question) if term in self.rows]
            made[place] = weights[rows].sum(0) + offset * len(rows)
        return made


def _bm25(counts: Counts, k1: float, b: float) -> Matrix:
    size = counts.frequency.shape[1]
    idf = np.log1p((size - counts.documents + 0.5) / (counts.documents + 0.5))
    norm = k1 * (1 - b + b * counts.length / counts.length.mean())
    return (idf * counts.frequency * (k1 + 1) / (counts.frequency + norm)).astype(np.float32)


def _tf_idf(counts: Counts, *, logarithm: bool) -> Matrix:
    tf = np.log1p(counts.frequency) if logarithm else counts.frequency
    made = tf * np.log(counts.frequency.shape[1] / np.maximum(counts.documents, 1))
    return (made / np.sqrt(counts.length)).astype(np.float32)


def _dirichlet(counts: Counts, mu: float) -> tuple[Matrix, Matrix]:
    """Rows of log probabilities, less what an absent term has; and that of the length, for each term of the question."""
    share = np.maximum(counts.frequency.sum(1, keepdims=True), 0.5) / counts.length.sum()
    return np.log1p(counts.frequency / (mu * share)).astype(np.float32), np.log(mu / (counts.length + mu))


def _mixed(counts: Counts, weight: float) -> Matrix:
    """Jelinek-Mercer: the passage has `weight`, the collection the rest."""
    share = np.maximum(counts.frequency.sum(1, keepdims=True), 0.5) / counts.length.sum()
    own = counts.frequency / counts.length
    return np.log1p(weight * own / ((1 - weight) * share)).astype(np.float32)


def _binary(counts: Counts) -> Matrix:
    return (counts.frequency > 0).astype(np.float32)


def _common_only(counts: Counts) -> Matrix:
    """BM25 that does not know terms of fewer than three passages."""
    return _bm25(counts, 1.2, 0.75) * (counts.documents > 2)


def _standard(scores: Matrix) -> Matrix:
    spread = np.maximum(scores.std(1, keepdims=True), 1e-9)
    return ((scores - scores.mean(1, keepdims=True)) / spread).astype(np.float32)


def _half(text: str) -> str:
    found = text.split()
    return " ".join(found[: len(found) // 2])


def _lexical(
    texts: Sequence[str], titles: Sequence[str], questions: Sequence[str]
) -> Iterator[tuple[str, Matrix]]:
    titled = [f"{title} {text}" for title, text in zip(titles, texts, strict=True)]
    table: Mapping[str, tuple[Sequence[str], Terms, Callable[[Counts], Matrix]]] = {
        "bm25": (texts, _stems, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 k1=.9 b=.4": (texts, _stems, lambda one: _bm25(one, 0.9, 0.4)),
        "bm25 k1=2": (texts, _stems, lambda one: _bm25(one, 2.0, 0.75)),
        "bm25 b=0": (texts, _stems, lambda one: _bm25(one, 1.2, 0.0)),
        "bm25 b=1": (texts, _stems, lambda one: _bm25(one, 1.2, 1.0)),
        "binary": (texts, _stems, _binary),
        "tf-idf": (texts, _stems, lambda one: _tf_idf(one, logarithm=False)),
        "tf-idf log": (texts, _stems, lambda one: _tf_idf(one, logarithm=True)),
        "mixed .5": (texts, _stems, lambda one: _mixed(one, 0.5)),
        "bm25 common only": (texts, _stems, _common_only),
        "bm25 words": (texts, _words, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 content": (texts, _content, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 4 letters": (texts, _short, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 n-grams": (texts, _letters, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 pairs": (texts, _pairs, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 title": (titled, _stems, lambda one: _bm25(one, 1.2, 0.75)),
        "bm25 half": ([_half(text) for text in texts], _stems, lambda one: _bm25(one, 1.2, 0.75)),
    }
    counts, before = None, None
    for name, (given, terms, weigh) in table.items():
        if counts is None or (given, terms) != before:
            known = frozenset(term for question in questions for term in terms(question))
            counts, before = Counts(given, terms, known), (given, terms)
        yield name, counts.scores(weigh(counts), questions)
    counts = Counts(texts, _stems, frozenset(term for question in questions for term in _stems(question)))
    for mu in (100.0, 1000.0):
        rows, length = _dirichlet(counts, mu)
        yield f"dirichlet {mu:.0f}", counts.scores(rows, questions, length)


def _dense(
    texts: Sequence[str], titles: Sequence[str], questions: Sequence[str]
) -> Iterator[tuple[str, Matrix]]:
    asked = encode(questions)
    yield "dense", asked @ encode(texts).T
    yield (
        "dense title",
        asked @ encode([f"{title}. {text}" for title, text in zip(titles, texts, strict=True)]).T,
    )
    parts = [[one.text for one in sentences.split(text)] or [text] for text in texts]
    ends = np.cumsum([0, *map(len, parts)])[:-1]
    vectors = encode([part for one in parts for part in one])
    cosines = asked @ vectors.T
    yield "dense best sentence", np.maximum.reduceat(cosines, ends, axis=1)
    means = np.add.reduceat(vectors, ends, axis=0)
    yield "dense mean of sentences", asked @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
    yield "dense first sentence", cosines[:, ends]


def _hybrids(found: Mapping[str, Matrix]) -> Iterator[tuple[str, Matrix]]:
    words, meaning = _standard(found["bm25"]), _standard(found["dense"])
    for weight in (0.25, 0.5, 0.75):
        yield f"hybrid {weight}", (weight * words + (1 - weight) * meaning).astype(np.float32)
    yield "hybrid title", _standard(found["bm25 title"]) + _standard(found["dense title"])
    fused = 1 / (_RRF + _places(found["bm25"])) + 1 / (_RRF + _places(found["dense"]))
    yield "rank fusion", fused.astype(np.float32)


def _places(scores: Matrix) -> Matrix:
    """The rank of every passage for every question, 1 is the best."""
    return (np.argsort(np.argsort(-scores, axis=1), axis=1) + 1).astype(np.float32)


def reciprocal_ranks(passages: Sequence[Passage], asked: Sequence[Asked]) -> tuple[list[str], Matrix]:
    """The names of the systems, and for each question and system 1 / the rank of the best right passage, 0 beyond CUT.

    A passage with the same score as the right one is half before it.
    """
    texts, titles = [one.text for one in passages], [one.title for one in passages]
    questions = [one.text for one in asked]
    relevant = np.zeros((len(asked), len(passages)), dtype=bool)
    for row, one in enumerate(asked):
        relevant[row, list(one.relevant)] = True
    kept: dict[str, Matrix] = {}
    ranks: dict[str, Matrix] = {}
    for make in (_lexical, _dense):
        for name, scores in make(texts, titles, questions):
            ranks[name] = _reciprocal(scores, relevant)
            if name in ("bm25", "bm25 title", "dense", "dense title"):
                kept[name] = scores
    for name, scores in _hybrids(kept):
        ranks[name] = _reciprocal(scores, relevant)
    return list(ranks), np.stack(list(ranks.values()), axis=1)


def _reciprocal(scores: Matrix, relevant: NDArray[np.bool_]) -> Matrix:
    best = np.where(relevant, scores, -np.inf).max(1, keepdims=True)
    rank = 1 + (scores > best).sum(1) + ((scores == best) & ~relevant).sum(1) / 2
    return np.where(rank <= CUT, 1 / rank, 0).astype(np.float32)
