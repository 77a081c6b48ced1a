"""The choice of the best short answer: spans are ranked and scored, and the one that agrees most with others wins."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qagen_dagster.models.embedded.answering.candidates import Numbers
from qagen_dagster.models.embedded.answering.features import NUMBERS, Context, Table, measure
from qagen_dagster.models.embedded.answering.match import match, wanted_of
from qagen_dagster.models.embedded.answering.mismatch import mismatches
from qagen_dagster.models.embedded.answering.question import Question, read_question
from qagen_dagster.models.embedded.answering.retrieval import encode
from qagen_dagster.models.embedded.answering.sentence import Sentence, ready, word_vectors
from qagen_dagster.models.embedded.answering.weights import Weights, weights
from qagen_dagster.models.vectors import Vectors

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
