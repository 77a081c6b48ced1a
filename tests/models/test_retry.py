from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from qagen_dagster.errors import (
    MalformedResponseError,
    PermanentModelError,
    TransientModelError,
    UnreachableError,
)
from qagen_dagster.models import retry
from qagen_dagster.models.retry import call_with_retry, retry_after
from tests.models.conftest import ModelMaker, ask
from tests.support.wire_server import Hang, Reply, Trickle, WireServer

LONG = "A long document. " * 200_000  # more than sockets hold on their way


@pytest.mark.parametrize("step", [Trickle(), Trickle(head=True)], ids=["body", "head"])
def test_a_server_that_trickles_is_left_when_the_attempt_ends(make_model: ModelMaker, step: Trickle) -> None:
    with WireServer([step, Reply(text="ok")]) as server:
        response = make_model(server, timeout_seconds=1).respond(ask())
    assert (response.message.text, response.retries) == ("ok", 1)


@pytest.mark.parametrize("step", [Trickle(), Trickle(head=True), Hang(30)], ids=["body", "head", "silence"])
def test_no_attempt_outlasts_its_call(make_model: ModelMaker, step: Trickle | Hang) -> None:
    with WireServer([Reply(text="ok")], then=step) as server:
        make_model(server).respond(ask("Load what is loaded late."))
        with pytest.raises(TransientModelError, match=r"no response within [01](\.\d)? s"):
            make_model(server, deadline_seconds=1, timeout_seconds=60).respond(ask())
    assert len(server.requests) == 2


def test_a_long_request_arrives_whole(make_model: ModelMaker) -> None:
    with WireServer([Reply(text="ok")]) as server:
        assert make_model(server).respond(ask(LONG)).message.text == "ok"
    assert LONG in str(server.bodies[0])


def test_an_attempt_has_what_is_left_of_its_call() -> None:
    assert retry.call_ends() == float("inf")
    with retry.attempt_deadline(7) as seconds:
        assert seconds == 7
    with retry.call_deadline(100):
        ends = retry.call_ends()
        assert 0 < ends - time.monotonic() <= 100
        with retry.call_deadline(1000):
            assert retry.call_ends() == ends
        with retry.attempt_deadline(1000) as seconds:
            assert 0 < seconds <= 100
    with retry.call_deadline(-5), retry.attempt_deadline(60) as seconds:
        assert 0 < seconds < 1
    assert retry.call_ends() == float("inf")


@pytest.mark.parametrize("client", [None, object()])
def test_a_client_of_another_make_is_left_as_it_is(client: object) -> None:
    retry.stop_at_deadline(client)


class Flaky:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_success_needs_no_wait() -> None:
    naps: list[float] = []
    assert call_with_retry(Flaky(), max_attempts=3, deadline_seconds=9, sleep=naps.append) == "done"
    assert naps == []


def test_waits_grow_at_most_exponentially_and_never_vanish() -> None:
    naps: list[float] = []
    flaky = Flaky(*[TransientModelError("busy")] * 12)
    call_with_retry(flaky, max_attempts=20, deadline_seconds=1e6, sleep=naps.append)
    assert (flaky.calls, len(naps)) == (13, 12)
    assert all(0.2 <= nap <= max(0.2, min(60.0, 2.0**n)) for n, nap in enumerate(naps))


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_malformed_response_is_asked_for_again(attempts: int) -> None:
    flaky = Flaky(*[MalformedResponseError("no choices")] * 2)
    if attempts == 3:
        assert call_with_retry(flaky, max_attempts=3, deadline_seconds=9, sleep=lambda _: None) == "done"
        assert flaky.calls == 3
        return
    with pytest.raises(MalformedResponseError, match=r"no choices \(gave up after 2 attempts\)"):
        call_with_retry(flaky, max_attempts=2, deadline_seconds=9, sleep=lambda _: None)


@pytest.mark.parametrize("error", [PermanentModelError("no"), KeyError("bug")])
def test_other_errors_propagate_at_once(error: Exception) -> None:
    flaky = Flaky(error)
    with pytest.raises(type(error)):
        call_with_retry(flaky, max_attempts=5, deadline_seconds=9, sleep=lambda _: None)
    assert flaky.calls == 1


def test_one_attempt_means_one() -> None:
    flaky = Flaky(TransientModelError("busy", retry_after=1.0))
    with pytest.raises(TransientModelError, match=r"busy \(gave up after 1 attempt\)") as caught:
        call_with_retry(flaky, max_attempts=1, deadline_seconds=9, sleep=lambda _: None)
    assert (flaky.calls, caught.value.retry_after) == (1, 1.0)


@pytest.mark.parametrize(("seconds", "calls"), [(0, 4), (60, 1)], ids=["at first", "after a while"])
def test_a_server_that_never_answered_is_tried_for_seconds_by_all_calls_together(
    seconds: float, calls: int
) -> None:
    flaky = Flaky(*[UnreachableError("http://gone: connection failed", since=time.monotonic() - seconds)] * 3)
    if calls == 1:
        with pytest.raises(UnreachableError, match="http://gone: connection failed"):
            call_with_retry(flaky, max_attempts=9, deadline_seconds=900, sleep=lambda _: None)
    else:
        call_with_retry(flaky, max_attempts=9, deadline_seconds=900, sleep=lambda _: None)
    assert flaky.calls == calls


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ],
)
def test_reading_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 10, 21, 7, 27, tzinfo=UTC)
    assert retry_after(headers, now=now) == seconds
