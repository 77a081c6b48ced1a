"""The arithmetic of token buckets, and the file of their state."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import TransientModelError
from qagen_dagster.models.rate_limits import (
    Limiter,
    RateLimits,
    RateState,
    at,
    fresh,
    refuse,
    reserve,
    settle,
    wait,
)

NONE, LIMITS = RateLimits(), RateLimits(requests=60)


def starts(limits: RateLimits, asked: list[tuple[float, int]], state: RateState | None = None) -> list[float]:
    """The moments at which requests may start that are asked for after pauses, with their tokens."""
    state = state or fresh(0.0)
    found: list[float] = []
    for pause, tokens in asked:
        start, state = reserve(at(state, state.written + pause), limits, tokens)
        found.append(state.written + wait(state, start))
    return found


def test_without_limits_everything_starts_at_once() -> None:
    assert starts(NONE, [(0.0, 10**9)] * 50) == [0.0] * 50


@given(st.integers(1, 5_000), st.lists(st.floats(0, 100), min_size=1, max_size=200))
def test_no_minute_holds_more_requests_than_the_limit(limit: int, pauses: list[float]) -> None:
    found = starts(RateLimits(requests=limit), [(pause, 1) for pause in pauses])
    assert found == sorted(found)
    for first, start in enumerate(found):
        assert sum(start <= other < start + 60.0 - 1e-6 for other in found[first:]) <= limit


@pytest.mark.parametrize("limit", [1, 2, 19, 20, 500, 5_000])
def test_a_long_queue_goes_at_nine_tenths_of_the_limit_or_more(limit: int) -> None:
    found = starts(RateLimits(requests=limit), [(0.0, 1)] * (3 * limit + 1))
    assert 3.0 <= found[-1] / 60.0 <= 3.0 / 0.9


@pytest.mark.parametrize("limit", [60, 600, 6_000])
def test_a_server_that_counts_by_the_second_agrees(limit: int) -> None:
    found = starts(RateLimits(requests=limit), [(90.0, 1)] + [(0.0, 1)] * limit)
    assert sum(start < 91.0 - 1e-9 for start in found) <= 2 * limit / 60


@given(st.integers(1_000, 100_000), st.lists(st.integers(1, 1_000), min_size=2, max_size=200))
def test_tokens_flow_at_their_limit(limit: int, tokens: list[int]) -> None:
    found = starts(RateLimits(tokens=limit), [(0.0, one) for one in tokens])
    assert found == sorted(found)
    assert sum(tokens[:-1]) <= (found[-1] + 1.0) * limit / 60.0 + max(tokens)


def test_what_is_larger_than_the_limit_is_a_minutes_worth() -> None:
    assert starts(RateLimits(tokens=100), [(0.0, 10**9), (0.0, 1)])[1] == pytest.approx(60 / 0.95, rel=0.1)


def test_the_servers_count_replaces_the_estimate() -> None:
    limits = RateLimits(tokens=6_000)
    _, promised = reserve(fresh(0.0), limits, 3_000)
    assert promised.tokens == pytest.approx(3_000 / 95)
    less = settle(promised, limits, estimated=3_000, used=1_000)
    more = settle(promised, limits, estimated=3_000, used=5_000)
    assert (less.tokens, more.tokens) == (pytest.approx(1_000 / 95), pytest.approx(5_000 / 95))
    assert settle(promised, NONE, estimated=3_000, used=1_000).tokens == promised.tokens


def answers(state: RateState, count: int) -> RateState:
    for _ in range(count):
        state = settle(state, NONE, estimated=1, used=1)
    return state


def refusals(state: RateState, count: int, retry_after: float | None = None) -> RateState:
    for _ in range(count):
        state = refuse(state, LIMITS, started=state.factor, slower=True, retry_after=retry_after)
    return state


def test_refusals_lower_the_pace_to_a_floor_and_answers_give_it_back() -> None:
    slowed = refusals(fresh(0.0), 1)
    assert slowed.factor == 0.95
    assert refusals(slowed, 13).factor < 0.5
    floor = refusals(slowed, 200)
    assert floor.factor == 0.1
    assert answers(floor, 20).factor == 0.1  # too many were refused of late
    assert 0.3 < answers(floor, 50).factor < 1.0 == answers(floor, 100).factor
    late = starts(RateLimits(requests=60), [(0.0, 1)] * 9, floor)
    assert late[-1] - late[-2] == pytest.approx(1 / (0.95 * 0.1))


def test_requests_that_started_together_are_one_refusal() -> None:
    state = fresh(0.0)
    for _ in range(30):
        state = refuse(state, LIMITS, started=1.0, slower=True, retry_after=None)
    assert state.factor == 0.95
    assert state.refused > 0.9


def test_a_promise_is_kept_in_its_order_however_the_pace_changes() -> None:
    limits = RateLimits(requests=60)
    first, state = reserve(fresh(0.0), limits, 1)
    second, state = reserve(state, limits, 1)
    third, state = reserve(state, limits, 1)
    assert [wait(state, one) for one in (first, second, third)] == [
        0.0,
        pytest.approx(1 / 0.95),
        pytest.approx(2 / 0.95),
    ]
    slow = refusals(at(state, 0.5), 200)
    assert wait(slow, third) == pytest.approx((2 / 0.95 - 0.5) / 0.1)
    assert reserve(slow, limits, 1)[0] > third
    paused = refuse(slow, LIMITS, started=1.0, slower=False, retry_after=30.0)
    assert wait(paused, third) == pytest.approx(30.0 + (2 / 0.95 - 0.5) / 0.1)
    again = answers(at(paused, 30.5), 200)
    assert wait(again, third) == pytest.approx(2 / 0.95 - 0.5)


def test_one_in_ten_refused_at_random_costs_next_to_nothing() -> None:
    chance, state, factors = random.Random(7), fresh(0.0), list[float]()
    for _ in range(3_000):
        state = refusals(state, 1) if chance.random() < 0.1 else answers(state, 1)
        factors.append(state.factor)
    assert sum(factors) / 3_000 > 0.95


def test_a_server_that_allows_half_of_the_limit_is_asked_for_little_more() -> None:
    chance, state, factors = random.Random(7), fresh(0.0), list[float]()
    for _ in range(3_000):
        allowed = chance.random() < 0.5 / state.factor
        state = answers(state, 1) if allowed else refusals(state, 1)
        factors.append(state.factor)
    assert 0.5 < sum(factors[200:]) / 2_800 < 0.68


def test_a_wish_to_wait_holds_for_all_and_no_longer_than_ten_minutes() -> None:
    paused = refuse(at(fresh(0.0), 5.0), LIMITS, started=1.0, slower=False, retry_after=30.0)
    assert paused.factor == 1.0
    assert starts(NONE, [(1.0, 1), (34.0, 1)], paused) == [35.0, 40.0]
    assert refuse(at(paused, 6.0), LIMITS, started=1.0, slower=False, retry_after=10.0).pause == 35.0
    assert refuse(fresh(5.0), LIMITS, started=1.0, slower=False, retry_after=1e9).pause == 605.0


def test_a_short_wish_amid_many_answers_is_for_one_alone() -> None:
    busy = answers(fresh(5.0), 40)
    assert refusals(busy, 1, retry_after=1.0).pause == 5.0
    assert refusals(busy, 1, retry_after=3.0).pause == 8.0
    assert refusals(busy, 9, retry_after=1.0).pause == 6.0
    assert refusals(fresh(5.0), 1, retry_after=1.0).pause == 6.0


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def clock(now: list[float]) -> Callable[[], float]:
    return lambda: now[0]


def test_the_file_keeps_the_pace_between_turns(
    tmp_path: Path, now: list[float], clock: Callable[[], float]
) -> None:
    path = tmp_path / "limits" / "shared.json"
    assert Limiter("m", LIMITS, path, clock).update() == fresh(100.0)
    slower = partial(refuse, limits=LIMITS, started=0.5, slower=True, retry_after=None)
    kept = Limiter("m", LIMITS, path, clock).update(slower)
    now[0] = 103.0
    state = Limiter("m", LIMITS, path, clock).update()
    assert state == at(kept, 103.0)
    assert state.clock == pytest.approx(3.0 * 0.475)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


BROKEN = {
    "empty": b"",
    "cut": b'{"written": 1.0, "requ',
    "text": b"not JSON at all",
    "bytes": b"\xff\xfe\x00",
    "zeros": bytes(512),
    "deep": b"[" * 100_000,
    "number": b"7",
    "unknown": b'{"written": 1, "requests": 1, "pause": 1, "more": 1}',
    "nan": b'{"written": 1, "requests": NaN, "pause": 1}',
    "infinite": b'{"written": 1, "requests": 1e999, "pause": 1}',
    "factor": b'{"written": 1, "requests": 1, "pause": 1, "factor": 0}',
    "later": b'{"written": 101, "requests": 1e9e9, "pause": 1e9}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_used_is_replaced(
    tmp_path: Path, clock: Callable[[], float], content: bytes
) -> None:
    path = tmp_path / "shared.json"
    path.write_bytes(content)
    for _ in range(2):
        limiter = Limiter("m", LIMITS, path, clock)
        assert limiter.update(lambda state: state.model_copy(update={"factor": 0.25})).clock == 0.0
    if len(content) <= 512:
        assert json.loads(path.read_bytes())["factor"] == 0.25


def test_a_folder_that_was_tidied_up_is_made_again(tmp_path: Path, clock: Callable[[], float]) -> None:
    path = tmp_path / "limits" / "shared.json"
    file = Limiter("m", LIMITS, path, clock)

    def tidied_up(state: RateState) -> RateState:
        path.unlink()
        path.parent.rmdir()
        return state.model_copy(update={"factor": 0.25})

    file.update(tidied_up)
    assert file.update().factor == 1.0


def test_nothing_is_written_through_a_link(tmp_path: Path, clock: Callable[[], float]) -> None:
    (tmp_path / "treasure").write_text("gold")
    os.symlink(tmp_path / "treasure", tmp_path / "shared.json")
    limiter = Limiter("m", LIMITS, tmp_path / "shared.json", clock)
    with pytest.raises(TransientModelError, match=r"shared\.json"):
        limiter.update()
    assert (tmp_path / "treasure").read_text() == "gold"
