"""The choice of the best short answer: fitted weights score the spans, the one that agrees most with others wins, and its odds say whether it is right.

Signs against it are words of the question that its place lacks. A question without an answer often repeats most words of a
sentence and changes one: a name, a number, a quality, a verb, a denial (Rajpurkar, Jia & Liang 2018). Each word of the question
is looked for in the sentence of the answer, near it, and in the whole text. `benchmarks/short` fits the weights of `weights.json`.
"""

from __future__ import annotations

import json
import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator
from spacy.tokens import Token

from qagen_dagster.english.polarity import opposites_of
from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.answering.features import (
    CATEGORIES,
    NUMBERS,
    Context,
    Table,
    match,
    measure,
    wanted_of,
)
from qagen_dagster.models.embedded.answering.question import Question, keys, read_question
from qagen_dagster.models.embedded.answering.retrieval import encode
from qagen_dagster.models.embedded.answering.spans import LABELS, Numbers, Sentence, ready, word_vectors
from qagen_dagster.models.embedders import Vectors
from qagen_dagster.records.base import Record

_KINDS = ("name", "number", "noun", "verb", "quality")
_FAR = ("name", "number", "noun", "quality")
_SOFT = ("verb", "noun", "quality")
MISMATCHES = (
    *(f"elsewhere_{kind}" for kind in _KINDS),  # words that are not in the sentence, but in another one
    *(f"absent_{kind}" for kind in _KINDS),  # words that are nowhere in the text
    *(f"far_{kind}" for kind in _FAR),  # words that are neither in the sentence nor in the two before it
    *(f"least_{kind}" for kind in _SOFT), "least", "mean",  # of the words' largest cosines in the sentence
    "denial_added", "denial", "opposite", "other_modifier", "other_party", "exchanged", "better_sentence", "length",
)  # fmt: skip
_DENIAL = word_set("not no never none without n't neither nor nobody nothing hardly")
_MEASURES = ("CARDINAL", "DATE", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "TIME")
_MODIFIERS = ("amod", "compound", "nummod", "poss")
_PARTIES = ("nsubj", "dobj", "pobj", "nsubjpass")
BEFORE = 2  # sentences before the answer's that may name what it is about


def mismatches(
    question: Question, vectors: Vectors, text: Sequence[Sentence], place: int, start: int, end: int
) -> tuple[float, ...]:
    """The values of MISMATCHES for tokens `start` to `end` of `text[place]`; `vectors` has a row per token of the question."""
    first, last = question.gap
    words = [question.doc[at] for at in question.content if not first <= at <= last]
    one = text[place]
    here = frozenset[str]().union(*one.words[:start], *one.words[end:])
    near = one.said.union(*(other.said for other in text[max(0, place - BEFORE) : place]))
    everywhere = frozenset[str]().union(*(other.said for other in text))
    asked = frozenset[str]().union(*(keys(word) for word in words))
    counts = Counter[str]()
    least: dict[str, float] = dict.fromkeys((*_SOFT, ""), 1.0)
    cosines: list[float] = []
    for word in words:
        said, kind = frozenset(keys(word)), _kind(word)
        if not said & here:
            counts["opposite"] += bool(_opposites(word) & (one.said - asked))
            counts[f"{'elsewhere' if said & everywhere else 'absent'}_{kind}"] += 1
        counts[f"far_{kind}"] += not said & near
        cosines.append(1.0 if said & here else _largest(vectors[word.i], one, start, end))
        for name in (kind, ""):
            least[name] = min(least.get(name, 1.0), cosines[-1])
    counts += _structure(words, one, here, near, range(start, end))
    denial = any(token.lower_ in _DENIAL for token in question.doc)
    counts["denial"] = denial
    counts["denial_added"] = denial and not any(token.lower_ in _DENIAL for token in one.doc)
    best = max(_covered(words, other) for other in text)
    return (
        *(float(counts[name]) for name in MISMATCHES[: 2 * len(_KINDS) + len(_FAR)]),
        *(least[name] for name in (*_SOFT, "")), float(np.mean(cosines)) if cosines else 1.0,
        *(float(counts[name]) for name in ("denial_added", "denial", "opposite", "other_modifier", "other_party", "exchanged")),
        best - _covered(words, one), float(np.log1p(len(words))),
    )  # fmt: skip


def _kind(word: Token) -> str:
    if word.like_num or (word.ent_type_ in _MEASURES and any(map(str.isdigit, word.text))):
        return "number"
    if word.pos_ == "PROPN" or (word.i > 0 and word.text[:1].isupper()):
        return "name"
    return {"VERB": "verb", "ADJ": "quality", "ADV": "quality"}.get(word.pos_, "noun")


def _opposites(word: Token) -> frozenset[str]:
    return opposites_of(word.lower_) | opposites_of(word.lemma_.lower())


def _largest(vector: Vectors, one: Sentence, start: int, end: int) -> float:
    """The largest cosine to a token of the sentence outside the answer."""
    outside = [token.i for token in one.doc if not (start <= token.i < end or token.is_punct)]
    return float((one.vectors[outside] @ vector).max()) if outside else 0.0


def _covered(words: Sequence[Token], one: Sentence) -> float:
    return sum(bool(one.said.intersection(keys(word))) for word in words) / max(1, len(words))


def _structure(
    words: Sequence[Token], one: Sentence, here: frozenset[str], near: frozenset[str], answer: range
) -> Counter[str]:
    """Words in another relation than in the sentence: another modifier or party of a word that both have, roles exchanged."""
    found = Counter[str]()
    for word in words:
        said = frozenset(keys(word))
        if not said & near:
            head = word.head.head if word.dep_ == "pobj" else word.head
            found["other_party"] += word.dep_ in _PARTIES and bool(here.intersection(keys(head)))
            found["other_modifier"] += word.dep_ in _MODIFIERS and _modified(word.head, one, answer)
        same = next((token for token in one.doc if said & one.words[token.i]), None)
        roles = {
            token.dep_ == "nsubj" for token in (word, same) if token is not None and token.dep_ in _PARTIES
        }
        found["exchanged"] += len(roles) == 2
    return found


def _modified(head: Token, one: Sentence, answer: range) -> bool:
    """Whether the sentence has this word, too, with a modifier of its own."""
    said = frozenset(keys(head))
    same = next((token for token in one.doc if token.i not in answer and said & one.words[token.i]), None)
    return same is not None and any(child.dep_ in _MODIFIERS for child in same.children)


FILE = "weights.json"
LARGEST = 4.0  # limit of standardised values, in standard deviations
# Combined categories: each label alone, with the class of answer, with the question word, and a few pairs.
TEMPLATES: tuple[tuple[str, ...], ...] = (
    *((label,) for label in LABELS),
    *((label, "wants") for label in LABELS),
    *((label, "kind") for label in LABELS),
    ("dep", "role"), ("entity", "asked_preposition"), ("preposition", "asked_preposition"), ("first_pos", "last_pos"),
    ("before", "first_pos"), ("dep", "entity"),
)  # fmt: skip
SIGNS = ("agreed", "share", "late", "cosine", "joint", *MISMATCHES)  # inputs of the odds
_PLACES = tuple(tuple(CATEGORIES.index(name) for name in template) for template in TEMPLATES)
_WANTS = CATEGORIES.index("wants")

Weight = Annotated[float, Field(allow_inf_nan=False)]


class Weights(Record):
    """A linear model over `features`.

    Attributes:
        mean, scale: of each of NUMBERS, for standardisation.
        numbers: weights of NUMBERS; "" holds those of all questions, other keys add weights for a class of answer.
        categories: weights by template and values, see `category_keys`.
        odds, bias: a logistic model over SIGNS for whether the chosen span is right.
    """

    mean: tuple[Weight, ...]
    scale: tuple[Weight, ...]
    numbers: Mapping[str, tuple[Weight, ...]]
    categories: Mapping[str, Weight]
    odds: tuple[Weight, ...]
    bias: Weight

    @model_validator(mode="after")
    def _complete(self) -> Self:
        lengths = {len(self.mean), len(self.scale), *map(len, self.numbers.values())}
        if lengths != {len(NUMBERS)} or len(self.odds) != len(SIGNS) or "" not in self.numbers:
            raise ValueError("the weights do not match the features: fit them again")
        return self

    def scores(self, table: Table) -> Numbers:
        """One score per candidate, comparable only between candidates of one question."""
        if not table.candidates:
            return np.zeros(0, dtype=np.float32)
        known = np.array(self.numbers[""], dtype=np.float32)
        special = self.numbers.get(table.categories[0][_WANTS])
        if special is not None:
            known = known + np.array(special, dtype=np.float32)
        sums = [
            sum(self.categories.get(key, 0.0) for key in category_keys(values)) for values in table.categories
        ]
        return np.asarray(
            scaled(table.numbers, self.mean, self.scale) @ known + np.array(sums), dtype=np.float32
        )

    def chance(self, signs: Sequence[float]) -> float:
        """The chance that the chosen span is right, 0 to 1, given the values of SIGNS."""
        odds = self.bias + sum(weight * value for weight, value in zip(self.odds, signs, strict=True))
        return 1 / (1 + math.exp(-max(min(odds, 50.0), -50.0)))


def scaled(numbers: Numbers, mean: Sequence[float], scale: Sequence[float]) -> Numbers:
    """Numbers in standard deviations from their mean, with outliers cut."""
    away = (numbers - np.array(mean, dtype=np.float32)) / np.array(scale, dtype=np.float32)
    return np.clip(away, -LARGEST, LARGEST).astype(np.float32)


def category_keys(values: Sequence[str]) -> Iterator[str]:
    """The keys of one candidate: template number and values."""
    for number, places in enumerate(_PLACES):
        yield f"{number} {' '.join([values[place] for place in places])}"


@lru_cache(maxsize=1)
def weights() -> Weights:
    """The shipped weights."""
    text = resources.files("qagen_dagster.models.embedded.answering").joinpath(FILE).read_text("utf-8")
    return Weights.model_validate(json.loads(text))


LOOKED_AT = 5  # sentences whose spans become candidates
LONGEST_LIST = 24  # sentences that are parsed: those most similar to the question
AGREEING = 20  # best candidates that are compared with each other
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SIGN_COLUMNS = tuple(NUMBERS.index(name) for name in ("s_share", "s_late", "s_cosine", "s_joint"))


@dataclass(frozen=True)
class Short:
    """An answer: characters `start` to `end` of the given sentence, and the `chance` that it is right."""

    text: str
    sentence: int
    start: int
    end: int
    chance: float
    wants: str


@dataclass(frozen=True)
class Measured:
    """Candidates of a question; `numbers[i]` is the caller's number of the table's sentence i.

    `parsed` holds all parsed sentences by the caller's number, in order; `vectors` a row per token of the question.
    """

    question: Question
    sentences: tuple[Sentence, ...]
    numbers: tuple[int, ...]
    table: Table
    vectors: Vectors
    parsed: Mapping[int, Sentence]

    def text(self, row: int) -> str:
        one = self.table.candidates[row]
        return self.sentences[one.sentence].spans.text(one.row)


def choose(question: str, sentences: Sequence[str], fitted: Weights | None = None) -> Short | None:
    """The best span; None without candidates. `fitted`: weights that replace the shipped ones."""
    model = fitted or weights()
    found = measured(question, sentences)
    if not found.table.candidates:
        return None
    row, agreed = agreeing(found, model.scores(found.table))
    one = found.table.candidates[row]
    spans = found.sentences[one.sentence].spans
    span = spans.doc[int(spans.start[one.row]) : int(spans.end[one.row])]
    return Short(
        span.text, found.numbers[one.sentence], span.start_char, span.end_char, model.chance(signs(found, row, agreed)),
        found.question.wants,
    )  # fmt: skip


def measured(question: str, sentences: Sequence[str]) -> Measured:
    """The candidates of the most similar sentences."""
    asked = read_question(question)
    vectors = word_vectors(asked.doc)
    if not sentences:
        nothing = Context((), (), (), (), ())
        table = measure(asked, vectors, wanted_of(asked, vectors, ()), nothing)
        return Measured(asked, (), (), table, vectors, {})
    encoded = encode([asked.doc.text, *sentences])
    cosines = encoded[1:] @ encoded[0]
    near: list[int] = sorted(np.argsort(-cosines, kind="stable")[:LONGEST_LIST].tolist())
    made = {number: ready(sentences[number]) for number in near}
    wanted = wanted_of(asked, vectors, list(made.values()))
    met = {number: match(one, wanted) for number, one in made.items()}
    fit = {
        number: 0.4 * met[number].share + 0.3 * cosines[number] + 0.3 * met[number].late for number in near
    }
    best = sorted(near, key=lambda number: -fit[number])[:LOOKED_AT]
    context = Context(
        [made[number] for number in best], [float(cosines[number]) for number in best],
        [made.get(number - 1) for number in best], [made.get(number + 1) for number in best],
        [number == 0 for number in best],
    )  # fmt: skip
    table = measure(asked, vectors, wanted, context)
    return Measured(asked, tuple(context.sentences), tuple(best), table, vectors, made)


def agreeing(found: Measured, scores: Numbers) -> tuple[int, float]:
    """The span with the largest expected word overlap with the right answer, and that expectation (F1, 0 to 1).

    Minimum Bayes risk decoding (Kumar & Byrne 2004) over the best candidates.
    """
    best = np.argsort(-scores, kind="stable")[:AGREEING].tolist()
    shares = np.exp(scores[best] - scores[best[0]])
    shares = shares / shares.sum()
    bags = [Counter(bare(found.text(row))) for row in best]
    expected = [
        sum(float(share) * overlap(bag, other) for share, other in zip(shares, bags, strict=True))
        for bag in bags
    ]
    top = max(range(len(best)), key=lambda place: expected[place])
    return best[top], expected[top]


def signs(found: Measured, row: int, agreed: float) -> tuple[float, ...]:
    """Inputs of the odds of a chosen row, in the order of `weights.SIGNS`."""
    one = found.table.candidates[row]
    spans = found.sentences[one.sentence].spans
    start, end = int(spans.start[one.row]), int(spans.end[one.row])
    place = list(found.parsed).index(found.numbers[one.sentence])
    amiss = mismatches(found.question, found.vectors, list(found.parsed.values()), place, start, end)
    return (agreed, *(float(found.table.numbers[row, column]) for column in _SIGN_COLUMNS), *amiss)


def bare(text: str) -> list[str]:
    """Words without case, punctuation and articles, as Rajpurkar et al. 2016 compare answers."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def overlap(left: Counter[str], right: Counter[str]) -> float:
    """F1 of two bags of words."""
    common = sum((left & right).values())
    return 2 * common / (left.total() + right.total()) if common else 0.0
