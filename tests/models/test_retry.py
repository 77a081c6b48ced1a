from __future__ import annotations

import pytest

from qagen_dagster.errors import MalformedResponseError, PermanentModelError, TransientModelError
from qagen_dagster.models.retry import call_with_retry


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
    assert call_with_retry(Flaky(), max_attempts=3, deadline_seconds=9, sleep=naps.append) == ("done", 0)
    assert naps == []


def test_waits_grow_at_most_exponentially_and_never_vanish() -> None:
    naps: list[float] = []
    flaky = Flaky(*[TransientModelError("busy")] * 12)
    _, retries = call_with_retry(flaky, max_attempts=20, deadline_seconds=1e6, sleep=naps.append)
    assert retries == 12
    assert all(0.2 <= nap <= max(0.2, min(60.0, 2.0**n)) for n, nap in enumerate(naps))


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_malformed_response_is_asked_for_again(attempts: int) -> None:
    flaky = Flaky(*[MalformedResponseError("no choices")] * 2)
    if attempts == 3:
        assert call_with_retry(flaky, max_attempts=3, deadline_seconds=9, sleep=lambda _: None) == ("done", 2)
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
