"""The time of a run from the time of its models: side by side, and never faster than the limits."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.forecast import NOTHING, Range
from qagen_dagster.loop.estimate.run_time import run_time
from qagen_dagster.models.base import ModelSpec

AMOUNTS = {
    "calls": Range(low=50, expected=100, high=200),
    "input_tokens": Range(low=5e4, expected=1e5, high=2e5),
    "output_tokens": Range(low=5e3, expected=1e4, high=2e4),
    "seconds": Range(low=100, expected=200, high=400),
}


def timed(documents: int = 100, workers: int = 10, **limits: Any) -> Range:
    spec = ModelSpec(provider="openai_compatible", model="m", **limits)
    return run_time({Role.GENERATOR: spec}, {Role.GENERATOR: AMOUNTS}, documents=documents, workers=workers)


def test_documents_share_the_time_and_the_last_ends_later() -> None:
    found = timed()
    assert (found.low, found.expected, found.high) == (10, pytest.approx(20.6), pytest.approx(41.2))
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
    shared = run_time(dict.fromkeys(roles, spec), roles, documents=10, workers=10)
    apart = run_time({Role.GENERATOR: spec, Role.DEDUPLICATOR: other}, roles, documents=10, workers=10)
    assert shared.expected == pytest.approx(2 * apart.expected)


def test_models_in_this_process_hardly_gain_by_workers() -> None:
    spec = ModelSpec(provider="embedded", model="rules")
    roles = {Role.GENERATOR: AMOUNTS}
    found = run_time({Role.GENERATOR: spec}, roles, documents=100, workers=50)
    assert found.low < 100 <= found.expected < 110
    assert found.high >= 400


def test_nothing_takes_no_time() -> None:
    assert timed(documents=0) == NOTHING
    assert run_time({}, {}, documents=3, workers=3) == NOTHING
