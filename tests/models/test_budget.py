from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import Allowance, Budget, Spent, cost_of, reached
from qagen_dagster.models.ledger import Ledger, LedgeredModel, LocalModel
from qagen_dagster.models.messages import AssistantMessage, Request, Text, Usage
from qagen_dagster.models.pricing import has_price
from qagen_dagster.models.wires.scripted import ScriptedProvider
from tests.models.conftest import ask
from tests.support.blobs import MemoryBlobs

SPEC = ModelSpec(provider="scripted", model="test")
AMOUNTS = st.builds(Spent, usd=st.floats(0, 1e6), tokens=st.integers(0, 10**9), calls=st.integers(0, 10**6))


class Meter:
    """A meter that ends after a number of calls."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.spent: list[Spent] = []

    def check(self) -> None:
        if not self.left:
            raise BudgetExhaustedError("nothing is left")

    def record(self, spent: Spent) -> None:
        self.left -= 1
        self.spent.append(spent)


def _echo(request: Request) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=f"sample {request.sample}"),))


@pytest.mark.parametrize(
    ("allowance", "spent", "said"),
    [
        (Allowance(), Spent(usd=1e9, tokens=10**9, calls=10**9), None),
        (Allowance(max_usd=1), Spent(usd=0.99), None),
        (Allowance(max_usd=1), Spent(usd=1.0), "max_usd 1 (spent 1.0000)"),
        (Allowance(max_tokens=10), Spent(tokens=9), None),
        (Allowance(max_tokens=10), Spent(tokens=11), "max_tokens 10 (spent 11)"),
        (Allowance(max_calls=0), Spent(), "max_calls 0 (made 0)"),
        (Allowance(max_usd=1, max_calls=2), Spent(calls=2), "max_calls 2 (made 2)"),
    ],
)
def test_a_limit_is_reached_when_it_is_used_up(allowance: Allowance, spent: Spent, said: str | None) -> None:
    assert reached(allowance, spent) == said


@given(a=AMOUNTS, b=AMOUNTS, limit=st.integers(1, 10**6))
def test_spending_only_grows_towards_a_limit(a: Spent, b: Spent, limit: int) -> None:
    allowance = Allowance(max_calls=limit)
    assert a.plus(b) == b.plus(a)
    if reached(allowance, a) is not None:
        assert reached(allowance, a.plus(b)) is not None


def test_a_budget_knows_whether_it_limits_and_whether_it_counts_money() -> None:
    assert Budget().unlimited
    assert not Budget(document=Allowance(max_tokens=0)).unlimited
    assert not Budget(run=Allowance(max_calls=1)).counts_money
    assert Budget(partition=Allowance(max_usd=0)).counts_money


def test_the_cost_of_a_call_is_its_tokens_and_its_price() -> None:
    spec = ModelSpec(provider="openai", model="m", usd_per_million_input=2.0, usd_per_million_output=10.0)
    assert has_price(spec)
    assert not has_price(spec.model_copy(update={"usd_per_million_output": None}))
    assert has_price(SPEC)
    cost = cost_of(spec, Usage(input_tokens=500_000, output_tokens=100_000))
    assert cost == Spent(usd=2.0, tokens=600_000, calls=1)


def test_only_paid_calls_are_metered() -> None:
    ledger, meter = Ledger(MemoryBlobs()), Meter(1)
    model = LedgeredModel(ScriptedProvider(SPEC, _echo), ledger)
    metered = model.metered(meter)
    first, again = metered.respond(ask()), metered.respond(ask())
    assert (first.replayed, again.replayed) == (False, True)
    assert len(meter.spent) == 1
    with pytest.raises(BudgetExhaustedError, match="nothing is left"):
        metered.respond(ask().model_copy(update={"sample": 7}))
    assert not model.respond(ask().model_copy(update={"sample": 7})).replayed, "nothing was sent before"
    assert len(meter.spent) == 1


def test_models_of_this_process_are_counted_too() -> None:
    meter = Meter(1)
    metered = LocalModel(ScriptedProvider(SPEC, _echo)).metered(meter)
    metered.respond(ask())
    assert [(one.usd, one.calls) for one in meter.spent] == [(0.0, 1)]
    with pytest.raises(BudgetExhaustedError):
        metered.respond(ask())
