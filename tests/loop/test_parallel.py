from __future__ import annotations

import threading
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.parallel import BATCH_THREADS, run_in_parallel, worker_count
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
