"""How well two sets of questions agree about systems, with intervals by document.

A set is a matrix of values, questions by systems, and the document of each question. A bootstrap draws documents, the same for
both sets, because a document that is easy to search is so for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
DRAWS, SEED = 1000, 39


@dataclass(frozen=True)
class Asked:
    """The values of a set, questions by systems, and the number of the document of each question."""

    values: Values
    documents: NDArray[np.int64]

    def sums(self, count: int) -> tuple[Values, Values]:
        """For each of `count` documents the sums by system, and the number of questions."""
        made = np.zeros((count, self.values.shape[1]))
        np.add.at(made, self.documents, self.values)
        return made, np.bincount(self.documents, minlength=count).astype(np.float64)

    def part(self, rows: NDArray[np.int64]) -> Asked:
        return Asked(self.values[rows], self.documents[rows])

    @property
    def means(self) -> Values:
        return self.values.mean(0)


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes 0, else 0."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


def drawn_means(sets: Sequence[Asked], count: int, draws: int = DRAWS) -> list[Values]:
    """The means by system of `draws` bootstrap samples of the `count` documents: draws by systems, for each set."""
    random = np.random.default_rng(SEED)
    weights = random.multinomial(count, np.full(count, 1 / count), size=draws).astype(np.float64)
    made: list[Values] = []
    for one in sets:
        sums, sizes = one.sums(count)
        made.append(weights @ sums / np.maximum(weights @ sizes, 1)[:, None])
    return made


def tau_b(first: Values, second: Values) -> Values:
    """Kendall's tau-b of the rows of two matrices of the same shape."""
    ours, theirs = (np.sign(one[:, :, None] - one[:, None, :]) for one in (first, second))
    scale = np.sqrt((ours**2).sum((1, 2)) * (theirs**2).sum((1, 2)))
    return (ours * theirs).sum((1, 2)) / np.maximum(scale, 1)


def pearson(first: Values, second: Values) -> Values:
    """Pearson's correlation of the rows."""
    ours, theirs = (one - one.mean(1, keepdims=True) for one in (first, second))
    return (ours * theirs).sum(1) / np.sqrt((ours**2).sum(1) * (theirs**2).sum(1))


def spearman(first: Values, second: Values) -> Values:
    """Spearman's correlation of the rows; equal values share their mean rank."""
    return pearson(*((np.sign(one[:, :, None] - one[:, None, :])).sum(2) for one in (first, second)))


def inflation(human: Values, made: Values) -> Values:
    """By how much the mean of all systems is higher on the made set."""
    return (made - human).mean(1)


def same_best(human: Values, made: Values) -> Values:
    """1 where both sets have the same best system."""
    return (human.argmax(1) == made.argmax(1)).astype(np.float64)


MEASURES = {"Kendall tau-b": tau_b, "Spearman": spearman, "Pearson": pearson, "inflation": inflation}


def figure(value: float, drawn: Values) -> Figure:
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Figure(float(value), float(low), float(high))


def agreement(human: Asked, made: Asked, count: int) -> dict[str, Figure]:
    """Each of MEASURES, and the share of draws in which both sets have the same best system."""
    point = human.means[None], made.means[None]
    drawn = drawn_means((human, made), count)
    found = {name: figure(of(*point)[0], of(drawn[0], drawn[1])) for name, of in MEASURES.items()}
    share = float(same_best(drawn[0], drawn[1]).mean())
    return found | {"same best (point, share of draws)": Figure(float(same_best(*point)[0]), share, share)}


def ceiling(human: Asked, size: int, draws: int = 300) -> dict[str, Figure]:
    """The measures of `size` questions of the human set against its other questions: what no set of this size can exceed by much.

    At most half of the questions are drawn.
    """
    random = np.random.default_rng(SEED)
    size = min(size, len(human.values) // 2)
    parts = [random.permutation(len(human.values)) for _ in range(draws)]
    few = np.stack([human.part(one[:size]).means for one in parts])
    rest = np.stack([human.part(one[size:]).means for one in parts])
    found = {name: of(rest, few) for name, of in MEASURES.items()}
    return {name: figure(float(values.mean()), values) for name, values in found.items()}


@dataclass(frozen=True)
class Contrast:
    """By how much system `first` is better than `second` on the human set and on the made one."""

    first: str
    second: str
    human: Figure
    made: Figure

    @property
    def verdict(self) -> str:
        if self.human.sign == 0:
            return "people: open"
        same = np.sign(self.made.value) == self.human.sign
        return ("same sign" if same else "WRONG SIGN") + ("" if self.made.sign else ", open")


def contrasts(
    human: Asked, made: Asked, count: int, names: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> list[Contrast]:
    """The differences of the `pairs` of systems."""
    drawn = drawn_means((human, made), count)
    found: list[Contrast] = []
    for first, second in pairs:
        left, right = names.index(first), names.index(second)
        figures = [
            figure(float(one.means[left] - one.means[right]), means[:, left] - means[:, right])
            for one, means in zip((human, made), drawn, strict=True)
        ]
        found.append(Contrast(first, second, figures[0], figures[1]))
    return found
