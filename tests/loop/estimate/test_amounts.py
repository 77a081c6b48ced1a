"""Amounts of calls and their price."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.loop.estimate.amounts import Amounts, Range, Use, price, total, use_of
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.run import CallSummary


def spec(**fields: Any) -> ModelSpec:
    prices = {"usd_per_million_input": 10.0, "usd_per_million_output": 30.0}
    return ModelSpec(provider="openai", model="m", **{**prices, **fields})


def test_the_price_includes_the_cache() -> None:
    taken = Use(calls=5, input_tokens=1e6, cached_tokens=4e5, cache_write_tokens=2e5, output_tokens=1e5)
    found = price(spec(usd_per_million_cached=1.0, usd_per_million_cache_write=20.0), taken, 0.0)
    assert found == pytest.approx(4.0 + 0.4 + 4.0 + 3.0)


def test_the_share_that_goes_by_batch_costs_less() -> None:
    taken = Use(calls=5, input_tokens=1e6)
    full, half, everything = (price(spec(batch_discount=0.4), taken, share) for share in (0.0, 0.5, 1.0))
    assert full is not None
    assert half == pytest.approx(0.8 * full)
    assert everything == pytest.approx(0.6 * full)


def test_an_unknown_price_is_unknown_and_no_call_costs_nothing() -> None:
    assert price(spec(usd_per_million_output=None), Use(calls=1, output_tokens=5), 0.0) is None
    assert price(spec(usd_per_million_output=None), Use(), 0.0) == 0.0


def test_sums_and_differences() -> None:
    one = Range(low=1, expected=2, high=3)
    assert one.plus(one) == one.times(2)
    assert total([Use(1, 2), Use(1, 2)]) == Use(1, 2).times(2)
    assert Use(3, 1).without(Use(1, 2)) == Use(2, 0)


def test_a_sum_with_an_unknown_price_is_unknown() -> None:
    one = Amounts(calls=Range(low=1, expected=2, high=3), usd=None)
    both = one.plus(Amounts(calls=Range(low=1, expected=2, high=3)))
    assert (both.calls.expected, both.usd) == (4, None)


def test_a_repeated_request_counts_once() -> None:
    def call(key: str, role: str = "generator") -> CallSummary:
        return CallSummary(
            request_key=key, role=role, model="m", document_id="d", attempt=1, input_tokens=7, output_tokens=3
        )

    found = use_of([call("a"), call("a"), call("b"), call("c", "validator"), call(""), call("")])
    assert {role: (one.calls, one.input_tokens) for role, one in found.items()} == {
        "generator": (4, 28), "validator": (1, 7),
    }  # fmt: skip
