"""The choice of the best short answer. Fitted weights score the spans, the span that agrees most with the other good spans
wins, and a second model gives the chance that it is right.

Words of the question that are missing near the answer are evidence against it. A question without an answer often repeats
most words of a sentence and changes one: a name, a number, a quality, a verb, a denial (Rajpurkar, Jia & Liang 2018). So each
word of the question is searched for in the sentence of the answer and in the whole text. `benchmarks/short` fits the weights of
`weights.json`.
"""

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
from spacy.tokens import Span, Token

from qagen_dagster.english.amounts import unit_of
from qagen_dagster.english.polarity import opposites_of
from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.answering import features
from qagen_dagster.models.embedded.answering.question import Question, keys, read_question
from qagen_dagster.models.embedded.answering.retrieval import encode
from qagen_dagster.models.embedded.answering.spans import LABELS, Numbers, Sentence, ready, word_vectors
from qagen_dagster.models.embedders import Vectors
from qagen_dagster.records.base import Record

_KINDS = ("name", "number", "noun", "verb", "quality")
_SOFT = ("verb", "noun", "quality")
MISMATCHES = (
    *(f"elsewhere_{kind}" for kind in _KINDS),  # words that are not in the sentence, but in another one
    *(f"absent_{kind}" for kind in _KINDS),  # words that are nowhere in the text
    *(f"least_{kind}" for kind in _SOFT), "least", "mean",  # the least and the mean of the words' best cosines in the sentence
    "denial_added", "denial", "opposite", "better_sentence", "length",
)  # fmt: skip
_DENIAL = word_set("not no never none without n't neither nor nobody nothing hardly")
_MEASURES = ("CARDINAL", "DATE", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "TIME")


def mismatches(
    question: Question, vectors: Vectors, text: Sequence[Sentence], place: int, start: int, end: int
) -> tuple[float, ...]:
    """The values of MISMATCHES for tokens `start` to `end` of `text[place]`; `vectors` has a row per token of the question."""
    first, last = question.gap
    words = [question.doc[at] for at in question.content if not first <= at <= last]
    sentence = text[place]
    here = frozenset[str]().union(*sentence.words[:start], *sentence.words[end:])
    everywhere = frozenset[str]().union(*(other.said for other in text))
    asked = frozenset[str]().union(*(keys(word) for word in words))
    outside = [token.i for token in sentence.doc if not (start <= token.i < end or token.is_punct)]
    counts = Counter[str]()
    least: dict[str, float] = dict.fromkeys((*_SOFT, ""), 1.0)
    cosines: list[float] = []
    for word in words:
        word_keys, kind = frozenset(keys(word)), _kind(word)
        cosine = 1.0
        if not word_keys & here:
            opposites = opposites_of(word.lower_) | opposites_of(word.lemma_.lower())
            counts["opposite"] += bool(opposites & (sentence.said - asked))
            counts[f"{'elsewhere' if word_keys & everywhere else 'absent'}_{kind}"] += 1
            cosine = float((sentence.vectors[outside] @ vectors[word.i]).max()) if outside else 0.0
        cosines.append(cosine)
        for name in (kind, ""):
            least[name] = min(least.get(name, 1.0), cosine)
    denial = any(token.lower_ in _DENIAL for token in question.doc)
    counts["denial"] = denial
    counts["denial_added"] = denial and not any(token.lower_ in _DENIAL for token in sentence.doc)
    best = max(_covered(words, other) for other in text)
    return (
        *(float(counts[name]) for name in MISMATCHES[: 2 * len(_KINDS)]),
        *(least[name] for name in (*_SOFT, "")), float(np.mean(cosines)) if cosines else 1.0,
        *(float(counts[name]) for name in ("denial_added", "denial", "opposite")),
        best - _covered(words, sentence), float(np.log1p(len(words))),
    )  # fmt: skip


def _kind(word: Token) -> str:
    if word.like_num or (word.ent_type_ in _MEASURES and any(map(str.isdigit, word.text))):
        return "number"
    if word.pos_ == "PROPN" or (word.i > 0 and word.text[:1].isupper()):
        return "name"
    return {"VERB": "verb", "ADJ": "quality", "ADV": "quality"}.get(word.pos_, "noun")


def _covered(words: Sequence[Token], sentence: Sentence) -> float:
    """The share of the words that the sentence also has."""
    return sum(bool(sentence.said.intersection(keys(word))) for word in words) / max(1, len(words))


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
_PLACES = tuple(tuple(features.CATEGORIES.index(name) for name in template) for template in TEMPLATES)
_WANTS = features.CATEGORIES.index("wants")

Weight = Annotated[float, Field(allow_inf_nan=False)]


class Weights(Record):
    """A linear model over `features`.

    Attributes:
        mean, scale: mean and standard deviation of each of NUMBERS.
        numbers: weights of NUMBERS. The weights under "" apply to all questions. The weights under a class of answer are added to these.
        categories: weights by template and values, see `category_keys`.
        odds, bias: a logistic model over SIGNS. It gives the chance that the chosen span is right.
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
        if lengths != {len(features.NUMBERS)} or len(self.odds) != len(SIGNS) or "" not in self.numbers:
            raise ValueError("the weights do not match the features: fit them again")
        return self

    def scores(self, table: features.Table) -> Numbers:
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
    """Numbers in standard deviations from their mean, cut to the range from -LARGEST to LARGEST."""
    away = (numbers - np.array(mean, dtype=np.float32)) / np.array(scale, dtype=np.float32)
    return np.clip(away, -LARGEST, LARGEST).astype(np.float32)


def category_keys(values: Sequence[str]) -> Iterator[str]:
    """The keys of one candidate in `Weights.categories`, one for each template: its number and the values."""
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
ALIKE = 0.6  # cosine of two nouns in context that may count the same things
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SIGN_COLUMNS = tuple(features.NUMBERS.index(name) for name in ("s_share", "s_late", "s_cosine", "s_joint"))


@dataclass(frozen=True)
class Short:
    """An answer: characters `start` to `end` of the caller's sentence number `sentence`, and the `chance` that it is right."""

    text: str
    sentence: int
    start: int
    end: int
    chance: float
    wants: str


@dataclass(frozen=True)
class Measured:
    """The candidates of a question.

    Attributes:
        sentences: the sentences with candidates. `numbers[i]` is the place of `sentences[i]` in the list that the caller gave.
        parsed: all parsed sentences by their place in the caller's list, in order.
        vectors: one row per token of the question.
    """

    question: Question
    sentences: tuple[Sentence, ...]
    numbers: tuple[int, ...]
    table: features.Table
    vectors: Vectors
    parsed: Mapping[int, Sentence]

    def span(self, row: int) -> Span:
        one = self.table.candidates[row]
        spans = self.sentences[one.sentence].spans
        return spans.doc[int(spans.start[one.row]) : int(spans.end[one.row])]


def choose(question: str, sentences: Sequence[str], fitted: Weights | None = None) -> Short | None:
    """The best span; None without candidates. Its chance is 0 if it counts something else than asked. `fitted` replaces the weights."""
    model = fitted or weights()
    found = measured(question, sentences)
    if not found.table.candidates:
        return None
    scores = model.scores(found.table)
    row, agreed = agreeing(found, scores)
    miscounts = _counts_asked(found, row) is False
    if miscounts:
        counting = [other for other in range(len(scores)) if _counts_asked(found, other)]
        miscounts = not counting
        restricted = np.full_like(scores, -np.inf)
        restricted[counting] = scores[counting]
        row, agreed = (row, agreed) if miscounts else agreeing(found, restricted)
    span = found.span(row)
    chance = 0.0 if miscounts else model.chance(signs(found, row, agreed))
    place = found.numbers[found.table.candidates[row].sentence]
    return Short(span.text, place, span.start_char, span.end_char, chance, found.question.wants)


def _counts_asked(found: Measured, row: int) -> bool | None:
    """Whether the number in a span counts what a question with "how many" asks for; None if the question or the
    span counts nothing. A noun of close meaning counts as the same, such as "inhabitants" and "people"."""
    asked = found.question
    focus = next((token for token in asked.doc if token.lemma_.lower() == asked.focus), None)
    noun = _counted(found.span(row))
    if asked.kind != "how many" or focus is None or noun is None:
        return None
    if noun.lemma_ == "time" or (unit_of(noun.lower_) and unit_of(focus.lower_)):
        return True
    sentence = found.sentences[found.table.candidates[row].sentence]
    parts = (inner for child in noun.children if child.lower_ == "of" for inner in child.children)
    return any(
        not set(keys(focus)).isdisjoint(keys(one))
        or float(found.vectors[focus.i] @ sentence.vectors[one.i]) >= ALIKE
        for one in (noun, *parts)
    )


def _counted(span: Span) -> Token | None:
    """The noun whose number the span has: "dogs" for "two dogs" and for "two" of the same phrase."""
    token = next((one for one in span if one.like_num or one.pos_ == "NUM"), None)
    while token is not None and token.dep_ in ("nummod", "compound", "quantmod", "advmod", "amod"):
        token = token.head
        if token.pos_ in ("NOUN", "PROPN"):
            return token
    return None


def measured(question: str, sentences: Sequence[str]) -> Measured:
    """The candidates in the sentences that are most similar to the question."""
    asked = read_question(question)
    vectors = word_vectors(asked.doc)
    encoded = encode([asked.doc.text, *sentences])
    cosines = encoded[1:] @ encoded[0]
    near: list[int] = sorted(np.argsort(-cosines, kind="stable")[:LONGEST_LIST].tolist())
    prepared = {number: ready(sentences[number]) for number in near}
    wanted = features.wanted_of(asked, vectors, list(prepared.values()))
    met = {number: features.match(sentence, wanted) for number, sentence in prepared.items()}
    fit = {
        number: 0.4 * met[number].share + 0.3 * cosines[number] + 0.3 * met[number].late for number in near
    }
    best = sorted(near, key=lambda number: -fit[number])[:LOOKED_AT]
    context = features.Context(prepared, best, [float(cosines[number]) for number in best])
    table = features.measure(asked, vectors, wanted, context)
    return Measured(asked, tuple(context.sentences), tuple(best), table, vectors, prepared)


def agreeing(found: Measured, scores: Numbers) -> tuple[int, float]:
    """Returns (row, expected): the candidate with the largest expected word overlap with the right answer, and that overlap (F1, 0 to 1).
    Minimum Bayes risk decoding (Kumar & Byrne 2004) over the best candidates."""
    best = np.argsort(-scores, kind="stable")[:AGREEING].tolist()
    shares = np.exp(scores[best] - scores[best[0]])
    shares = shares / shares.sum()
    bags = [Counter(bare(found.span(row).text)) for row in best]
    expected = [
        sum(float(share) * overlap(bag, other) for share, other in zip(shares, bags, strict=True))
        for bag in bags
    ]
    top = max(range(len(best)), key=lambda place: expected[place])
    return best[top], expected[top]


def signs(found: Measured, row: int, agreed: float) -> tuple[float, ...]:
    """The values of SIGNS for the candidate `row`."""
    candidate = found.table.candidates[row]
    spans = found.sentences[candidate.sentence].spans
    start, end = int(spans.start[candidate.row]), int(spans.end[candidate.row])
    place = list(found.parsed).index(found.numbers[candidate.sentence])
    amiss = mismatches(found.question, found.vectors, list(found.parsed.values()), place, start, end)
    return (agreed, *(float(found.table.numbers[row, column]) for column in _SIGN_COLUMNS), *amiss)


def bare(text: str) -> list[str]:
    """Words without case, punctuation and articles, as Rajpurkar et al. 2016 compare answers."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def overlap(left: Counter[str], right: Counter[str]) -> float:
    """F1 of two bags of words."""
    common = sum((left & right).values())
    return 2 * common / (left.total() + right.total()) if common else 0.0
