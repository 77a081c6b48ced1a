from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.cost import batch_share, budget_ends, money
from qagen_dagster.loop.estimate.forecast import METRICS, NOTHING, Range
from qagen_dagster.loop.estimate.rough_guess import Task
from qagen_dagster.loop.questions.state import QALimits
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.corpus import CorpusConfig, ScenarioConfig
from qagen_dagster.records.ids import Mode

SCENARIO = ScenarioConfig(name="Facts", description="Single facts.")
TASK = Task(
    CorpusConfig(name="W", corpus_context="Waterworks.", scenarios={"facts": SCENARIO}),
    SCENARIO,
    Mode.TEXTUAL,
    QALimits(target_count=4, max_consecutive_failures=3, max_attempts=12),
)


def spec(**fields: Any) -> ModelSpec:
    prices = {"usd_per_million_input": 10.0, "usd_per_million_output": 30.0}
    return ModelSpec(provider="openai", model="m", **{**prices, **fields})


def of(expected: float) -> Range:
    return Range(low=expected / 2, expected=expected, high=expected * 2)


def amounts(**given: float) -> dict[str, Range]:
    return dict.fromkeys(METRICS, NOTHING) | {name: of(value) for name, value in given.items()}


def test_money_is_that_of_the_expected_shares_of_the_cache() -> None:
    taken = amounts(calls=5, input_tokens=1e6, cached_tokens=4e5, cache_write_tokens=2e5, output_tokens=1e5)
    found = money(spec(usd_per_million_cached=1.0, usd_per_million_cache_write=20.0), taken, 0.0)
    assert found is not None
    assert found.expected == pytest.approx(4.0 + 0.4 + 4.0 + 3.0)
    assert (found.low, found.high) == (pytest.approx(5.7), pytest.approx(22.8))


def test_what_goes_by_batch_costs_less_by_its_share() -> None:
    taken = amounts(calls=5, input_tokens=1e6)
    full, half, all_of_it = (money(spec(batch_discount=0.4), taken, share) for share in (0.0, 0.5, 1.0))
    assert full is not None
    assert half == full.times(0.8)
    assert all_of_it == full.times(0.6)


def test_an_unknown_price_is_unknown_and_nothing_asked_costs_nothing() -> None:
    assert money(spec(usd_per_million_output=None), amounts(calls=1, output_tokens=5), 0.0) is None
    assert money(spec(usd_per_million_output=None), amounts(), 0.0) == NOTHING


def test_the_share_that_goes_by_batch_is_of_what_one_turn_answers() -> None:
    shares = {role: batch_share(role, spec(execution="batch"), TASK, 5_000.0) for role in Role}
    assert (shares[Role.DEDUPLICATOR], shares[Role.JUDGE]) == (1.0, 1.0)
    assert (shares[Role.GENERATOR], shares[Role.ANSWERER]) == (0.0, 0.0)
    assert 0.02 < shares[Role.VALIDATOR] < 0.5
    assert {batch_share(role, spec(), TASK, 5_000.0) for role in Role} == {0.0}


def ends(
    scope: str = "run", of_documents: int = 12, **limits: float
) -> list[tuple[str, tuple[int, int, int]]]:
    taken = {"usd": of(2.0), "calls": of(100), "input_tokens": of(9e5), "output_tokens": of(1e5)}
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
    taken = {"usd": None, "calls": of(1), "input_tokens": of(1), "output_tokens": of(1)}
    assert list(budget_ends("run", None, Allowance(max_usd=0.0), taken, 3)) == []
