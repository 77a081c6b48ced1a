from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qagen_dagster.errors import (
    BudgetExhaustedError,
    ConfigError,
    MalformedResponseError,
    ModelError,
    PermanentModelError,
)
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.embedders import Embedder, EmbedderSpec
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.providers import build_embedder
from tests.support.blobs import MemoryBlobs
from tests.support.embeddings import embeddings, vector
from tests.support.meters import CallMeter
from tests.support.wire_server import Drop, Fault, Step, WireServer

KEY = "sk-planted-0123456789abcdef"
EmbedderMaker = Callable[..., Embedder]


@pytest.fixture
def make(tmp_path: Path) -> EmbedderMaker:
    blobs = MemoryBlobs()

    def build(server: WireServer, meter: Meter | None = None, **settings: Any) -> Embedder:
        values: dict[str, Any] = {"provider": "openai_compatible", "model": "e-1", "timeout_seconds": 5}
        spec = EmbedderSpec(**{**values, "base_url": server.url("openai"), **settings})
        kept = settings.get("api_key_env")
        found = Ledger(blobs)
        return build_embedder(spec, found, lambda name: KEY if name == kept else None, tmp_path, meter=meter)

    return build


def test_batches_go_over_the_wire_in_order_and_are_of_unit_length(make: EmbedderMaker) -> None:
    with WireServer(embeddings) as server:
        embedder = make(
            server,
            api_key_env="E_KEY",
            batch_size=2,
            dimensions=8,
            passage_prefix="p: ",
            options={"truncate": True},
        )
        found = embedder.passages(["one", "two", "three"])
        asked = embedder.query("two")
    assert [seen.path for seen in server.requests] == ["/v1/embeddings"] * 3
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.bodies[0] == {
        "input": ["p: one", "p: two"],
        "model": "e-1",
        "encoding_format": "float",
        "dimensions": 8,
        "truncate": True,
    }
    assert [body["input"] for body in server.bodies[1:]] == [["p: three"], ["two"]]
    assert found.shape == (3, 8)
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    assert np.allclose(found[2], vector("p: three"))
    assert asked.shape == (8,)


def test_what_was_paid_is_replayed_by_whoever_asks_next(make: EmbedderMaker) -> None:
    with WireServer(embeddings) as server:
        first = make(server, usd_per_million_input=2.0)
        again = make(server, usd_per_million_input=2.0)
        other = make(server, passage_prefix="x")
        assert np.array_equal(first.passages(["one", "two"]), again.passages(["one", "two"]))
        other.passages(["one", "two"])
    assert len(server.requests) == 2
    assert (first.use.calls, first.use.replayed, first.use.tokens) == (1, 0, 20)
    assert first.use.usd == pytest.approx(40e-6)
    assert (again.use.calls, again.use.replayed, again.use.tokens, again.use.usd) == (0, 1, 0, 0.0)
    assert other.use.usd is None


def test_two_threads_that_ask_the_same_pay_once(make: EmbedderMaker) -> None:
    with WireServer(embeddings) as server:
        embedder = make(server)
        threads = [threading.Thread(target=embedder.passages, args=(["same"],)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.requests) == 1
    assert (embedder.use.calls, embedder.use.replayed) == (1, 3)


@pytest.mark.parametrize(
    "fault", [Fault(503), Fault(429, headers={"retry-after-ms": "1"}), Drop(), Drop(partial=True)]
)
def test_transport_failures_are_tried_again(make: EmbedderMaker, fault: Step) -> None:
    with WireServer(lambda seen, number: fault if number == 1 else embeddings(seen, number)) as server:
        assert make(server).passages(["one"]).shape == (1, 8)
    assert len(server.requests) == 2


def test_a_refusal_for_good_is_told_once_and_without_the_key(make: EmbedderMaker) -> None:
    with (
        WireServer([Fault(401, {"error": {"message": f"bad key {KEY}"}})]) as server,
        pytest.raises(PermanentModelError, match="HTTP 401") as caught,
    ):
        make(server, api_key_env="E_KEY").passages(["one"])
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


GOOD = {"index": 0, "embedding": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([GOOD], "1 embeddings for 2 texts"),
        ([GOOD, GOOD], "2 embeddings for 2 texts"),
        ([GOOD, {"index": 1, "embedding": [1.0]}], "different sizes"),
        ([{"index": 0, "embedding": []}, {"index": 1, "embedding": []}], "empty"),
        ([GOOD, {"index": 1, "embedding": [0.0, 0.0]}], "length zero"),
        ("none", "malformed at data"),
    ],
)
def test_a_malformed_answer_is_asked_for_again_and_never_replayed(
    make: EmbedderMaker, data: Any, words: str
) -> None:
    bad, meter = Fault(200, {"data": data}), CallMeter(9)
    with WireServer(lambda seen, number: bad if number <= 2 else embeddings(seen, number)) as server:
        for _ in range(2):
            with pytest.raises(MalformedResponseError, match=words):
                make(server, meter, max_attempts=1).passages(["one", "two"])
        assert make(server, meter, max_attempts=1).passages(["one", "two"]).shape == (2, 8)
        assert make(server).passages(["one", "two"]).shape == (2, 8)
    assert (len(server.requests), meter.spent.calls) == (3, 3)


def test_the_second_attempt_may_be_good(make: EmbedderMaker) -> None:
    with WireServer(
        lambda seen, number: Fault(200, {"data": []}) if number == 1 else embeddings(seen, number)
    ) as server:
        embedder = make(server)
        assert embedder.passages(["one"]).shape == (1, 8)
        assert embedder.passages(["one"]).shape == (1, 8)
    assert len(server.requests) == 2


def test_an_error_under_status_200_is_an_error(make: EmbedderMaker) -> None:
    with (
        WireServer([Fault(200, {"error": {"message": "no such model", "code": 404}})]) as server,
        pytest.raises(ModelError, match="no such model"),
    ):
        make(server).passages(["one"])


def test_nothing_is_asked_for_no_texts(make: EmbedderMaker) -> None:
    with WireServer() as server:
        assert make(server).passages([]).shape[0] == 0
    assert server.requests == []


def test_a_missing_key_names_its_variable(tmp_path: Path) -> None:
    spec = EmbedderSpec(provider="openai", model="text-embedding-3-small")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        build_embedder(spec, Ledger(MemoryBlobs()), lambda _: None, tmp_path)


def test_a_toll_allows_and_counts_what_is_paid_and_no_replay(make: EmbedderMaker) -> None:
    meter = CallMeter(2)
    with WireServer(embeddings) as server:
        free = make(server, batch_size=1, usd_per_million_input=100.0)
        metered = make(server, meter, batch_size=1, usd_per_million_input=100.0)
        metered.passages(["one", "two"])
        metered.passages(["two", "one"])
        with pytest.raises(BudgetExhaustedError):
            metered.query("three")
        assert len(server.requests) == 2
        assert free.query("three").shape == (8,)
    assert (meter.spent.usd, meter.spent.tokens, meter.spent.calls) == (pytest.approx(0.002), 20, 2)
    assert (metered.use.calls, metered.use.replayed, free.use.calls) == (2, 2, 1)
