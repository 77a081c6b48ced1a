"""What a server wishes is kept by all who use its model on this machine, over HTTP and without any declared limit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from qagen_dagster.errors import RateLimitedError, TransientModelError
from qagen_dagster.models import retry
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.batcher import LimitedBatch
from qagen_dagster.models.ledger import Ledger, LedgeredModel
from qagen_dagster.models.providers import build_model, build_provider
from qagen_dagster.models.rate_limits import limited
from qagen_dagster.models.wires.anthropic import AnthropicBatch
from qagen_dagster.models.wires.openai import OpenAIBatch
from qagen_dagster.settings import PROJECT_ROOT
from tests.models.conftest import KEY, ask
from tests.support.batches.bench import echo, question
from tests.support.batches.server import BatchServer
from tests.support.blobs import MemoryBlobs
from tests.support.wire_server import Fault, Reply, Seen, Step, WireServer

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
from qagen_dagster.models.registry import build_model
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
