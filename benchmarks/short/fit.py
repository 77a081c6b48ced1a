"""Fits the weights: a softmax over each question's candidates, moved by AdaGrad towards spans that overlap with the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.short.sets import Example
from qagen_dagster.models.embedded.answering.choose import (
    SIGNS,
    Measured,
    Weights,
    agreeing,
    bare,
    category_keys,
    measured,
    overlap,
    scaled,
    signs,
)
from qagen_dagster.models.embedded.answering.features import CATEGORIES, NUMBERS
from qagen_dagster.models.embedded.answering.retrieval import units
from qagen_dagster.models.embedded.answering.spans import Numbers
from qagen_dagster.models.embedded.conversation import Line

EPOCHS, RATE, RATE_NUMBERS = 5, 0.08, 0.03
DECAY_CATEGORIES, DECAY_SPECIAL, DECAY_NUMBERS = 1e-2, 1e-2, 1e-3
DECAY_ODDS = 10.0
LEAST_QUESTIONS = 3  # that must have a category before it gets a weight
ELSEWHERE = 0.5  # what the right words at another place are worth
SMALLEST = 0.004  # weights of categories nearer to zero are left out
_WANTS = CATEGORIES.index("wants")


@dataclass(frozen=True)
class Item:
    """A question with its candidates and what each is worth: `f1` as an answer, `worth` with its place taken into account."""

    example: Example
    found: Measured
    f1: Numbers
    worth: Numbers


def item(example: Example) -> Item:
    """Measure a question's candidates."""
    sentences = pieces(example.text)
    found = measured(example.question, sentences)
    right = Counter(bare(example.answer))
    f1 = [overlap(Counter(bare(found.span(row).text)), right) for row in range(len(found.table.candidates))]
    places = _places(example.text, sentences)
    here = [_touches(example, found, row, places) for row in range(len(f1))]
    worth = [value if near else ELSEWHERE * value for value, near in zip(f1, here, strict=True)]
    return Item(example, found, np.array(f1, dtype=np.float32), np.array(worth, dtype=np.float32))


def pieces(text: str) -> list[str]:
    """Sentences as the reader sees them."""
    lines = {number: Line(number, line) for number, line in enumerate(text.split("\n"), 1)}
    return [unit.text for unit in units(lines, {}) if not (unit.cells or unit.label)]


def _places(text: str, sentences: Sequence[str]) -> list[int]:
    at, found = 0, list[int]()
    for sentence in sentences:
        place = text.find(sentence, at)
        found.append(place)
        at = max(at, place)
    return found


def _touches(example: Example, found: Measured, row: int, places: Sequence[int]) -> bool:
    one = found.table.candidates[row]
    begins = places[found.numbers[one.sentence]]
    if begins < 0:
        return True  # cannot be told
    spans = found.sentences[one.sentence].spans
    span = spans.doc[int(spans.start[one.row]) : int(spans.end[one.row])]
    return (
        begins + span.start_char < example.start + len(example.answer)
        and begins + span.end_char > example.start
    )


class Fitting:
    """Items made ready once, to be fitted on any part of them."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = [one for one in items if one.found.table.candidates]
        every = np.concatenate([one.found.table.numbers for one in self.items])
        self.mean, self.scale = every.mean(axis=0), every.std(axis=0) + 1e-6
        self.numbers = [scaled(one.found.table.numbers, self.mean, self.scale) for one in self.items]
        self.names: dict[str, int] = {}
        self.keys = [self._indices(one) for one in self.items]
        self.wants = [one.found.table.categories[0][_WANTS] for one in self.items]

    def _indices(self, one: Item) -> NDArray[np.int64]:
        rows = [
            [self.names.setdefault(key, len(self.names)) for key in category_keys(values)]
            for values in one.found.table.categories
        ]
        return np.array(rows, dtype=np.int64)

    def weights(self, chosen: Sequence[int], seed: int = 0) -> Weights:
        """Fitted on the items with these numbers; the odds are left at zero. The last epochs are averaged."""
        rng = np.random.default_rng(seed)
        state = _State(self, chosen)
        for epoch in range(EPOCHS):
            for at in rng.permutation(len(chosen)):
                state.step(chosen[int(at)])
            if epoch:
                state.remember()
        return state.result()


class _State:
    """Weights on their way, with AdaGrad's sums of squares (Duchi, Hazan & Singer 2011)."""

    def __init__(self, fitting: Fitting, chosen: Sequence[int]) -> None:
        self.fitting = fitting
        size, width = len(fitting.names), len(NUMBERS)
        counts = np.zeros(size)
        for at in chosen:
            counts[np.unique(fitting.keys[at])] += 1
        self.keep = counts >= LEAST_QUESTIONS
        self.categories, self.category_squares = np.zeros(size), np.full(size, 1e-2)
        classes = ["", *sorted({fitting.wants[at] for at in chosen})]
        self.numbers = {name: np.zeros(width) for name in classes}
        self.number_squares = {name: np.full(width, 1e-1) for name in classes}
        self.sums: list[tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]] = []

    def step(self, at: int) -> None:
        """Move towards the right spans of one question."""
        worth = self.fitting.items[at].worth
        if len(worth) < 2 or worth.max() < 0.3:
            return
        keys, numbers, wants = self.fitting.keys[at], self.fitting.numbers[at], self.fitting.wants[at]
        scores = (self.categories * self.keep)[keys].sum(axis=1) + numbers @ (
            self.numbers[""] + self.numbers[wants]
        )
        slope = _slope(scores, worth)
        size = len(self.categories)
        every = np.bincount(keys.ravel(), np.repeat(slope, keys.shape[1]), minlength=size) * self.keep
        used = np.unique(keys)
        move = every[used] + DECAY_CATEGORIES * self.categories[used]
        self.category_squares[used] += move * move
        self.categories[used] -= RATE * move / np.sqrt(self.category_squares[used])
        for name, decay in ((wants, DECAY_SPECIAL), ("", DECAY_NUMBERS)):
            turn = numbers.T @ slope + decay * self.numbers[name]
            self.number_squares[name] += turn * turn
            self.numbers[name] -= RATE_NUMBERS * turn / np.sqrt(self.number_squares[name])

    def remember(self) -> None:
        self.sums.append(
            (self.categories.copy(), {name: values.copy() for name, values in self.numbers.items()})
        )

    def result(self) -> Weights:
        count = len(self.sums)
        categories = sum((one for one, _ in self.sums), np.zeros(len(self.categories))) / count * self.keep
        numbers = {
            name: _rounded(sum((one[name] for _, one in self.sums), np.zeros(len(NUMBERS))) / count)
            for name in self.numbers
        }
        named = {
            key: round(float(categories[at]), 3)
            for key, at in self.fitting.names.items()
            if abs(categories[at]) > SMALLEST
        }
        return Weights(
            mean=_rounded(self.fitting.mean), scale=_rounded(self.fitting.scale, 6), numbers=numbers, categories=named,
            odds=(0.0,) * len(SIGNS), bias=0.0,
        )  # fmt: skip


def _slope(scores: NDArray[np.float64], worth: Numbers) -> NDArray[np.float64]:
    """Gradient of half the cross-entropy to the best spans and of the expected F1, three times."""
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    goal = (worth >= worth.max() * 0.999) + (worth > 0.6) * worth**4 * 0.3
    goal = goal / goal.sum()
    expected = float((shares * worth).sum())
    return 0.5 * (shares - goal) - 3 * shares * (worth - expected)


def _rounded(values: NDArray[np.generic], digits: int = 4) -> tuple[float, ...]:
    return tuple(round(float(value), digits) for value in values.astype(np.float64))


def answer(fitted: Weights, one: Item) -> tuple[float, tuple[float, ...]]:
    """F1 of the chosen span, and its signs."""
    if not one.found.table.candidates:
        return 0.0, (0.0,) * len(SIGNS)
    row, agreed = agreeing(one.found, fitted.scores(one.found.table))
    return float(one.f1[row]), signs(one.found, row, agreed)


def fit_odds(
    values: Sequence[tuple[float, ...]], right: Sequence[bool], weights: Sequence[float]
) -> tuple[tuple[float, ...], float]:
    """Logistic regression by Newton's method on standardised values, with decay."""
    raw = np.array(values, dtype=np.float64)
    mean, scale = raw.mean(axis=0), raw.std(axis=0) + 1e-9
    x = np.concatenate([(raw - mean) / scale, np.ones((len(values), 1))], axis=1)
    y, weight = np.array(right, dtype=np.float64), np.array(weights, dtype=np.float64)
    decay = np.array([DECAY_ODDS] * len(mean) + [1e-3])
    w = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        slope = x.T @ (weight * (chance - y)) + decay * w
        w -= np.linalg.solve((x * (weight * chance * (1 - chance))[:, None]).T @ x + np.diag(decay), slope)
    odds = w[:-1] / scale
    return _rounded(odds), round(float(w[-1] - (odds * mean).sum()), 4)


def folds(fitting: Fitting) -> Iterator[tuple[int, list[int], list[int]]]:
    """Of each fold: its number, what is fitted on, what is measured on."""
    of = [one.example.fold for one in fitting.items]
    for fold in sorted({number for number in of if number is not None}):
        yield (
            fold,
            [at for at, other in enumerate(of) if other != fold],
            [at for at, other in enumerate(of) if other == fold],
        )
