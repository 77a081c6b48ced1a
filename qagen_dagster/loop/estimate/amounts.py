"""Amounts of model calls: plain numbers (`Use`), ranges (`Range`, `Amounts`), and their price."""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from qagen_dagster.loop.call_totals import unique_calls
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import usd
from qagen_dagster.models.messages import Usage
from qagen_dagster.records.base import Record
from qagen_dagster.records.run import CallSummary

_FINE = 1000  # estimates have fractions of tokens, but usage has whole tokens, so prices are computed for this many times the amounts


class Use(NamedTuple):
    """Calls of a model and their amounts. In an estimate these can be fractions."""

    calls: float = 0.0
    input_tokens: float = 0.0
    cached_tokens: float = 0.0  # part of the input
    output_tokens: float = 0.0
    reasoning_tokens: float = 0.0  # part of the output
    seconds: float = 0.0  # time of the model, not wall-clock time
    cache_write_tokens: float = 0.0  # part of the input

    def plus(self, other: "Use") -> "Use":
        return Use(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> "Use":
        return Use(*(value * factor for value in self))

    def without(self, other: "Use") -> "Use":
        """The amounts that are left after `other` is subtracted, but at least 0."""
        return Use(*(max(0.0, a - b) for a, b in zip(self, other, strict=True)))


METRICS = Use._fields


def total(uses: Iterable[Use]) -> Use:
    """The sum of all amounts."""
    return reduce(Use.plus, uses, Use())


def use_of(calls: Iterable[CallSummary]) -> dict[str, Use]:
    """The amounts of calls by role. A repeated request counts once."""
    found: dict[str, Use] = {}
    for call in unique_calls(calls):
        one = Use(1.0, *(float(getattr(call, name)) for name in METRICS[1:]))
        found[call.role] = found.get(call.role, Use()).plus(one)
    return found


class Range(Record):
    """A range from the lowest to the highest likely value."""

    low: float
    expected: float
    high: float

    def plus(self, other: "Range") -> "Range":
        """The sum of two ranges. It assumes that both values are low or high together, so it is never too narrow."""
        return Range(
            low=self.low + other.low, expected=self.expected + other.expected, high=self.high + other.high
        )

    def times(self, factor: float) -> "Range":
        return Range(low=self.low * factor, expected=self.expected * factor, high=self.high * factor)


NOTHING = Range(low=0.0, expected=0.0, high=0.0)


class Amounts(Record):
    """Expected amounts."""

    calls: Range = NOTHING
    input_tokens: Range = NOTHING
    cached_tokens: Range = NOTHING  # part of the input
    cache_write_tokens: Range = NOTHING  # part of the input
    output_tokens: Range = NOTHING
    reasoning_tokens: Range = NOTHING  # part of the output
    usd: Range | None = NOTHING  # None if a price that is needed is unknown
    seconds: Range = NOTHING  # for a role, the time of its model; for other amounts, wall-clock time

    def plus(self, other: "Amounts") -> "Amounts":
        together = {name: getattr(self, name).plus(getattr(other, name)) for name in METRICS}
        money = None if self.usd is None or other.usd is None else self.usd.plus(other.usd)
        return Amounts(**together, usd=money)


def price(spec: ModelSpec, use: Use, by_batch: float) -> float | None:
    """US dollars for `use`, of which the share `by_batch` gets the discount of batches; None if a needed price is unknown."""
    if not use.calls:
        return 0.0
    tokens = {name: round(getattr(use, name) * _FINE) for name in METRICS if name in Usage.model_fields}
    found = usd(spec, Usage(**tokens))
    return None if found is None else found / _FINE * (1 - by_batch * spec.batch_discount)
