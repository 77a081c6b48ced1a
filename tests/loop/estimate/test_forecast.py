"""Ranges from examples: ordered, growing with size, number and target, and right where all documents are alike."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.estimate.forecast import (
    METRICS,
    NOTHING,
    Example,
    Need,
    Range,
    Use,
    accepted,
    around,
    forecast,
    isotonic,
)

ROLE = "generator"
amounts = st.floats(0, 1e6)
sizes = st.floats(0, 1e6)
uses = st.builds(Use, *[amounts] * len(METRICS))
targets = st.integers(1, 50)
examples = st.lists(
    st.builds(
        Example,
        size=sizes,
        target=targets,
        accepted=st.integers(0, 50),
        ran_dry=st.booleans(),
        uses=uses.map(lambda use: {ROLE: use}),
        weight=st.sampled_from([1.0, 0.25, 0.0625]),
        doubt=st.floats(0, 1),
    ),
    min_size=1,
    max_size=12,
)
needs = st.lists(st.builds(Need, size=sizes, paid=uses.map(lambda use: {ROLE: use})), max_size=8)


def close(value: float) -> float:
    """Room for rounding."""
    return value * (1 + 1e-9) + 1e-6


def example(size: float, calls: float, target: int = 5, accepted: int = 5, ran_dry: bool = False) -> Example:
    return Example(size, target, accepted, ran_dry, {ROLE: Use(calls=calls, input_tokens=1000 * calls)})


@given(examples, needs, targets)
def test_ranges_are_ordered_and_finite(past: list[Example], wanted: list[Need], target: int) -> None:
    found = [*forecast(past, wanted, ROLE, target).values(), accepted(past, wanted, target)]
    for one in found:
        assert 0 <= one.low <= close(one.expected)
        assert one.expected <= close(one.high)
        assert math.isfinite(one.high)


@given(examples, needs, targets, sizes, st.floats(0, 1e6))
def test_more_documents_larger_ones_and_higher_targets_never_take_less(
    past: list[Example], wanted: list[Need], target: int, size: float, more: float
) -> None:
    def expected(some: list[Need], aim: int) -> list[float]:
        return [one.expected for one in forecast(past, some, ROLE, aim).values()]

    small, large = [*wanted, Need(size)], [*wanted, Need(size + more)]
    for less, greater in (
        (expected(wanted, target), expected(small, target)),
        (expected(small, target), expected(large, target)),
        (expected(small, target), expected(small, target + 1)),
    ):
        assert all(a <= close(b) for a, b in zip(less, greater, strict=True))


@given(examples, needs, targets)
def test_what_was_paid_is_not_paid_again(past: list[Example], wanted: list[Need], target: int) -> None:
    anew = forecast(past, [replace(need, paid={}) for need in wanted], ROLE, target)
    left = forecast(past, wanted, ROLE, target)
    assert all(left[name].expected <= close(anew[name].expected) for name in METRICS)


@given(st.lists(st.tuples(sizes, amounts, st.floats(0.01, 10)), min_size=1, max_size=20))
def test_isotonic_is_monotone_and_keeps_the_mean(points: list[tuple[float, float, float]]) -> None:
    fit = isotonic(points)
    assert all(a < b for a, b in pairwise(fit.sizes))
    assert all(a <= close(b) for a, b in pairwise(fit.values))
    fitted = sum(fit.at(size) * weight for size, _, weight in points)
    assert fitted == pytest.approx(sum(value * weight for _, value, weight in points), rel=1e-6, abs=1e-6)


def test_monotone_amounts_are_kept_and_joined_by_lines() -> None:
    fit = isotonic([(3.0, 9.0, 1.0), (1.0, 1.0, 1.0), (2.0, 4.0, 1.0)])
    assert (fit.sizes, fit.values) == ([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])
    assert [fit.at(size) for size in (0, 1, 1.5, 3, 99)] == [1.0, 1.0, 2.5, 9.0, 9.0]


def test_amounts_that_fall_with_size_are_levelled() -> None:
    fit = isotonic([(1.0, 4.0, 3.0), (2.0, 0.0, 1.0), (3.0, 9.0, 1.0)])
    assert fit.values == [3.0, 3.0, 9.0]


def test_like_documents_take_alike() -> None:
    past = [example(1000, 20) for _ in range(10)]
    found = forecast(past, [Need(1000)] * 10, ROLE, 5)["calls"]
    assert found.expected == pytest.approx(200)
    assert 100 < found.low < 200 < found.high < 300


def test_the_range_narrows_with_examples_and_widens_with_doubt() -> None:
    def width(count: int, doubt: float) -> float:
        past = [replace(example(1000, 20), doubt=doubt)] * count
        found = forecast(past, [Need(1000)] * 20, ROLE, 5)["calls"]
        return found.high / found.low

    assert width(30, 0.1) < width(5, 0.1) < width(1, 0.1)
    assert width(30, 0.1) < width(30, 0.5)
    far = forecast([example(1000, 20)] * 30, [Need(1_000_000)] * 20, ROLE, 5)["calls"]
    assert far.high / far.low > width(30, 0.1)


def test_a_higher_target_takes_more_only_where_there_was_more_to_ask() -> None:
    rich, poor = example(9000, 50), example(500, 12, accepted=2, ran_dry=True)
    assert forecast([rich], [Need(9000)], ROLE, 10)["calls"].expected == pytest.approx(100)
    assert forecast([poor], [Need(500)], ROLE, 10)["calls"].expected == pytest.approx(12)
    assert forecast([poor], [Need(500)], ROLE, 1)["calls"].expected == pytest.approx(6)
    assert accepted([rich, poor], [Need(9000), Need(500)], 10).expected == pytest.approx(12)


def test_nothing_to_do_takes_nothing_and_roles_that_never_spoke_neither() -> None:
    assert set(forecast([example(1, 1)], [], ROLE, 5).values()) == {NOTHING}
    assert set(forecast([example(1, 1)], [Need(1)], "judge", 5).values()) == {NOTHING}
    assert around(0.0, 5.0) == NOTHING


def test_sums_and_multiples_of_ranges_and_uses() -> None:
    one = Range(low=1, expected=2, high=3)
    assert one.plus(one) == one.times(2)
    assert Use(1, 2).plus(Use(1, 2)) == Use(1, 2).times(2)
