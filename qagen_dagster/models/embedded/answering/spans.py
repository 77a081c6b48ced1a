"""A sentence prepared for many questions: its parse, its candidate answers (whole and trimmed phrases, names, clauses), its word vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Token

from qagen_dagster.models.embedded.answering.question import is_content, keys
from qagen_dagster.models.embedded.text.grammar import parse
from qagen_dagster.models.embedders import DIMENSIONS, Vectors, shared

MOST_TOKENS = 22  # tokens of the longest candidate
_DEEPEST = 30  # maximum depth of a word in the parse tree; deeper words count as this deep
_LEADING = ("ADP", "SCONJ", "DET", "PART", "ADV")
_TRAILING = ("CCONJ", "ADP", "DET")
_CUT_BEFORE = ("conj", "cc", "relcl", "acl", "appos", "punct", "prep", "advcl", "npadvmod", "agent")
_SHAPED = ("ADP", "SCONJ", "PART", "AUX", "PUNCT", "CCONJ", "DET")

Numbers = NDArray[np.float32]
Indices = NDArray[np.int64]

LABELS = (
    "entity", "pos", "tag", "dep", "first_pos", "first_tag", "last_pos", "before", "after", "head_pos",
    "preposition", "first_word", "length",
)  # fmt: skip
OWN = (
    "words", "log_words", "content", "full", "left_full", "right_full", "head_last", "first_capital", "last_capital", "digit",
    "all_numbers", "quoted", "bracketed", "starts", "ends", "depth", "verb", "commas", "cuts_entity", "first_stop",
    "conjunction", "article",
)  # fmt: skip


@dataclass(frozen=True)
class Spans:
    """Candidates of one sentence; row i of every array is one span.

    Attributes:
        start, end: token indices, `end` exclusive.
        root: each span's head token; governor: the token it depends on, prepositions skipped.
        labels: categories in the order of LABELS. own: numbers in the order of OWN.
    """

    doc: Doc
    start: Indices
    end: Indices
    root: Indices
    governor: Indices
    labels: tuple[tuple[str, ...], ...]
    own: Numbers

    def __len__(self) -> int:
        return len(self.start)


def spans_of(doc: Doc) -> Spans:
    """All candidates of a sentence; none for an empty sentence."""
    pairs = sorted(set(_pairs(doc)))
    entities = {(entity.start, entity.end): entity.label_ for entity in doc.ents}
    roots = [doc[start:end].root for start, end in pairs]
    governors = [root.head.head if root.dep_ == "pobj" else root.head for root in roots]
    labels = tuple(_labels(doc, *pair, root, entities) for pair, root in zip(pairs, roots, strict=True))
    own = [_own(doc, *pair, root, entities) for pair, root in zip(pairs, roots, strict=True)]
    return Spans(
        doc,
        np.array([start for start, _ in pairs], dtype=np.int64),
        np.array([end for _, end in pairs], dtype=np.int64),
        np.array([root.i for root in roots], dtype=np.int64),
        np.array([governor.i for governor in governors], dtype=np.int64),
        labels,
        np.array(own, dtype=np.float32).reshape(len(pairs), len(OWN)),
    )


def _pairs(doc: Doc) -> Iterator[tuple[int, int]]:
    for start, end in _raw(doc):
        start, end = _trimmed(doc, start, end)
        if 0 < end - start <= MOST_TOKENS and any(
            not (token.is_punct or token.is_space) for token in doc[start:end]
        ):
            yield start, end


def _raw(doc: Doc) -> Iterator[tuple[int, int]]:
    for token in doc:
        if not (token.is_space or token.is_punct):
            yield from _around(token)
    for entity in doc.ents:
        yield entity.start, entity.end
        yield entity.start, min(entity.end + 1, len(doc))
        yield max(entity.start - 1, 0), entity.end


def _around(token: Token) -> Iterator[tuple[int, int]]:
    """The phrase that `token` heads, with and without some of its parts."""
    doc, left, right, here = token.doc, token.left_edge.i, token.right_edge.i + 1, token.i
    yield from ((left, right), (left, here + 1), (here, right), (here, here + 1))
    at = left
    while at < here and doc[at].pos_ in _LEADING:
        at += 1
        yield from ((at, right), (at, here + 1))
    for child in token.rights:
        if child.dep_ in _CUT_BEFORE:
            yield left, child.left_edge.i
            yield here, child.left_edge.i
        if child.dep_ in ("prep", "conj"):
            yield left, child.right_edge.i + 1
    for child in token.lefts:
        yield child.left_edge.i, here + 1


def _trimmed(doc: Doc, start: int, end: int) -> tuple[int, int]:
    while start < end and (
        (doc[start].is_punct and doc[start].text not in '"“$#£€')
        or doc[start].is_space
        or doc[start].pos_ == "CCONJ"
    ):
        start += 1
    while end > start and (
        (doc[end - 1].is_punct and doc[end - 1].text not in '"”%')
        or doc[end - 1].is_space
        or (doc[end - 1].pos_ in _TRAILING and end - start > 1)
    ):
        end -= 1
    return start, end


def _labels(
    doc: Doc, start: int, end: int, root: Token, entities: dict[tuple[int, int], str]
) -> tuple[str, ...]:
    first, last = doc[start], doc[end - 1]
    preposition = ""
    if root.dep_ == "pobj":
        preposition = root.head.lemma_.lower()
    elif root.dep_ in ("prep", "agent"):
        preposition = root.lemma_.lower()
    shaped = first.pos_ in ("ADP", "SCONJ", "PART")
    # The number of words, rounded up to 1, 2, 4, 7, 12 or the maximum.
    words = sum(not token.is_punct for token in doc[start:end])
    length = str(next((most for most in (1, 2, 4, 7, 12) if words <= most), MOST_TOKENS))
    return (
        _entity(start, end, first, entities), root.pos_, root.tag_, root.dep_, first.pos_, first.tag_, last.pos_,
        _beside(doc[start - 1]) if start else "edge", _beside(doc[end]) if end < len(doc) else "edge",
        root.head.pos_, preposition, first.lower_ if shaped else "", length,
    )  # fmt: skip


def _beside(token: Token) -> str:
    return token.lower_ if token.pos_ in _SHAPED else token.pos_


def _entity(start: int, end: int, first: Token, entities: dict[tuple[int, int], str]) -> str:
    """The entity label of the span; with "+" if it contains whole entities, with "-" if it cuts one, "none" without any."""
    label = entities.get((start, end)) or (entities.get((start + 1, end)) if first.pos_ == "DET" else None)
    if label:
        return label
    inside = [name for (left, right), name in entities.items() if left >= start and right <= end]
    over = [name for (left, right), name in entities.items() if left < end and right > start]
    if inside and len(inside) == len(over):
        return f"+{min(inside)}"
    return f"-{min(over)}" if over else "none"


def _own(
    doc: Doc, start: int, end: int, root: Token, entities: dict[tuple[int, int], str]
) -> tuple[float, ...]:
    tokens = doc[start:end]
    words = [token for token in tokens if not token.is_punct]
    count = len(words)
    first, last = doc[start], doc[end - 1]
    cuts = any(left < start < right or left < end < right for left, right in entities)
    numbers = all(
        token.pos_ == "NUM" or token.text in ("$", "%", "£", "million", "billion") for token in words
    )
    return (
        count, float(np.log(max(count, 1))), sum(is_content(token) for token in words),
        start == root.left_edge.i and end == root.right_edge.i + 1, start == root.left_edge.i, end == root.right_edge.i + 1,
        root.i == end - 1, first.text[:1].isupper() and start > 0, last.text[:1].isupper() and end > 1,
        any(char.isdigit() for char in tokens.text), numbers, start > 0 and doc[start - 1].text in '"“',
        start > 0 and doc[start - 1].text == "(", start == 0, end >= len(doc) - 1, min(sum(1 for _ in root.ancestors), _DEEPEST),
        any(token.pos_ in ("VERB", "AUX") for token in words), sum(token.text == "," for token in tokens), cuts,
        not is_content(first), any(token.pos_ == "CCONJ" for token in words), first.pos_ == "DET",
    )  # fmt: skip


CACHED_SENTENCES = 2_000
FAR = 20  # maximum distance in the tree; larger distances count as this


@dataclass(frozen=True)
class Sentence:
    """A parsed sentence. `vectors` has a row of unit length for each token, or a zero row if no word
    piece that the encoder reads begins in it. `words` has the keys of each token that carries meaning, and an
    empty set for the others."""

    doc: Doc
    spans: Spans
    vectors: Vectors
    words: tuple[frozenset[str], ...]
    said: frozenset[str]  # all keys
    content: NDArray[np.bool_]
    heads: NDArray[np.int64]
    steps: NDArray[np.float32]  # distances between any two tokens in the tree
    left: NDArray[np.int64]  # first token of each token's subtree
    right: NDArray[np.int64]  # end (exclusive) of each token's subtree


@lru_cache(maxsize=CACHED_SENTENCES)
def ready(text: str) -> Sentence:
    """The prepared sentence. Recent sentences are cached."""
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
        for distance, ancestor in zip(range(FAR), (token, *token.ancestors), strict=False):
            steps[token.i, ancestor.i] = distance
    # The path runs through the nearest common ancestor, where the sum of both ways up is least.
    ups = steps.copy()
    for ancestor in range(size):
        column = ups[:, ancestor]
        below = np.flatnonzero(column < FAR)
        if len(below) > 1:
            through = column[below][:, None] + column[below][None, :]
            steps[np.ix_(below, below)] = np.minimum(steps[np.ix_(below, below)], through)
    return np.minimum(steps, FAR)
