"""Counts and sums model calls. A request that several results share counts once."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from qagen_dagster.models.budget import Spent
from qagen_dagster.records.run import CallSummary, Usage

T = TypeVar("T")


def unique_calls(calls: Iterable[CallSummary]) -> list[Usage]:
    """The usage of the calls. Calls with the same request count once; calls that were never sent count each."""
    return _unique(calls, Usage.of)


def unique_prices(calls: Iterable[CallSummary]) -> list[float | None]:
    """The prices of the calls, which are counted as in `unique_calls`."""
    return _unique(calls, lambda call: call.usd)


def _unique(calls: Iterable[CallSummary], value: Callable[[CallSummary], T]) -> list[T]:
    return list({call.request_key or str(number): value(call) for number, call in enumerate(calls)}.values())


def total_spent(calls: Iterable[CallSummary]) -> Spent:
    """The total spending on calls. An unknown price counts as 0, and tokens that no server counted as what was reserved."""
    made = list(calls)
    return Spent(
        usd=sum(call.charged_usd or call.usd or 0.0 for call in made),
        tokens=sum(call.charged_tokens or call.input_tokens + call.output_tokens for call in made),
        calls=len(made),
    )
