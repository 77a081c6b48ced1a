from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.models.probe import Finding, probe_embedder
from qagen_dagster.models.vectors import EmbedderSpec
from tests.support.embeddings import embeddings
from tests.support.wire_server import Fault, Seen, Step, WireServer


def look(
    server: WireServer | None, root: Path, key: str = "sk-1", *, offline: bool = False, **fields: Any
) -> list[Finding]:
    url = "http://127.0.0.1:9/v1" if server is None else server.url("openai_compatible")
    spec = EmbedderSpec(
        provider="openai_compatible", model="e-1", base_url=url, api_key_env="THE_KEY", **fields
    )
    return list(probe_embedder(spec, lambda _: key, root / "state", offline=offline))


def test_an_embedder_that_works_is_asked_once_and_tells_its_size(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        found = look(server, tmp_path)
        assert len(server.requests) == 1
    assert [(one.what, one.good) for one in found] == [("key", True), ("vectors", True)]
    assert found[1].detail.startswith("8 dimensions, from http://127.0.0.1")


def test_offline_nothing_is_asked_and_a_missing_key_is_told(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        assert [(one.what, one.good) for one in look(server, tmp_path, offline=True)] == [("key", True)]
        (missing,) = look(server, tmp_path, key="")
        assert server.requests == []
    assert (missing.what, missing.good) == ("key", False)
    assert "THE_KEY" in missing.detail


def test_the_one_in_this_process_needs_nothing(tmp_path: Path) -> None:
    (found,) = probe_embedder(EmbedderSpec(), lambda _: None, tmp_path)
    assert (found.good, found.detail) == (True, "runs in this process; it needs no key and no server")


@pytest.mark.parametrize(
    ("step", "what", "told"),
    [
        (Fault(401, {"error": {"message": "who are you"}}), "key", "correct THE_KEY"),
        (
            Fault(404, {"error": {"message": "no such model"}}),
            "server",
            "is 'e-1' the server's name of the model?",
        ),
        (Fault(200, {"choices": []}), "vectors", "is 'e-1' an embedding model?"),
        (Fault(503), "server", "the server has an internal error"),
    ],
)
def test_what_would_fail_is_told_with_what_to_change(
    tmp_path: Path, step: Step, what: str, told: str
) -> None:
    with WireServer([], then=step) as server:
        *_, last = look(server, tmp_path)
    assert (last.what, last.good) == (what, False)
    assert told in last.detail


def test_a_size_that_the_server_does_not_keep_to(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        *_, last = look(server, tmp_path, dimensions=16)
    assert last.good is False
    assert "8 dimensions instead of the requested 16" in last.detail


def test_vectors_that_mean_nothing_are_not_decided(tmp_path: Path) -> None:
    def backwards(seen: Seen, _: int) -> Step:
        rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]
        return Fault(200, {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]})

    with WireServer(backwards) as server:
        *_, last = look(server, tmp_path)
    assert last.good is None
    assert "no closer (0.00)" in last.detail


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    *_, last = look(None, tmp_path)
    assert (last.what, last.good) == ("server", False)
    assert "start the server" in last.detail
