from __future__ import annotations

import threading
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.loop.parallel import (
    BATCH_THREADS,
    EarlyStop,
    FailuresInARow,
    run_in_parallel,
    work_on_each,
    worker_count,
)
from tests.support.models import FakeModel


@st.composite
def plans(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(0, 12))
    return [draw(st.lists(st.integers(0, n - 1), max_size=4)) if n else [] for n in range(size)]


@given(plans(), st.integers(1, 6))
def test_every_part_runs_once_after_all_it_needs(needs: list[list[int]], workers: int) -> None:
    ended: list[int] = []

    def part(index: int) -> int:
        assert set(needs[index]) <= set(ended)
        ended.append(index)
        return index * index

    assert run_in_parallel(needs, part, workers=workers) == [n * n for n in range(len(needs))]
    assert sorted(ended) == list(range(len(needs)))


@given(plans())
def test_one_worker_goes_in_order(needs: list[list[int]]) -> None:
    ended: list[int] = []
    run_in_parallel(needs, ended.append, workers=1)
    assert ended == list(range(len(needs)))


def test_the_first_error_is_raised_and_nothing_begins_after_it() -> None:
    begun: list[int] = []
    failed = threading.Event()

    def part(index: int) -> None:
        begun.append(index)
        if index == 1:
            failed.set()
            raise ValueError("no")
        assert failed.wait(30)

    with pytest.raises(ValueError, match="no"):
        run_in_parallel([[], [], [0], [1]], part, workers=2)
    assert sorted(begun)[:2] == [0, 1]
    assert 3 not in begun


@pytest.mark.parametrize(
    ("execution", "unlimited", "workers"),
    [("batch", True, BATCH_THREADS), ("batch", False, 3), ("direct", True, 3), ("direct", False, 3)],
)
def test_many_wait_at_once_only_for_a_batch_that_no_budget_bounds(
    execution: Literal["batch", "direct"], unlimited: bool, workers: int
) -> None:
    model = FakeModel([])
    model._spec = model.spec.model_copy(update={"execution": execution})
    assert worker_count(model, 3, unlimited=unlimited) == workers
    assert worker_count(None, 3, unlimited=unlimited) == 3


def test_a_model_error_is_a_result_and_any_other_error_ends_the_work() -> None:
    def work(number: int) -> int:
        if number == 1:
            raise ModelError("refused")
        if number == 3:
            raise KeyError(number)
        return number

    ended: dict[int, str] = {}
    work_on_each([0, 1, 2], work, lambda number, result: ended.update({number: str(result)}), workers=2)
    assert ended == {0: "0", 1: "refused", 2: "2"}
    with pytest.raises(KeyError):
        work_on_each([3], work, lambda _number, _result: None, workers=1)


@pytest.mark.parametrize("succeeded", [False, True])
def test_only_permanent_failures_without_any_success_end_a_run_early(succeeded: bool) -> None:
    def refuse() -> int:
        raise PermanentModelError("no such model")

    stop = EarlyStop(2)
    if succeeded:
        assert stop.run(lambda: 1) == 1
    for _ in range(2):
        with pytest.raises(PermanentModelError):
            stop.run(refuse)
    assert stop.run(lambda: 2) == (2 if succeeded else None)


def test_failures_in_a_row_are_counted_from_the_last_success() -> None:
    failures = FailuresInARow(2)
    failures.failed(ModelError("first"))
    failures.succeeded()
    failures.failed(ModelError("second"))
    failures.check("documents")
    failures.failed(ModelError("third"))
    failures.succeeded()  # a call that was in flight
    with pytest.raises(PermanentModelError, match=r"^2 documents, the last: third$"):
        failures.check("documents")
