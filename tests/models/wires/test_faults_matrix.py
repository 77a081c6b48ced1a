"""Every fault of a server on every wire, over HTTP with the real clients: it passes, or it ends after the cap."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from qagen_dagster.errors import RateLimitedError, TransientModelError
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from tests.models.conftest import ModelMaker, ProviderMaker, ask
from tests.support.blobs import MemoryBlobs
from tests.support.wire_server import Drop, Fault, Hang, Reply, Step, Trickle, WireServer

FAULTS: dict[str, Step] = {
    "429": Fault(429),
    "429 with Retry-After": Fault(429, headers={"retry-after": "3"}),
    "429 with a date": Fault(429, headers={"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}),
    "500": Fault(500),
    "502": Fault(502, "<html>Bad gateway</html>", {"content-type": "text/html"}),
    "503": Fault(503, "", {}),
    "529": Fault(529),
    "silence": Hang(5),
    "trickle": Trickle(),
    "drop": Drop(),
    "drop half-way": Drop(partial=True),
    "not JSON": Fault(200, "<html>Sign in</html>", {"content-type": "text/html"}),
    "half of the JSON": Fault(200, '{"id": "x", "choices": [{"mess', {}),
    "nothing": Fault(200, "", {}),
}
OK = Reply(text="ok")


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_that_does_not_pass_ends_after_the_cap(
    make_model: ModelMaker, naps: list[float], blobs: MemoryBlobs, fault: Step
) -> None:
    slow = isinstance(fault, (Hang, Trickle))
    endless, patience = WireServer(then=fault), 0.3 if slow else 30
    with endless as server, pytest.raises(TransientModelError, match="gave up after 3 attempts") as caught:
        make_model(server, max_attempts=3, timeout_seconds=patience).respond(ask())
    assert (len(naps), len(blobs.data)) == (2, 0)
    # A busy machine may end a short attempt before its request is sent.
    assert len(server.requests) in ((1, 2, 3) if slow else (3,))
    refused = isinstance(fault, Fault) and fault.status in (429, 529)
    assert isinstance(caught.value, RateLimitedError) == refused


def test_all_faults_one_after_another_are_survived(make_model: ModelMaker, naps: list[float]) -> None:
    with WireServer([*FAULTS.values(), OK]) as server:
        model = make_model(server, max_attempts=len(FAULTS) + 1, timeout_seconds=1)
        response = model.respond(ask())
    assert (response.message.text, response.retries) == ("ok", len(FAULTS))
    assert len(server.requests) == len(naps) + 1 == len(FAULTS) + 1
    assert 3 <= naps[1] < 4


def test_an_outage_is_waited_out(make_provider: ProviderMaker) -> None:
    """Nobody listens for the first thirty seconds of waiting."""
    with WireServer() as before:
        provider = make_provider(before, max_attempts=16)
    waited: list[float] = []
    with ExitStack() as after:

        def nap(seconds: float) -> None:
            if sum(waited) < 30 <= sum(waited) + seconds:
                after.enter_context(WireServer([OK], port=before.port))
            waited.append(seconds)

        response = LedgeredModel(provider, Ledger(MemoryBlobs()), sleep=nap).respond(ask())
    assert (response.message.text, response.retries) == ("ok", len(waited))
    assert sum(waited) >= 30
