from __future__ import annotations

import json
import uuid
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

KEY = "sk-planted-0123456789abcdef"
ROLE = '  {role}: {{provider: openai_compatible, model: {model}, base_url: "{url}", api_key_env: A_KEY}}\n'


def answer(seen: Seen, _: int) -> Step:
    """A model that sees and fills in forms; `mute` calls no tool."""
    body, sent = seen.body, str(seen.body)
    if "image_url" in sent:
        return Reply(text="Yellow and blue.")
    if "response_format" in body:
        return Reply(text='{"colour": "red", "number": 1}')
    calls = "tools" in body and body["model"] != "mute"
    return Reply(calls=(Call("look", {"number": 7}),)) if calls else Reply(text="ready")


def bind(qagen: Command, server: WireServer, deduplicator: str) -> None:
    models = {"generator": "asker", "validator": "judge", "deduplicator": deduplicator}
    url = server.url("openai_compatible")
    lines = [ROLE.format(role=role, model=model, url=url) for role, model in models.items()]
    qagen.project.profile("mine", "roles:\n" + "".join(lines))


def test_each_model_is_tried_and_told_what_to_change(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with WireServer(answer) as server:
        bind(qagen, server, "mute")
        ended = qagen("doctor", "--profile", "mine")
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert "ok   generator openai_compatible:asker: key: A_KEY is set" in lines
    assert "ok   validator openai_compatible:judge: pictures: seen" in lines
    assert (
        "FAIL deduplicator openai_compatible:mute: tools: tools are not called (the model replied 'ready'): "
        "set tool_calling: emulated"
    ) in lines
    assert not [line for line in lines if "deduplicator" in line and "pictures" in line]
    assert KEY not in ended.out + ended.err


def test_the_longest_document_is_tried(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    texts = {"short.txt": "Rain. " * 10, "long.md": "It rains. " * 2_000, "table.csv": "1,2\n" * 50_000}
    qagen.project.corpus("water", waterworks.corpus(1), texts)

    def small(seen: Seen, number: int) -> Step:
        refusal = Fault(400, {"error": {"message": "that is too much"}})
        return (
            refusal
            if len(str(seen.body)) > 20_000 and seen.body["model"] == "judge"
            else answer(seen, number)
        )

    with WireServer(small) as server:
        bind(qagen, server, "asker")
        ended = qagen("doctor", "--profile", "mine")
    assert [line for line in ended.out.splitlines() if ": long prompt: " in line] == [
        "ok   generator, deduplicator openai_compatible:asker: long prompt: 28,000 characters are read",
        "-    validator openai_compatible:judge: long prompt: a prompt of about 28,000 characters is refused "
        "(HTTP 400: that is too much): runs show smaller parts",
    ]


def test_offline_asks_nothing_and_misses_keys(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with WireServer(answer) as server:
        bind(qagen, server, "asker")
        good = qagen("doctor", "--profile", "mine", "--offline", "--json")
        monkeypatch.delenv("A_KEY")
        ended = qagen("doctor", "--profile", "mine", "--json")
        assert server.requests == []
    told = {one["check"]: one["ok"] for one in json.loads(good.out)}
    assert told["generator, deduplicator openai_compatible:asker: key"] is True
    missing = [one["detail"] for one in ended.value if one["check"].endswith(": key")]
    assert missing == [
        f"openai_compatible:{model} needs a key: set A_KEY in the environment" for model in ("asker", "judge")
    ]
    assert ended.code == 1


def test_the_help_says_that_it_costs(qagen: Command) -> None:
    told = " ".join(qagen("doctor", "--help").out.split())
    assert "costs a few thousand tokens for each model, and the tokens of the longest document" in told
    assert "--offline" in told


class Careless(MemoryFileSystem):
    """A server that writes an object whether it exists or not."""

    protocol = "careless"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        super().pipe_file(path, value, "overwrite", **kwargs)


@pytest.mark.parametrize("protocol", ["memory", "careless"])
def test_a_store_that_cannot_lock_is_named(
    qagen: Command, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    fsspec.register_implementation("careless", Careless, clobber=True)
    monkeypatch.setenv("QAGEN_ASSETS", f"{protocol}://{uuid.uuid4().hex}")
    found = {one["check"]: one for one in qagen("doctor", "--offline", "--json").value}["store"]
    assert found["ok"] is (protocol == "memory")
    assert ("ignores `If-None-Match: *`" in found["detail"]) is (protocol == "careless")
