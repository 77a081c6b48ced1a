"""Features of each candidate span as the answer to a question: numbers and categories in a fixed order.

In a share of words, rare words of the text count more, as in BM25 (Robertson & Zaragoza 2009). Word vectors are compared as
in late interaction (Khattab & Zaharia, SIGIR 2020): each word of the question is compared with the token nearest to it.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.models.embedded.answering.question import Question, keys
from qagen_dagster.models.embedded.answering.spans import LABELS, OWN, Numbers, Sentence, unit
from qagen_dagster.models.embedders import Vectors


@dataclass(frozen=True)
class Wanted:
    """The question's content words. Each has its keys, its vector, and a weight that is larger the rarer the word is in the text."""

    words: tuple[frozenset[str], ...]
    vectors: Vectors
    weights: Numbers

    @property
    def total(self) -> float:
        return float(self.weights.sum()) or 1.0


@dataclass(frozen=True)
class Match:
    """The match of a sentence with the question.

    Attributes:
        exact: for each token, the weight of the question's word that it repeats; 0 if it repeats none.
        soft: the cosine of each of the question's words to each token; shape (words, tokens).
        share: the sum of the weights of the repeated words, as a share of the sum of all weights, 0 to 1.
        late: the mean over the question's words of the best cosine to a token, weighted by the weights of the words.
    """

    exact: Numbers
    soft: Numbers
    share: float
    late: float


def wanted_of(question: Question, vectors: Vectors, sentences: Sequence[Sentence]) -> Wanted:
    """The question's words; a word that fewer `sentences` contain weighs more."""
    words = tuple(frozenset(keys(question.doc[index])) for index in question.content)
    counts = Counter(
        index for sentence in sentences for index, word in enumerate(words) if word & sentence.said
    )
    weights = [math.log(1 + len(sentences) / (0.5 + counts[index])) for index in range(len(words))]
    return Wanted(words, vectors[list(question.content)], np.array(weights, dtype=np.float32))


def match(sentence: Sentence, wanted: Wanted) -> Match:
    """Compare all words with all tokens."""
    exact = np.zeros(len(sentence.doc), dtype=np.float32)
    for at, token_keys in enumerate(sentence.words):
        hits = (float(wanted.weights[index]) for index, word in enumerate(wanted.words) if word & token_keys)
        exact[at] = max(hits, default=0.0)
    soft = (wanted.vectors @ sentence.vectors.T).astype(np.float32)
    late = float((wanted.weights * soft.max(axis=1)).sum()) / wanted.total if soft.size else 0.0
    return Match(exact, soft, share_of(sentence.said, wanted), late)


def share_of(said: frozenset[str], wanted: Wanted) -> float:
    """The sum of the weights of the question's words in `said`, as a share of the sum of all weights."""
    found = (float(wanted.weights[index]) for index, word in enumerate(wanted.words) if word & said)
    return sum(found) / wanted.total


SENTENCE = ("s_share", "s_cosine", "s_late", "s_joint")
MEETING = (
    "asked_share", "asked_all", "asked_any", "soft_inside", "soft_most", "cover", "cover_soft", "next_asked", "previous_asked",
)  # fmt: skip
NEARNESS = ("near_1", "near_5", "near_sum", "near_left", "near_right", "soft_near", "soft_left", "soft_right")
TREE = (
    "steps_least", "steps_sum", "steps_2", "steps_3", "steps_soft", "governor_asked", "governor_root", "governor_soft",
    "root_soft", "head_asked", "frame", "frame_pure", "preposition_same",
)  # fmt: skip
MEANING = ("focus_soft", "gap_soft", "question_soft", "root_gap", "above_sentence")
NUMBERS = (*SENTENCE, *OWN, *MEETING, *NEARNESS, *TREE, *MEANING)
CATEGORIES = ("kind", "wants", "role", "asked_preposition", *LABELS)
KEEN = 0.45  # minimum cosine of two words in context with close meanings
_PREPOSITION = LABELS.index("preposition")


class Candidate(NamedTuple):
    """Row `row` of the spans of the sentence at index `sentence` of `Context.sentences`."""

    sentence: int
    row: int


@dataclass(frozen=True)
class Table:
    """One row per candidate: NUMBERS and CATEGORIES."""

    candidates: tuple[Candidate, ...]
    numbers: Numbers
    categories: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Context:
    """The sentences of a text that are `parsed`, by their places in the text. `numbers` has the places of the sentences with
    candidates, and `cosines` has the cosines of these sentences to the question."""

    parsed: Mapping[int, Sentence]
    numbers: Sequence[int]
    cosines: Sequence[float]

    @property
    def sentences(self) -> list[Sentence]:
        return [self.parsed[number] for number in self.numbers]


@dataclass(frozen=True)
class _Work:
    """A sentence and a question, with values that several groups of numbers share."""

    question: Question
    vectors: Vectors
    sentence: Sentence
    met: Match
    wanted: Wanted
    outside: NDArray[np.bool_]  # whether a token is outside a span; shape (spans, tokens), like the next two
    left: NDArray[np.bool_]  # whether a token is before a span
    far: NDArray[np.int64]  # distance of a token to a span, in tokens
    # for each token the cosine to the nearest word of the question; 0 for tokens without content
    best: Numbers


def measure(question: Question, vectors: Vectors, wanted: Wanted, context: Context) -> Table:
    """All candidates of all sentences. `vectors` holds one row per token of the question."""
    met = [match(sentence, wanted) for sentence in context.sentences]
    about = _sentence_numbers(context, met, wanted)
    asked = (question.kind, question.wants, question.role, question.preposition)
    candidates: list[Candidate] = []
    numbers: list[Numbers] = []
    categories: list[tuple[str, ...]] = []
    for number, (sentence, matched) in enumerate(zip(context.sentences, met, strict=True)):
        spans = sentence.spans
        if not len(spans):
            continue
        work = _work(question, vectors, sentence, matched, wanted)
        same = np.repeat(about[number][None, :], len(spans), axis=0)
        columns = [*_matches(work), *_nearness(work), *_tree(work), *_meaning(work)]
        own = np.stack([column.astype(np.float32).reshape(len(spans)) for column in columns], axis=1)
        numbers.append(np.concatenate([same, spans.own, own], axis=1))
        categories += [(*asked, *labels) for labels in spans.labels]
        candidates += [Candidate(number, row) for row in range(len(spans))]
    table = np.concatenate(numbers) if numbers else np.zeros((0, len(NUMBERS)), dtype=np.float32)
    return Table(tuple(candidates), table.astype(np.float32), tuple(categories))


def _sentence_numbers(context: Context, met: Sequence[Match], wanted: Wanted) -> Numbers:
    rows: list[tuple[float, ...]] = []
    for matched, cosine, number in zip(met, context.cosines, context.numbers, strict=True):
        sentence, earlier = context.parsed[number], context.parsed.get(number - 1)
        both = sentence.said | (earlier.said if earlier else frozenset[str]())
        rows.append((matched.share, cosine, matched.late, share_of(both, wanted)))
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(SENTENCE))


def _work(question: Question, vectors: Vectors, sentence: Sentence, met: Match, wanted: Wanted) -> _Work:
    start, end = sentence.spans.start[:, None], sentence.spans.end[:, None]
    places = np.arange(len(sentence.doc))[None, :]
    left, right = places < start, places >= end
    far = np.where(left, start - places, np.where(right, places - end + 1, 1))
    best = met.soft.max(axis=0) if len(met.soft) else np.zeros(len(sentence.doc), dtype=np.float32)
    best = np.where(sentence.content, best, 0.0).astype(np.float32)
    return _Work(question, vectors, sentence, met, wanted, left | right, left, far, best)


def _sums(values: NDArray[np.generic]) -> Numbers:
    """Running sums along the first axis, starting with zero."""
    head = np.zeros((1, *values.shape[1:]), dtype=np.float32)
    return np.concatenate([head, np.cumsum(values, axis=0, dtype=np.float32)])


def _within(values: NDArray[np.generic], work: _Work) -> Numbers:
    """The sum of `values` inside each span."""
    sums = _sums(values)
    return sums[work.sentence.spans.end] - sums[work.sentence.spans.start]


def _matches(work: _Work) -> list[NDArray[np.generic]]:
    """Words of the question inside the span, and the quality of their matches outside."""
    spans, exact = work.sentence.spans, work.met.exact
    hit = exact > 0
    size = len(hit)
    own = np.maximum(_within(work.sentence.content, work), 1.0)
    asked = _within(hit, work)
    most = np.where(work.outside, 0.0, work.best[None, :]).max(axis=1)
    cover = (exact.sum() - _within(exact, work)) / work.wanted.total
    soft = _covered(work) / work.wanted.total
    following = np.where(spans.end < size, hit[np.minimum(spans.end, size - 1)], False)
    previous = np.where(spans.start > 0, hit[np.maximum(spans.start - 1, 0)], False)
    return [
        asked / own, asked >= own, asked > 0, _within(work.best, work) / own, most, cover, soft, following, previous,
    ]  # fmt: skip


def _covered(work: _Work) -> Numbers:
    """For each span the sum over the question's words of the weight times the best cosine to a token outside the span."""
    soft, weights = work.met.soft, work.wanted.weights
    pad = np.zeros((len(soft), 1), dtype=np.float32)
    before = np.concatenate([pad, np.maximum.accumulate(soft, axis=1)], axis=1)
    behind = np.concatenate([np.maximum.accumulate(soft[:, ::-1], axis=1)[:, ::-1], pad], axis=1)
    spans = work.sentence.spans
    return (weights[:, None] * np.maximum(before[:, spans.start], behind[:, spans.end])).sum(axis=0)


def _nearness(work: _Work) -> list[NDArray[np.generic]]:
    """The nearness of the question's words to the span. Nearer words give larger numbers."""
    exact, right = work.met.exact[None, :], work.outside & ~work.left
    mass = float(work.met.exact.sum()) or 1.0
    near = np.where(work.outside, exact / (work.far + 1.0), 0.0)
    keen = np.where(work.outside, _keen(work)[None, :] / (work.far + 1.0), 0.0)
    return [
        near.max(axis=1), np.where(work.outside & (work.far <= 5), exact, 0.0).sum(axis=1) / mass, near.sum(axis=1) / mass,
        np.where(work.left, near, 0.0).sum(axis=1) / mass, np.where(right, near, 0.0).sum(axis=1) / mass, keen.sum(axis=1),
        np.where(work.left, keen, 0.0).sum(axis=1), np.where(right, keen, 0.0).sum(axis=1),
    ]  # fmt: skip


def _keen(work: _Work) -> Numbers:
    return np.where(work.best > KEEN, work.best, 0.0).astype(np.float32)


def _tree(work: _Work) -> list[NDArray[np.generic]]:
    """Relations between the span and the question's words in the parse tree."""
    sentence, question, exact = work.sentence, work.question, work.met.exact
    spans, hit = sentence.spans, exact > 0
    root, governor = spans.root, spans.governor
    mass = float(exact.sum()) or 1.0
    steps = sentence.steps[root]
    climbed = np.where(work.outside, exact[None, :], 0.0)
    other = governor != root
    asks = question.doc[question.governor].lemma_.lower()
    same = np.array([token.lemma_.lower() in (asks, question.root) for token in sentence.doc])
    asked_governor = work.vectors[question.governor]
    weights, hits, content = _sums(exact), _sums(hit), _sums(sentence.content)
    low, high = sentence.left[governor], sentence.right[governor]
    frame = weights[high] - weights[low] - _within(exact, work)
    frame_hits = hits[high] - hits[low] - _within(hit, work)
    frame_all = content[high] - content[low] - _within(sentence.content, work)
    preposition = np.array([labels[_PREPOSITION] for labels in spans.labels])
    return [
        1.0 / (1.0 + np.where(climbed > 0, steps, 30).min(axis=1)), (climbed / (1.0 + steps)).sum(axis=1) / mass,
        np.where(steps <= 2, climbed, 0).sum(axis=1) / mass, np.where(steps <= 3, climbed, 0).sum(axis=1) / mass,
        (np.where(work.outside, _keen(work)[None, :], 0) / (1.0 + steps)).sum(axis=1), hit[governor] & other,
        same[governor] & other, sentence.vectors[governor] @ asked_governor, sentence.vectors[root] @ asked_governor,
        hit[sentence.heads[root]], frame / mass, frame_hits / np.maximum(frame_all, 1.0),
        (preposition == question.preposition) & (preposition != ""),
    ]  # fmt: skip


def _meaning(work: _Work) -> list[NDArray[np.generic]]:
    """Similarity of the span to the noun asked about and to the whole question."""
    sentence, vectors = work.sentence, work.vectors
    first, last = work.question.gap
    gap = unit(vectors[first : last + 1].mean(axis=0))
    whole = unit(vectors.mean(axis=0))
    own = unit(_within(sentence.vectors, work))
    over = unit(sentence.vectors.mean(axis=0))
    return [
        own @ vectors[last], own @ gap, own @ whole, sentence.vectors[sentence.spans.root] @ gap, own @ whole - over @ whole,
    ]  # fmt: skip
