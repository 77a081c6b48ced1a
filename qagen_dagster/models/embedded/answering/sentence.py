"""A sentence of the document prepared for many questions: its parse, its candidates and its contextual word vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from qagen_dagster.models.embedded.answering.candidates import Spans, spans_of
from qagen_dagster.models.embedded.answering.question import is_content, keys
from qagen_dagster.models.embedded.text.language import parse
from qagen_dagster.models.vectors import DIMENSIONS, Vectors, shared

CACHED_SENTENCES = 2_000
FAR = 20  # maximum distance in the tree; larger ones are cut to it


@dataclass(frozen=True)
class Sentence:
    """`vectors`: one unit row per token (zero beyond the encoder's limit). `words`: keys of each content token."""

    doc: Doc
    spans: Spans
    vectors: Vectors
    words: tuple[frozenset[str], ...]
    said: frozenset[str]  # all keys
    content: NDArray[np.bool_]
    heads: NDArray[np.int64]
    steps: NDArray[np.float32]  # between two tokens in the tree
    left: NDArray[np.int64]  # first token of each token's subtree
    right: NDArray[np.int64]  # end (exclusive) of each token's subtree


@lru_cache(maxsize=CACHED_SENTENCES)
def ready(text: str) -> Sentence:
    """The sentence, computed once."""
    doc = parse([text])[0]
    words = tuple(frozenset(keys(token)) if is_content(token) else frozenset[str]() for token in doc)
    return Sentence(
        doc, spans_of(doc), word_vectors(doc), words, frozenset[str]().union(*words),
        np.array([is_content(token) for token in doc], dtype=np.bool_),
        np.array([token.head.i for token in doc], dtype=np.int64), _steps(doc),
        np.array([token.left_edge.i for token in doc], dtype=np.int64),
        np.array([token.right_edge.i + 1 for token in doc], dtype=np.int64),
    )  # fmt: skip


def word_vectors(doc: Doc) -> Vectors:
    """The mean state of each token's word pieces, with unit length."""
    found = np.zeros((len(doc), DIMENSIONS), dtype=np.float32)
    if not len(doc):
        return found
    offsets, states = shared().pieces(doc.text)
    token = 0
    for (start, end), state in zip(offsets, states, strict=True):
        if start == end:
            continue
        while token + 1 < len(doc) and doc[token + 1].idx <= start:
            token += 1
        found[token] += state
    return unit(found)


def unit(vectors: Vectors) -> Vectors:
    """Rows of unit length; zero rows stay."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.maximum(norms, 1e-9)).astype(np.float32)


def _steps(doc: Doc) -> NDArray[np.float32]:
    """Distances between any two tokens along the tree."""
    size = len(doc)
    steps = np.full((size, size), FAR, dtype=np.float32)
    for token in doc:
        above: list[tuple[int, int]] = []
        at, up = token, 0
        while up < FAR:
            above.append((at.i, up))
            if at.head.i == at.i:
                break
            at, up = at.head, up + 1
        for ancestor, distance in above:
            steps[token.i, ancestor] = distance
    # The path runs through the nearest common ancestor, where the sum of both ways up is least.
    ups = steps.copy()
    for ancestor in range(size):
        column = ups[:, ancestor]
        below = np.flatnonzero(column < FAR)
        if len(below) > 1:
            through = column[below][:, None] + column[below][None, :]
            steps[np.ix_(below, below)] = np.minimum(steps[np.ix_(below, below)], through)
    return np.minimum(steps, FAR)
