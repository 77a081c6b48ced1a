"""Faults of a server on every wire, over HTTP with the real clients, and the limit of a body."""

from __future__ import annotations

import gzip
import time
import traceback
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, cast

import httpx
import pytest

from qagen_dagster.errors import (
    BudgetExhaustedError,
    ContextOverflowError,
    MalformedResponseError,
    ModelError,
    PermanentModelError,
    RateLimitedError,
    TransientModelError,
    UnreachableError,
)
from qagen_dagster.models import retry
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from qagen_dagster.models.wires import sdk_client, server_errors
from qagen_dagster.models.wires.sdk_client import LimitedTransport
from tests.models.conftest import KEY, ModelMaker, ProviderMaker, ask
from tests.support.blobs import MemoryBlobs
from tests.support.meters import CallMeter
from tests.support.wire_server import Drop, Fault, Hang, Reply, Step, Trickle, WireServer

OK = Reply(text="ok")


@pytest.mark.parametrize(
    "failure",
    [
        Fault(429),
        Fault(408),
        Fault(409),
        Fault(500),
        Fault(503, "<html>Service unavailable</html>", {"content-type": "text/html"}),
        Fault(529),
        Fault(200, "<html>Welcome to the proxy</html>", {"content-type": "text/html"}),
        Fault(200, '{"choices": [', {}),
        Fault(200, "[]", {}),
        Drop(),
        Drop(partial=True),
        Hang(2),
    ],
    ids=str,
)
def test_a_passing_failure_is_tried_again(
    make_model: ModelMaker, naps: list[float], blobs: MemoryBlobs, failure: Step
) -> None:
    with WireServer([failure, OK]) as server:
        response = make_model(server, timeout_seconds=1).respond(ask())
    assert (response.message.text, response.retries) == ("ok", 1)
    assert (len(server.requests), len(naps), len(blobs.data)) == (2, 1, 1)


def test_a_body_that_is_refused_says_why(make_model: ModelMaker) -> None:
    packed = Fault(200, "", {"content-encoding": "gzip, gzip, gzip"})
    with (
        WireServer(then=packed) as server,
        pytest.raises(TransientModelError, match="'gzip, gzip, gzip', which is not accepted"),
    ):
        make_model(server, max_attempts=1).respond(ask())


def test_a_burst_of_503_is_survived_and_counted(make_model: ModelMaker, naps: list[float]) -> None:
    with WireServer([Fault(503), Fault(503), Fault(503), OK]) as server:
        response = make_model(server).respond(ask())
    assert (response.retries, len(naps), len(server.requests)) == (3, 3, 4)


def test_the_cap_ends_a_storm(make_model: ModelMaker, blobs: MemoryBlobs) -> None:
    with WireServer(then=Fault(503)) as server, pytest.raises(TransientModelError, match="3 attempts"):
        make_model(server, max_attempts=3).respond(ask())
    assert len(server.requests) == 3
    assert not blobs.data


def test_retry_after_is_waited_out(make_model: ModelMaker, naps: list[float]) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    limits: list[Step] = [Fault(429, headers={"retry-after": value}) for value in ("7", date)]
    with WireServer([*limits, Fault(429, headers={"retry-after-ms": "1500"}), OK]) as server:
        make_model(server).respond(ask())
    assert 7 <= naps[0] < 8
    assert 90 < naps[1] < 102
    assert 1.5 <= naps[2] < 2.5


def test_a_wait_beyond_the_deadline_is_not_begun(make_model: ModelMaker, naps: list[float]) -> None:
    limited = WireServer([Fault(429, headers={"retry-after": "3600"}), OK])
    with limited as server, pytest.raises(TransientModelError) as caught:
        make_model(server, deadline_seconds=60).respond(ask())
    assert caught.value.retry_after == 3600
    assert naps == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_lasting_failure_is_not_tried_again(make_model: ModelMaker, status: int) -> None:
    refusing = WireServer(then=Fault(status, {"error": {"message": "no"}}))
    with refusing as server, pytest.raises(PermanentModelError, match=f"HTTP {status}: no"):
        make_model(server).respond(ask())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (429, "You exceeded your quota", "insufficient_quota"),
        (400, "Your credit balance is too low to access the API.", "invalid_request_error"),
        (402, "Insufficient Balance", "unknown_error"),
        (503, "insufficient credits", None),
    ],
)
def test_an_empty_purse_is_lasting_whatever_the_status(
    make_model: ModelMaker, status: int, message: str, code: str | None
) -> None:
    fault = Fault(status, {"error": {"message": message, "code": code}})
    with WireServer(then=fault) as server, pytest.raises(PermanentModelError, match="no credit") as caught:
        make_model(server).respond(ask())
    assert len(server.requests) == 1
    assert type(caught.value) is PermanentModelError, "a smaller prompt would not help"


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "Your input exceeds the limit.", "context_length_exceeded"),
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000.", None),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", None),
        (400, "the request exceeds the available context size", "exceed_context_size_error"),
        (500, "the request exceeds the available context size, try increasing it", None),
        (413, "Request exceeds the maximum size", "request_too_large"),
        (429, "Request too large for model `m` (TPM): Limit 6000, Requested 9000.", "rate_limit_exceeded"),
        (500, "input is too large to process. increase the physical batch size", None),
        (404, "No endpoints found that can handle the requested context of 9000 tokens", None),
    ],
)
def test_an_overflow_is_recognised(
    make_model: ModelMaker, status: int, message: str, code: str | None
) -> None:
    body = {"error": {"message": message, "code": code, "type": code}}
    with WireServer(then=Fault(status, body)) as server, pytest.raises(ContextOverflowError):
        make_model(server).respond(ask())
    assert len(server.requests) == 1


def test_a_failure_told_under_status_200(make_model: ModelMaker, wire: str) -> None:
    kind = {"code": "server_error", "type": "overloaded_error", "message": "busy"}
    body = {"type": "error", "status": "failed", "error": kind}
    with WireServer([Fault(200, body), OK]) as server:
        assert make_model(server).respond(ask()).retries == 1


EMPTY = Fault(200, {"choices": [], "output": [], "content": None}, {})
WRONG_TYPES = Fault(200, {"choices": "none", "output": {"a": 1}, "content": [3], "usage": []}, {})
OTHER = Fault(200, {"status": "signed out", "login": "/login"}, {})


@pytest.mark.parametrize("unusable", [EMPTY, WRONG_TYPES, OTHER], ids=["empty", "types", "other"])
def test_an_unusable_body_is_stored_asked_for_again_and_overwritten(
    make_model: ModelMaker, blobs: MemoryBlobs, unusable: Step
) -> None:
    meter = CallMeter(5)
    with WireServer([unusable, unusable, unusable, OK]) as server:
        model = cast("LedgeredModel", make_model(server, max_attempts=2)).metered(meter)
        with pytest.raises(MalformedResponseError, match="gave up after 2 attempts"):
            model.respond(ask())
        assert (len(server.requests), len(blobs.data), meter.spent.calls) == (2, 1, 2)
        paid = make_model(server).respond(ask())
        assert (paid.message.text, paid.retries, paid.replayed) == ("ok", 1, False)
        assert make_model(server).respond(ask()).replayed
    assert (len(server.requests), len(blobs.data)) == (4, 1)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"object": "error", "message": "the engine is dead", "code": 50001}, "the engine is dead"),
        ({"code": 1113, "msg": "\u6b20\u8d39", "success": False}, "\u6b20\u8d39"),
        ({"detail": "no free worker"}, "no free worker"),
        ({"errors": [{"message": "capacity exceeded"}], "result": None}, "capacity exceeded"),
        (
            {"id": "x", "choices": None, "base_resp": {"status_msg": "insufficient balance"}},
            "insufficient balance",
        ),
        ("  \n", "the body is empty"),
    ],
)
def test_words_of_a_failure_in_any_form_under_status_200_are_told(
    make_model: ModelMaker, body: dict[str, Any] | str, words: str
) -> None:
    with WireServer(then=Fault(200, body)) as server, pytest.raises(ModelError, match=words):
        make_model(server, max_attempts=2).respond(ask())


@pytest.mark.parametrize("wire", ["openai", "openai_compatible"])
def test_a_variable_that_no_header_can_carry_is_named(
    make_model: ModelMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x: \u043a\u043b\u044e\u0447")
    with WireServer(then=OK) as server, pytest.raises(PermanentModelError, match="OPENAI_CUSTOM_HEADERS"):
        make_model(server).respond(ask())


def test_an_unusable_body_may_use_up_the_budget(make_model: ModelMaker) -> None:
    with WireServer(then=EMPTY) as server, pytest.raises(BudgetExhaustedError):
        cast("LedgeredModel", make_model(server)).metered(CallMeter(3)).respond(ask())
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "failure",
    [
        Fault(401, {"error": {"message": f"Incorrect API key provided: {KEY}. " + "x" * 5000}}),
        Fault(400, f"bad header: Authorization: Bearer {KEY} " + "y" * 5000),
        Fault(503, {"error": {"message": f"?key={KEY}"}}),
        Fault(200, f"<p>{KEY}</p>"),
        Fault(200, {"choices": [], "output": [], "content": KEY, "note": KEY}),
        Drop(),
    ],
    ids=["401", "400", "503", "page", "malformed", "drop"],
)
def test_a_key_never_gets_into_texts_or_the_ledger(
    make_model: ModelMaker, blobs: MemoryBlobs, failure: Step
) -> None:
    with WireServer(then=failure) as server, pytest.raises(ModelError) as caught:
        make_model(server, max_attempts=2).respond(ask())
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert KEY not in str(vars(caught.value))
    assert not any(KEY.encode() in data for data in blobs.data.values())
    assert len(str(caught.value)) <= server_errors.MAX_TEXT + 30
    error: BaseException | None = caught.value
    while error is not None:
        assert type(error).__module__.split(".")[0] not in ("openai", "anthropic", "httpx2")
        error = error.__context__


def test_a_refused_temperature_is_a_lasting_failure(make_model: ModelMaker) -> None:
    said = {"error": {"message": "Unsupported parameter: 'temperature' is not supported with this model."}}
    with WireServer([Fault(400, said)]) as server, pytest.raises(PermanentModelError, match="temperature"):
        make_model(server, temperature=0.5).respond(ask())


def test_nobody_listens(make_provider: ProviderMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_client, "_ANSWERED", set[str]())  # another server may have had the port
    with WireServer() as server:
        provider, url = make_provider(server), f"http://127.0.0.1:{server.port}"
    with pytest.raises(UnreachableError, match=rf"{url}\S*: connection failed") as first:
        provider.send(ask())
    with pytest.raises(UnreachableError) as second:
        provider.send(ask())
    assert first.value.since == second.value.since


def test_a_server_that_answered_once_is_waited_for(make_provider: ProviderMaker) -> None:
    with WireServer([Fault(503, {"error": {"message": "loading"}})]) as server:
        another = make_provider(server)
        with pytest.raises(TransientModelError, match="loading"):
            make_provider(server).send(ask())
    with pytest.raises(TransientModelError, match="connection failed") as gone:
        another.send(ask())
    assert not isinstance(gone.value, UnreachableError)


@pytest.mark.parametrize("key", ["x", "none", "EMPTY", "lm-studio"])
def test_a_placeholder_for_a_key_does_not_spoil_answers(key: str) -> None:
    body = '{"text": "none of the x, EMPTY or lm-studio"}'
    assert sdk_client.json_body("m", body, key) == {"text": "none of the x, EMPTY or lm-studio"}


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
    """A server that has answered is gone for the first thirty seconds of waiting."""
    with WireServer([OK]) as before:
        make_provider(before).send(ask("Before the outage?"))
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


class Played(httpx.BaseTransport):
    """Answers with one body; keeps what it was asked."""

    def __init__(self, body: bytes, encoding: str = "") -> None:
        self.body, self.encoding = body, encoding
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        headers = {"Content-Encoding": self.encoding} if self.encoding else {}
        return httpx.Response(200, headers=headers, stream=_Pieces(self.body))


class _Pieces(httpx.SyncByteStream):
    def __init__(self, body: bytes) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        return (self.body[start : start + 1000] for start in range(0, len(self.body), 1000))


def get(body: bytes, encoding: str = "", limit: int = 10_000) -> bytes:
    played = Played(body, encoding)
    with httpx.Client(transport=LimitedTransport(played, limit)) as client:
        found = client.get("http://server.test/").content
    assert played.asked[0].headers["Accept-Encoding"] == "identity"
    return found


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"words", ""),
        (b"words", "identity"),
        (gzip.compress(b"words"), "gzip"),
        (zlib.compress(b"words"), "deflate"),
    ],
    ids=["plain", "identity", "gzip", "deflate"],
)
def test_at_most_one_layer_is_decoded(body: bytes, encoding: str) -> None:
    assert get(body, encoding) == b"words"


@pytest.mark.parametrize(
    ("body", "encoding", "why"),
    [
        (bytes(10_001), "", "more than 10,000 bytes"),
        (gzip.compress(bytes(10_001)), "gzip", "more than 10,000 bytes"),
        (gzip.compress(gzip.compress(b"words")), "gzip, gzip", "not accepted"),
        (b"words", "br", "not accepted"),
        (b"no gzip", "gzip", "cannot be decoded"),
        (gzip.compress(b"words")[:-4], "gzip", "cut off"),
    ],
    ids=["large", "large gzip", "two layers", "unknown", "no gzip", "cut off"],
)
def test_a_body_beyond_the_limit_is_refused(body: bytes, encoding: str, why: str) -> None:
    with pytest.raises(httpx.DecodingError, match=why):
        get(body, encoding)


def test_decoding_ends_with_the_attempt() -> None:
    with retry.call_deadline(-1), retry.attempt_deadline(60):
        time.sleep(0.01)
        with pytest.raises(TimeoutError):
            get(gzip.compress(bytes(9_000)), "gzip")
