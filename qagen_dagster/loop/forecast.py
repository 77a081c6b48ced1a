"""From what finished documents took to what others will take, as a range. Pure arithmetic: no store, no prices, no models.

The amount a document takes grows with its size and with the target, and no formula says how: short documents
run out of questions, long ones reach the target. So past amounts are first brought to the wanted target,
then a monotone regression on size is fitted to them (weighted pool adjacent violators: Barlow,
Bartholomew, Bremner and Brunk, Statistical Inference under Order Restrictions, 1972).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.records.base import Record

Vector = NDArray[np.float64]
COVERAGE = 1.64  # standard deviations to either side: nine of ten outcomes, were they normally distributed
_USUAL_SCATTER = 0.5  # relative, of one document around the fit, before any was seen to scatter
_USUAL_WEIGHT = 2.0  # in documents
_STRETCH = 0.25  # relative doubt for each e-fold of size beyond the largest example


class Use(NamedTuple):
    """Calls of a model and what they took; fractions in a forecast."""

    calls: float = 0.0
    input_tokens: float = 0.0
    cached_tokens: float = 0.0  # of the input
    output_tokens: float = 0.0
    reasoning_tokens: float = 0.0  # of the output
    seconds: float = 0.0  # of the model, not of the clock

    def plus(self, other: Use) -> Use:
        return Use(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Use:
        return Use(*(value * factor for value in self))


METRICS = Use._fields
# How an amount grows with size beyond the largest example: the target bounds the calls, but tools return more.
_GROWTH = dict.fromkeys(METRICS, 0.1) | {"input_tokens": 0.3, "cached_tokens": 0.3}
_MOST_GROWTH = 32.0  # times the largest example; what tools return is bounded


class Range(Record):
    """From the least to the most that is likely."""

    low: float
    expected: float
    high: float

    def plus(self, other: Range) -> Range:
        """Of both together: as if they went well or badly together, which is never too narrow."""
        return Range(
            low=self.low + other.low, expected=self.expected + other.expected, high=self.high + other.high
        )

    def times(self, factor: float) -> Range:
        return Range(low=self.low * factor, expected=self.expected * factor, high=self.high * factor)


NOTHING = Range(low=0.0, expected=0.0, high=0.0)


@dataclass(frozen=True)
class Example:
    """A finished document.

    `size` is as `Need.size`; `ran_dry`: it ended before the target, so a higher one would not have taken more.
    `weight` is how much it says about what is asked, `doubt` by how much (relative) its like may differ as a whole.
    """

    size: float
    target: int
    accepted: int
    ran_dry: bool
    uses: Mapping[str, Use]  # by role
    weight: float = 1.0
    doubt: float = 0.1

    def scaled_to(self, target: int) -> float:
        """The factor from what it took to what it would take with another target."""
        if not self.ran_dry:
            return target / self.target
        return min(1.0, target / max(1, self.accepted))


@dataclass(frozen=True)
class Need:
    """A document that has no result yet; `paid` is what its unfinished work has taken already."""

    size: float
    paid: Mapping[str, Use] = field(default_factory=dict[str, Use])


def isotonic(sizes: Vector, amounts: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """The monotone function of size that is nearest to the amounts in weighted squares: its sizes, ascending, and values."""
    means: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    distinct, group = np.unique(sizes, return_inverse=True)
    mass = np.bincount(group, weights=weights)
    mean = np.bincount(group, weights=weights * amounts) / mass
    for value, weight in zip(mean.tolist(), mass.tolist(), strict=True):
        means.append(value)
        masses.append(weight)
        counts.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            total = masses[-2] + masses[-1]
            means[-2:] = [(means[-2] * masses[-2] + means[-1] * masses[-1]) / total]
            masses[-2:] = [total]
            counts[-2:] = [sum(counts[-2:])]
    return distinct, np.repeat(means, counts)


def forecast(examples: Sequence[Example], needs: Sequence[Need], role: str, target: int) -> dict[str, Range]:
    """What `role` will take on all of `needs`, by the name of the amount. Needs at least one example."""
    found: dict[str, Range] = {}
    for number, name in enumerate(METRICS):

        def amount(example: Example, at: int = number) -> float:
            return example.uses.get(role, Use())[at]

        paid = [need.paid.get(role, Use())[number] for need in needs]
        found[name] = _total(examples, needs, amount, target, paid, _GROWTH[name])
    return found


def accepted(examples: Sequence[Example], needs: Sequence[Need], target: int) -> Range:
    """How many questions all of `needs` will give; never more than the target each."""
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
    sizes = np.array([example.size for example in examples], dtype=np.float64)
    weights = np.array([example.weight for example in examples], dtype=np.float64)
    amounts = np.array([amount(one) * one.scaled_to(target) for one in examples], dtype=np.float64)
    steps, values = isotonic(sizes, amounts, weights)
    wanted = np.array([need.size for need in needs], dtype=np.float64)
    beyond = np.clip(wanted / max(1.0, float(steps[-1])), 1.0, _MOST_GROWTH)
    each = np.interp(wanted, steps, values) * beyond**growth
    each = np.maximum(0.0, each - np.array(paid, dtype=np.float64))
    residuals = amounts - np.interp(sizes, steps, values)
    scatter = _scatter(residuals, weights, float(np.average(amounts, weights=weights)))
    doubt = float(np.average([example.doubt for example in examples], weights=weights))
    total = float(each.sum())
    worth = float(weights.sum() ** 2 / (weights**2).sum())  # in examples of equal weight
    variance = (doubt * total) ** 2 + scatter**2 * (float((each**2).sum()) + total**2 / worth)
    few = 1 + 1 / worth  # about what Student's distribution asks of a scatter known from few
    stretch = _STRETCH * float((np.log(beyond) * each).sum())
    return around(total, few * math.sqrt(variance) + stretch)


def around(expected: float, deviation: float) -> Range:
    """A range about `expected`, as far off by a factor above as below."""
    if expected <= 0:
        return NOTHING
    factor = 1.0 + COVERAGE * deviation / expected
    return Range(low=expected / factor, expected=expected, high=expected * factor)


def _scatter(residuals: Vector, weights: Vector, mean: float) -> float:
    """Relative standard deviation of single documents; few of them say little against what is usual."""
    if mean <= 0:
        return _USUAL_SCATTER
    seen = float((weights * (residuals / mean) ** 2).sum())
    return math.sqrt((_USUAL_WEIGHT * _USUAL_SCATTER**2 + seen) / (_USUAL_WEIGHT + float(weights.sum())))
