"""Forecasts the amounts of new documents as ranges, from the amounts of finished documents. Pure arithmetic.

The amount of a document grows with its size and with the target, but by no known formula: short documents run out of questions,
long ones reach the target. So past amounts are first scaled to the wanted target. Then a monotone regression on size is fitted to
them (weighted pool adjacent violators: Barlow, Bartholomew, Bremner and Brunk, Statistical Inference under Order Restrictions, 1972).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from qagen_dagster.records.base import Record

COVERAGE = 1.64  # standard deviations to either side: 90% of a normal distribution
_USUAL_SCATTER = 0.5  # relative, of one document around the fit, before any was observed
_USUAL_WEIGHT = 2.0  # in documents
_STRETCH = 0.25  # relative uncertainty for each e-fold of size beyond the largest example


class Use(NamedTuple):
    """Calls of a model and their amounts, which are fractions in a forecast."""

    calls: float = 0.0
    input_tokens: float = 0.0
    cached_tokens: float = 0.0  # part of the input
    output_tokens: float = 0.0
    reasoning_tokens: float = 0.0  # part of the output
    seconds: float = 0.0  # time of the model, not wall-clock time
    cache_write_tokens: float = 0.0  # part of the input

    def plus(self, other: Use) -> Use:
        return Use(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Use:
        return Use(*(value * factor for value in self))


METRICS = Use._fields
# How an amount grows with size beyond the largest example: the target limits the calls, but tools return more.
_GROWTH = dict.fromkeys(METRICS, 0.1) | dict.fromkeys(
    ("input_tokens", "cached_tokens", "cache_write_tokens"), 0.3
)
_MOST_GROWTH = 32.0  # times the largest example; the results of tools are bounded


class Range(Record):
    """From the lowest to the highest likely value."""

    low: float
    expected: float
    high: float

    def plus(self, other: Range) -> Range:
        """The sum of both. It assumes that both are low or high together, so it is never too narrow."""
        return Range(
            low=self.low + other.low, expected=self.expected + other.expected, high=self.high + other.high
        )

    def times(self, factor: float) -> Range:
        return Range(low=self.low * factor, expected=self.expected * factor, high=self.high * factor)


NOTHING = Range(low=0.0, expected=0.0, high=0.0)


@dataclass(frozen=True)
class Example:
    """A finished document.

    `size` is as in `Need.size`. `ran_dry`: it ended before the target, so a higher target would not have changed it.
    `weight` is its relevance, `doubt` the relative uncertainty that comes from a different kind of run.
    """

    size: float
    target: int
    accepted: int
    ran_dry: bool
    uses: Mapping[str, Use]  # by role
    weight: float = 1.0
    doubt: float = 0.1

    def scaled_to(self, target: int) -> float:
        """The factor from its amounts to those with another target."""
        if not self.ran_dry:
            return target / self.target
        return min(1.0, target / max(1, self.accepted))


@dataclass(frozen=True)
class Need:
    """A document that has no result yet. `paid` is what its unfinished work has used already."""

    size: float
    paid: Mapping[str, Use] = field(default_factory=dict[str, Use])


class Monotone:
    """A piecewise linear function through `values` at `sizes`, constant beyond them."""

    def __init__(self, sizes: Sequence[float], values: Sequence[float]) -> None:
        self.sizes, self.values = sizes, values

    def at(self, size: float) -> float:
        place = bisect_left(self.sizes, size)
        if place == 0:
            return self.values[0]
        if place == len(self.sizes):
            return self.values[-1]
        left, right = self.sizes[place - 1], self.sizes[place]
        share = (size - left) / (right - left)
        return self.values[place - 1] + share * (self.values[place] - self.values[place - 1])


def isotonic(points: Iterable[tuple[float, float, float]]) -> Monotone:
    """The monotone function with the least weighted squared distance to points of size, amount and weight."""
    sizes: list[float] = []
    blocks: list[tuple[float, float, int]] = []  # mean, weight, sizes
    for size, group in groupby(sorted(points), key=lambda point: point[0]):
        alike = list(group)
        weight = sum(point[2] for point in alike)
        sizes.append(size)
        blocks.append((sum(point[1] * point[2] for point in alike) / weight, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, mass, count), (other, more, also) = blocks[-2:]
            blocks[-2:] = [((one * mass + other * more) / (mass + more), mass + more, count + also)]
    return Monotone(sizes, [mean for mean, _, count in blocks for _ in range(count)])


def forecast(examples: Sequence[Example], needs: Sequence[Need], role: str, target: int) -> dict[str, Range]:
    """The amounts that `role` will use for all of `needs`, by name. Needs at least one example."""
    found: dict[str, Range] = {}
    for number, name in enumerate(METRICS):

        def amount(example: Example, at: int = number) -> float:
            return example.uses.get(role, Use())[at]

        paid = [need.paid.get(role, Use())[number] for need in needs]
        found[name] = _total(examples, needs, amount, target, paid, _GROWTH[name])
    return found


def accepted(examples: Sequence[Example], needs: Sequence[Need], target: int) -> Range:
    """The number of accepted questions of all `needs`, at most the target for each."""
    most = float(target * len(needs))
    found = _total(
        examples, needs, lambda example: float(example.accepted), target, [0.0] * len(needs), _GROWTH["calls"]
    )
    return Range(low=min(most, found.low), expected=min(most, found.expected), high=min(most, found.high))


def _total(
    examples: Sequence[Example],
    needs: Sequence[Need],
    amount: Callable[[Example], float],
    target: int,
    paid: Sequence[float],
    growth: float,
) -> Range:
    if not needs:
        return NOTHING
    past = [(one.size, amount(one) * one.scaled_to(target), one.weight) for one in examples]
    fit = isotonic(past)
    largest = max(1.0, fit.sizes[-1])
    beyond = [min(_MOST_GROWTH, max(1.0, need.size / largest)) for need in needs]
    each = [
        max(0.0, fit.at(need.size) * far**growth - spent)
        for need, far, spent in zip(needs, beyond, paid, strict=True)
    ]
    weight = sum(one.weight for one in examples)
    worth = weight**2 / sum(one.weight**2 for one in examples)  # in examples of equal weight
    doubt = sum(one.doubt * one.weight for one in examples) / weight
    total, scatter = sum(each), _scatter(fit, past)
    variance = (doubt * total) ** 2 + scatter**2 * (sum(value**2 for value in each) + total**2 / worth)
    few = 1 + 1 / worth  # roughly as in Student's distribution
    stretch = _STRETCH * sum(math.log(far) * value for far, value in zip(beyond, each, strict=True))
    return around(total, few * math.sqrt(variance) + stretch)


def around(expected: float, deviation: float) -> Range:
    """A range around `expected`, by the same factor below and above."""
    if expected <= 0:
        return NOTHING
    factor = 1.0 + COVERAGE * deviation / expected
    return Range(low=expected / factor, expected=expected, high=expected * factor)


def _scatter(fit: Monotone, past: Sequence[tuple[float, float, float]]) -> float:
    """The relative standard deviation of single documents. A few examples are mixed with the usual value."""
    weight = sum(point[2] for point in past)
    mean = sum(point[1] * point[2] for point in past) / weight
    if mean <= 0:
        return _USUAL_SCATTER
    seen = sum(mass * ((amount - fit.at(size)) / mean) ** 2 for size, amount, mass in past)
    return math.sqrt((_USUAL_WEIGHT * _USUAL_SCATTER**2 + seen) / (_USUAL_WEIGHT + weight))
