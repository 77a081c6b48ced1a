from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.models.budget import Allowance, Budget, Holds, Scope, Spent, cost_of, reached
from qagen_dagster.models.call_cost import has_price
from qagen_dagster.models.ledger import Ledger, LedgeredModel, LocalModel
from qagen_dagster.models.messages import AssistantMessage, Request, Text, Usage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.scripted import ScriptedProvider
from tests.models.conftest import ask
from tests.support.blobs import MemoryBlobs
from tests.support.meters import CallMeter

NEXT = Spent(usd=0.25, tokens=4, calls=1)
SPEC = ModelSpec(provider="scripted", model="test")
AMOUNTS = st.builds(Spent, usd=st.floats(0, 1e6), tokens=st.integers(0, 10**9), calls=st.integers(0, 10**6))


def _echo(request: Request) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=f"sample {request.sample}"),))


@pytest.mark.parametrize(
    ("allowance", "spent", "said"),
    [
        (Allowance(), Spent(usd=1e9, tokens=10**9, calls=10**9), None),
        (Allowance(max_usd=1), Spent(usd=0.75), None),
        (Allowance(max_usd=1), Spent(usd=0.76), "max_usd 1 (spent 0.7600, the next call may cost 0.2500)"),
        (Allowance(max_tokens=10), Spent(tokens=6), None),
        (Allowance(max_tokens=10), Spent(tokens=7), "max_tokens 10 (spent 7, the next call may take 4)"),
        (Allowance(max_calls=0), Spent(), "max_calls 0 (made 0)"),
        (Allowance(max_usd=1, max_calls=2), Spent(calls=2), "max_calls 2 (made 2)"),
    ],
)
def test_a_limit_is_reached_when_the_next_call_could_pass_it(
    allowance: Allowance, spent: Spent, said: str | None
) -> None:
    assert reached(allowance, spent, NEXT) == said


@given(a=AMOUNTS, b=AMOUNTS, limit=st.integers(1, 10**6))
def test_spending_only_grows_towards_a_limit(a: Spent, b: Spent, limit: int) -> None:
    allowance = Allowance(max_calls=limit)
    assert a.plus(b) == b.plus(a)
    if reached(allowance, a, NEXT) is not None:
        assert reached(allowance, a.plus(b), NEXT) is not None


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
    ledger, meter = Ledger(MemoryBlobs()), CallMeter(1)
    model = LedgeredModel(ScriptedProvider(SPEC, _echo), ledger)
    metered = model.metered(meter)
    first, again = metered.respond(ask()), metered.respond(ask())
    assert (first.replayed, again.replayed) == (False, True)
    assert len(meter.paid) == 1
    with pytest.raises(BudgetExhaustedError, match="nothing is left"):
        metered.respond(ask().model_copy(update={"sample": 7}))
    assert not model.respond(ask().model_copy(update={"sample": 7})).replayed, "nothing was sent before"
    assert len(meter.paid) == 1


def test_models_of_this_process_are_counted_too() -> None:
    meter = CallMeter(1)
    metered = LocalModel(ScriptedProvider(SPEC, _echo)).metered(meter)
    metered.respond(ask())
    assert [(one.usd, one.calls) for one in meter.paid] == [(0.0, 1)]
    with pytest.raises(BudgetExhaustedError):
        metered.respond(ask())


def test_the_most_that_a_call_can_cost_is_held_before_it_is_sent() -> None:
    spec = ModelSpec(
        provider="openai",
        model="m",
        max_output_tokens=1_000,
        usd_per_million_input=10.0,
        usd_per_million_output=50.0,
    )
    meter = CallMeter(1)
    LedgeredModel(ScriptedProvider(spec, _echo), Ledger(MemoryBlobs())).metered(meter).respond(ask())
    (held,) = meter.held
    assert held.calls == 1
    assert 1_000 < held.tokens < 1_200
    assert 0.05 < held.usd < 0.053


class Purse:
    """A limit in dollars that many threads use, and the most that was ever spent or in flight."""

    def __init__(self, max_usd: float) -> None:
        self.holds, self.lock = Holds(), threading.Lock()
        self.scope = Scope("run", Allowance(max_usd=max_usd))
        self.spent, self.calls, self.refused = Spent(), 0, 0

    def call(self, most: float, cost: float) -> None:
        try:
            held = self.holds.hold({"run": self.scope}, lambda: {"run": self.spent}, Spent(usd=most, calls=1))
            with held, self.lock:
                self.spent = self.spent.plus(Spent(usd=cost, calls=1))
        except BudgetExhaustedError:
            with self.lock:
                self.refused += 1


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_many_threads_never_pass_a_limit(calls: list[tuple[float, float]]) -> None:
    purse = Purse(2.0)
    with ThreadPoolExecutor(8) as threads:
        for most, share in calls:
            threads.submit(purse.call, most, most * share)
    assert purse.spent.usd <= 2.0 + 1e-6
    assert purse.spent.calls + purse.refused == len(calls)


def test_a_call_waits_for_one_in_flight_that_may_cost_less_than_it_holds() -> None:
    purse, began, leave = Purse(1.0), threading.Event(), threading.Event()

    def first() -> None:
        with purse.holds.hold({"run": purse.scope}, lambda: {"run": purse.spent}, Spent(usd=0.9)):
            began.set()
            leave.wait(10)
            purse.spent = Spent(usd=0.1, calls=1)

    with ThreadPoolExecutor(2) as threads:
        threads.submit(first)
        assert began.wait(10)
        second = threads.submit(purse.call, 0.5, 0.5)
        assert not second.done()
        leave.set()
    assert (purse.spent.calls, purse.refused) == (2, 0)
    purse.call(0.5, 0.5)
    assert (purse.spent.calls, purse.refused) == (2, 1), "now only spent money is in its way"
