from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending
from qagen_dagster.models.budget import Allowance, Budget, Spent
from qagen_dagster.store import Store

HERE = "spending/run/probes/service/textual"
BESIDE = "spending/run/probes/service/visual"
CALL = Spent(usd=0.25, tokens=100, calls=1)


@pytest.mark.parametrize("root", ["folder", "memory://spending-tests"])
def test_processes_of_a_run_see_what_the_others_paid(root: str, tmp_path: Path) -> None:
    store = Store(tmp_path if root == "folder" else f"{root}/{tmp_path.name}")
    one, other, beside = (RunSpending(store, where) for where in (HERE, HERE, BESIDE))
    elsewhere = RunSpending(store, "spending/another/probes/service/textual")
    for book in (one, one, other, beside, elsewhere):
        book.add(CALL)
    assert [spent.calls for spent in one.totals()] == [4, 3]
    assert [spent.calls for spent in other.totals()] == [4, 3]
    assert [spent.calls for spent in beside.totals()] == [4, 1]
    assert [spent.usd for spent in RunSpending(store, HERE).totals()] == [1.0, 0.75], "a later process"


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(run=Allowance(max_calls=3)), "the run's max_calls 3"),
        (Budget(partition=Allowance(max_usd=0.5)), r"the partition's max_usd 0.5 \(spent 0.5000, "),
        (Budget(document=Allowance(max_tokens=250)), "the document's max_tokens 250"),
    ],
)
def test_each_scope_ends_the_spending_by_name(budget: Budget, said: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    RunSpending(store, BESIDE).add(CALL)
    meter = BudgetMeter(budget, RunSpending(store, HERE))
    for _ in range(2):
        with meter.hold(CALL):
            meter.record(CALL)
    with pytest.raises(BudgetExhaustedError, match=said), meter.hold(CALL):
        pass


def test_what_a_document_cost_before_counts(tmp_path: Path) -> None:
    book = RunSpending(Store(tmp_path), HERE)
    meter = BudgetMeter(Budget(document=Allowance(max_calls=3)), book, Spent(calls=3))
    with pytest.raises(BudgetExhaustedError, match="made 3"), meter.hold(CALL):
        pass


def test_partitions_of_a_run_share_its_limit_while_calls_are_in_flight(tmp_path: Path) -> None:
    store = Store(tmp_path)
    meters = [
        BudgetMeter(Budget(run=Allowance(max_calls=1)), RunSpending(store, one)) for one in (HERE, BESIDE)
    ]

    def call(meter: BudgetMeter) -> bool:
        try:
            with meter.hold(CALL):
                time.sleep(0.01)
                meter.record(CALL)
        except BudgetExhaustedError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(call, meters)) == [False, True]


def test_a_limit_per_document_writes_nothing_down(tmp_path: Path) -> None:
    store = Store(tmp_path)
    meter = BudgetMeter(Budget(document=Allowance(max_calls=3)), RunSpending(store, HERE))
    meter.record(CALL)
    assert meter.spent.calls == 1
    assert list(tmp_path.rglob("*.json")) == []


def test_a_damaged_file_of_another_process_is_set_aside_and_not_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)
    for where in (HERE, BESIDE):
        RunSpending(store, where).add(CALL)
    (key,) = store.list(BESIDE)
    store.write_bytes(key, b'{"usd": 0.')
    book = RunSpending(store, HERE)
    for _ in range(2):
        assert [spent.calls for spent in book.totals()] == [1, 1]
    assert store.get(f"{key}.damaged") == b'{"usd": 0.'
    assert len(caplog.messages) == 1
