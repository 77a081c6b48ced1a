"""The time of a run, never faster than the limits, and where a budget ends it."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.amounts import NOTHING, Amounts, Range, Use
from qagen_dagster.loop.estimate.limits import budget_ends, run_time
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import Allowance

AMOUNTS = Use(calls=100, input_tokens=1e5, output_tokens=1e4, seconds=200)
DOUBLE = Range(low=0.5, expected=1, high=2)  # from half to twice the expected amounts


def timed(documents: int = 100, workers: int = 10, **limits: Any) -> Range:
    spec = ModelSpec(provider="openai_compatible", model="m", **limits)
    return run_time(
        {Role.GENERATOR: spec}, {Role.GENERATOR: AMOUNTS}, DOUBLE, documents=documents, workers=workers
    )


def test_documents_share_the_time_and_the_last_ends_later() -> None:
    found = timed()
    assert (found.low, found.expected, found.high) == tuple(map(pytest.approx, (10.3, 20.6, 41.2)))
    assert timed(workers=1).expected == pytest.approx(200, rel=0.01)
    assert timed(documents=1).expected == pytest.approx(260)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"requests_per_minute": 10}, 100 * 60 / 9.5),
        ({"tokens_per_minute": 11_000}, 110_000 * 60 / 10_450),
        ({"concurrency": 2}, 100),
        ({"requests_per_minute": 1e6, "tokens_per_minute": 10**9, "concurrency": 100}, 20.6),
    ],
)
def test_limits_slow_it_down(limits: dict[str, Any], expected: float) -> None:
    found = timed(**limits)
    assert found.expected == pytest.approx(expected)
    assert found.low <= found.expected <= found.high


def test_roles_of_one_model_share_its_limits() -> None:
    spec = ModelSpec(provider="openai_compatible", model="m", requests_per_minute=10)
    other = spec.model_copy(update={"model": "n"})
    roles = {Role.GENERATOR: AMOUNTS, Role.DEDUPLICATOR: AMOUNTS}
    shared = run_time(dict.fromkeys(roles, spec), roles, DOUBLE, documents=10, workers=10)
    apart = run_time(
        {Role.GENERATOR: spec, Role.DEDUPLICATOR: other}, roles, DOUBLE, documents=10, workers=10
    )
    assert shared.expected == pytest.approx(2 * apart.expected)


def test_models_in_this_process_hardly_gain_by_workers() -> None:
    spec = ModelSpec(provider="embedded", model="rules")
    roles = {Role.GENERATOR: AMOUNTS}
    found = run_time({Role.GENERATOR: spec}, roles, DOUBLE, documents=100, workers=50)
    assert found.low < 100 <= found.expected < 110
    assert found.high >= 400


def test_nothing_takes_no_time() -> None:
    assert timed(documents=0) == NOTHING
    assert run_time({}, {}, DOUBLE, documents=3, workers=3) == NOTHING


def of(expected: float) -> Range:
    return DOUBLE.times(expected)


def ends(
    scope: str = "run", of_documents: int = 12, **limits: float
) -> list[tuple[str, tuple[int, int, int]]]:
    taken = Amounts(usd=of(2.0), calls=of(100), input_tokens=of(9e5), output_tokens=of(1e5))
    allowance = Allowance.model_validate(limits)
    return [
        (end.limit, (int(end.documents.low), int(end.documents.expected), int(end.documents.high)))
        for end in budget_ends(scope, None, allowance, taken, of_documents)
    ]


def test_a_budget_ends_the_work_where_the_money_does() -> None:
    assert ends() == []
    assert ends(max_usd=4.0) == []
    assert ends(max_usd=1.0) == [("max_usd", (3, 6, 12))]
    assert ends(max_usd=3.0) == [("max_usd", (9, 12, 12))]
    assert ends(max_usd=0.0) == [("max_usd", (0, 0, 0))]
    assert ends(max_tokens=500_000, max_calls=75) == [("max_tokens", (3, 6, 12)), ("max_calls", (4, 9, 12))]


def test_a_budget_of_each_document_holds_as_often_as_there_are_documents() -> None:
    assert ends("document", max_usd=1.0) == []
    assert ends("document", max_usd=0.1) == [("max_usd", (3, 7, 12))]


def test_what_has_no_known_price_is_held_against_no_budget_of_money() -> None:
    taken = Amounts(usd=None, calls=of(1), input_tokens=of(1), output_tokens=of(1))
    assert list(budget_ends("run", None, Allowance(max_usd=0.0), taken, 3)) == []
