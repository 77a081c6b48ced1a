"""What a server wishes is kept by all who use its model on this machine, over HTTP and without any declared limit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.errors import ConfigError, PermanentModelError, RateLimitedError, TransientModelError
from qagen_dagster.models import retry
from qagen_dagster.models.batcher import LimitedBatch
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.providers import build_model, build_provider
from qagen_dagster.models.rate_limits import LimitedProvider, Limiter, RateLimits, limited
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.anthropic import AnthropicBatch
from qagen_dagster.models.wires.openai import OpenAIBatch
from qagen_dagster.settings import PROJECT_ROOT
from tests.models.conftest import KEY, ProviderMaker, ask
from tests.support.batches.bench import echo, question
from tests.support.batches.server import BatchServer
from tests.support.blobs import MemoryBlobs
from tests.support.wire_server import Fault, Reply, Seen, Step, WireServer

NEVER = float("inf")


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.naps: list[float] = []
        self.meanwhile: list[Callable[[], object]] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds
        if self.meanwhile:
            self.meanwhile.pop(0)()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Callable[..., Limiter]:
    def made(**limits: Any) -> Limiter:
        return Limiter("openai:m", RateLimits(**limits), tmp_path / "shared", clock, clock.sleep)

    return made


def use(limiter: Limiter, tokens: int = 1, used: int | None = None, ends: float = NEVER) -> None:
    with limiter.attempt(tokens, ends):
        limiter.answered(tokens, tokens if used is None else used)


def refused(limiter: Limiter, wait: float | None = None, *, slower: bool = True) -> None:
    kind = RateLimitedError if slower else TransientModelError
    with limiter.attempt(1, NEVER) as started:
        limiter.refused(kind("busy", retry_after=wait), started)


def test_sharers_take_turns_in_one_pace(make: Callable[..., Limiter], clock: Clock) -> None:
    one, other = make(requests=60), make(requests=60)
    for _ in range(60):
        use(one)
        use(other)
    assert 115 < clock.now - 1_000.0 < 126


def test_tokens_are_corrected_by_the_servers_count(make: Callable[..., Limiter], clock: Clock) -> None:
    for _ in range(100):
        use(make(tokens=6_000), tokens=3_000, used=60)
    assert 50 < clock.now - 1_000.0 < 100


def test_what_would_come_after_the_deadline_is_not_waited_for(
    make: Callable[..., Limiter], clock: Clock
) -> None:
    limiter = make(requests=1)
    use(limiter)
    with pytest.raises(
        TransientModelError, match="openai:m: its limits allow the next attempt in 63 s"
    ) as caught:
        use(limiter, ends=clock.now + 30)
    assert clock.naps == []
    assert caught.value.retry_after == pytest.approx(60 / 0.95)
    use(limiter)  # the one that was refused took nobody's place
    assert sum(clock.naps) == pytest.approx(60 / 0.95)


def test_a_wish_of_the_server_holds_for_all(make: Callable[..., Limiter], clock: Clock) -> None:
    refused(make(requests=6_000), wait=20.0)
    use(make(concurrency=3))
    assert clock.now == 1_020
    refused(make(concurrency=3), wait=5.0, slower=False)
    use(make(requests=6_000))
    assert clock.now == pytest.approx(1_025, abs=0.1)


def test_a_wish_holds_also_for_those_who_wait_already(make: Callable[..., Limiter], clock: Clock) -> None:
    limiter = make(requests=60)
    with limiter.attempt(1, NEVER) as started:
        use(limiter)
        use(limiter)
        clock.meanwhile.append(lambda: limiter.refused(RateLimitedError("busy", retry_after=40.0), started))
        use(limiter)
    assert clock.now > 1_041.0


def test_a_failure_that_is_nobodys_fault_slows_nobody_down(
    make: Callable[..., Limiter], clock: Clock
) -> None:
    limiter = make(requests=600)
    for _ in range(10):
        refused(limiter, slower=False)
    assert clock.now == 1_000.0


def test_refusals_leave_fewer_places_and_successes_give_them_back(
    make: Callable[..., Limiter], clock: Clock
) -> None:
    limiter = make(concurrency=2)
    for _ in range(20):
        refused(limiter)
    with (
        limiter.attempt(1, NEVER),
        pytest.raises(TransientModelError, match="all 2 concurrent calls were in use"),
    ):
        use(limiter, ends=clock.now + 1)
    for _ in range(100):
        use(limiter)
    with limiter.attempt(1, NEVER):
        use(limiter, ends=clock.now + 1)


def test_a_place_is_given_back_whatever_happens(make: Callable[..., Limiter], clock: Clock) -> None:
    limiter = make(concurrency=1, requests=1)
    with pytest.raises(PermanentModelError), limiter.attempt(1, NEVER):
        raise PermanentModelError("no")
    with pytest.raises(TransientModelError):
        use(limiter, ends=clock.now + 1)  # a place, but no start
    use(limiter)
    assert sum(clock.naps) == pytest.approx(60 / 0.95)


def test_a_promise_that_is_lost_with_the_state_is_given_anew(
    make: Callable[..., Limiter], clock: Clock, tmp_path: Path
) -> None:
    limiter = make(requests=1)
    for _ in range(3):
        use(limiter)
    before = clock.now
    clock.meanwhile.append(lambda: (tmp_path / "shared.json").write_text("{"))
    use(limiter)
    assert clock.now == before + 1.0


def _spec(**fields: Any) -> ModelSpec:
    return ModelSpec(**{"provider": "openai_compatible", "model": "m", "requests_per_minute": 60, **fields})


class Answers:
    """A provider that gives a body or raises."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    def send(self, request: Request) -> dict[str, Any]:
        del request
        return {}

    def read(self, body: dict[str, Any]) -> Response:
        raise AssertionError(body)


@pytest.mark.parametrize(
    ("change", "apart"),
    [
        ({"temperature": 0.3, "max_attempts": 9, "requests_per_minute": 3, "concurrency": 7}, False),
        ({"model": "n"}, True),
        ({"base_url": "http://127.0.0.1:9/v1"}, True),
        ({"provider": "openai"}, True),
    ],
)
def test_limits_are_shared_by_provider_address_model_and_key(
    tmp_path: Path, change: dict[str, Any], apart: bool
) -> None:
    for spec in (_spec(), _spec(**change)):
        provider = limited(Answers(spec), "K", tmp_path)
        assert isinstance(provider, LimitedProvider)
        limiter = provider._limiter  # pyright: ignore[reportPrivateUsage]
        limiter.update(lambda state: state.model_copy(update={"factor": 0.5}))
    assert len(list((tmp_path / "limits").iterdir())) == 1 + apart
    limited(Answers(_spec()), "OTHER", tmp_path)


def test_without_limits_nothing_is_waited_for_but_pauses(make: Callable[..., Limiter], clock: Clock) -> None:
    limiter = make()
    for _ in range(100):
        use(limiter)
        use(make(tokens=10**9))
    refused(limiter)
    use(limiter)
    assert clock.now == pytest.approx(1_000.0, abs=1e-3)
    refused(limiter, wait=1.0)  # short, amid many answers: nothing else could slow the others down
    use(make())
    assert 1_001.0 <= clock.now <= 1_001.6


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="set QAGEN_STATE to another folder"):
        limited(Answers(_spec()), "K", tmp_path / "file" / "state")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="link does not belong to you"):
        limited(Answers(_spec()), "K", tmp_path / "link")
    limited(Answers(_spec()), "K", tmp_path / "new" / "state")
    assert (tmp_path / "new" / "state").stat().st_mode & 0o777 == 0o700


def test_a_file_system_that_fails_is_a_failure_worth_another_try(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "shared.json").mkdir()
    limiter = Limiter("openai:m", RateLimits(requests=1), tmp_path / "shared", clock, clock.sleep)
    with pytest.raises(TransientModelError, match="openai:m: the state of its limits cannot be stored"):
        use(limiter)


def test_a_paid_answer_is_kept_though_the_file_system_fails(tmp_path: Path, clock: Clock) -> None:
    limiter = Limiter("openai:m", RateLimits(requests=1), tmp_path / "shared", clock, clock.sleep)
    with limiter.attempt(1, NEVER) as started:
        (tmp_path / "shared.json").unlink()
        (tmp_path / "shared.json").mkdir()
        limiter.answered(1, 5)
        limiter.refused(RateLimitedError("busy"), started)


def _model(server: WireServer, wire: str, state: Path, naps: list[float], **fields: Any) -> LedgeredModel:
    spec = ModelSpec(provider=wire, model="m", base_url=server.url(wire), api_key_env="K", **fields)
    provider = limited(build_provider(spec, lambda _: KEY), "K", state)
    return LedgeredModel(provider, Ledger(MemoryBlobs()), sleep=naps.append)


def test_every_attempt_takes_a_permit_and_waits_are_no_attempts(
    make_provider: ProviderMaker, make: Callable[..., Limiter], clock: Clock
) -> None:
    naps: list[float] = []
    limiter = make(requests=3, tokens=600_000, concurrency=1)
    with WireServer([Fault(503), Fault(503), Reply(text="ok", usage=(5_000, 1_000, 0, 0))]) as server:
        provider = LimitedProvider(make_provider(server, max_attempts=3), limiter)
        response = LedgeredModel(provider, Ledger(MemoryBlobs()), sleep=naps.append).respond(ask())
    assert (response.message.text, response.retries, len(naps)) == ("ok", 2, 2)
    assert sum(clock.naps) == pytest.approx(2 * 60 / 0.95 / 3)
    state = limiter.update()
    assert state.tokens == pytest.approx(state.clock + 6_000 / 9_500)


def test_a_refusal_over_http_slows_the_sharers_down(wire: str, tmp_path: Path) -> None:
    naps: list[float] = []
    with WireServer([Fault(429), Fault(429, headers={"retry-after": "3600"}), Reply(text="ok")]) as server:
        model = _model(server, wire, tmp_path, naps, concurrency=8)
        with pytest.raises(TransientModelError, match="gave up after 2 attempts"):
            model.respond(ask())
        other = _model(server, wire, tmp_path, naps, concurrency=8, deadline_seconds=5)
        with pytest.raises(
            TransientModelError, match=r"next attempt in (599|600) s, after the call's deadline"
        ):
            other.respond(ask("Another."))
    assert len(server.requests) == 2


PAUSE = 1.0
THREADS = 8
BUSY = Fault(429, headers={"retry-after": "3600"})


def test_no_thread_asks_while_a_model_without_limits_is_to_be_left_alone(wire: str, tmp_path: Path) -> None:
    arrivals: list[float] = []
    refused = threading.Event()

    def script(seen: Seen, number: int) -> Step:
        del seen
        arrivals.append(time.monotonic())
        return Reply(text="ok") if number > 1 else Fault(429, headers={"retry-after": f"{PAUSE:g}"})

    def nap(seconds: float) -> None:
        refused.set()
        time.sleep(seconds)

    with WireServer(script) as server:
        spec = ModelSpec(provider=wire, model="m", base_url=server.url(wire), api_key_env="K")

        def respond(number: int) -> None:
            provider = limited(build_provider(spec, lambda _: KEY), "K", tmp_path)
            LedgeredModel(provider, Ledger(MemoryBlobs()), sleep=nap).respond(ask(f"question {number}"))

        threads = [threading.Thread(target=respond, args=(number,)) for number in range(THREADS)]
        threads[0].start()
        assert refused.wait(60)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(arrivals) == THREADS + 1
    assert min(arrivals[1:]) - arrivals[0] >= PAUSE


CHILD = """
import sys
from pathlib import Path
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.messages import Request, Text, UserMessage
from qagen_dagster.models.providers import build_model
from tests.support.blobs import MemoryBlobs
spec = ModelSpec.model_validate_json(sys.argv[1])
model = build_model(spec, Ledger(MemoryBlobs()), lambda _: "key", Path(sys.argv[2]))
try:
    model.respond(Request(system="", messages=(UserMessage(content=(Text(text="Another."),)),)))
except Exception as error:
    print(error)
"""


def test_another_process_keeps_the_pause(wire: str, tmp_path: Path) -> None:
    with WireServer([BUSY, Reply(text="ok")]) as server:
        spec = ModelSpec(
            provider=wire, model="m", base_url=server.url(wire), api_key_env="K", deadline_seconds=9
        )
        model = build_model(spec, Ledger(MemoryBlobs()), lambda _: KEY, tmp_path)
        with pytest.raises(RateLimitedError):
            model.respond(ask())
        words = [sys.executable, "-c", CHILD, spec.model_dump_json(), str(tmp_path)]
        done = subprocess.run(
            words, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120, check=True
        )
        assert "its limits allow the next attempt in" in done.stdout
        assert len(server.requests) == 1


def _endpoint(wire: str, server: BatchServer, state: Path) -> LimitedBatch:
    spec = ModelSpec(
        provider=wire, model="m-1", base_url=server.url(wire), api_key_env="K", timeout_seconds=5
    )
    kind = {"openai": OpenAIBatch, "anthropic": AnthropicBatch}[wire]
    return LimitedBatch(kind(spec, KEY), spec, "K", state)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_pause_of_the_model_holds_for_its_batches(name: str, tmp_path: Path) -> None:
    with BatchServer(lambda _: BUSY) as server:
        spec = ModelSpec(
            provider=name, model="m-1", base_url=server.url(name), api_key_env="K", deadline_seconds=9
        )
        direct = build_model(spec, Ledger(MemoryBlobs()), lambda _: KEY, tmp_path)
        with pytest.raises(RateLimitedError):
            direct.respond(ask())
        endpoint = _endpoint(name, server, tmp_path)
        with retry.call_deadline(9):
            for call in (
                lambda: endpoint.submit("job-1", [("k", question(1))]),
                lambda: endpoint.poll("batch_1"),
                lambda: endpoint.results("batch_1"),
            ):
                with pytest.raises(TransientModelError, match="its limits allow the next attempt in"):
                    call()
        assert (server.uploads, server.batches, server.polled.is_set()) == (0, [], False)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_pause_of_batches_holds_for_batches_alone(name: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        server.submit_faults = [BUSY]
        with pytest.raises(RateLimitedError):
            _endpoint(name, server, tmp_path).submit("job-1", [("k", question(1))])
        with (
            retry.call_deadline(9),
            pytest.raises(TransientModelError, match="its limits allow the next attempt in"),
        ):
            _endpoint(name, server, tmp_path).poll("batch_1")
        spec = ModelSpec(
            provider=name, model="m-1", base_url=server.url(name), api_key_env="K", deadline_seconds=9
        )
        direct = build_model(spec, Ledger(MemoryBlobs()), lambda _: KEY, tmp_path)
        assert direct.respond(question(1)).message.text == "answer\u20281"
