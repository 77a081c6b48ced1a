""""""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.configuration.profiles import Profile, Role, load_profile
from qagen_dagster.loop.profile_checkup import bindings, checkup
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.models.spec import ModelSpec
from tests.support.embeddings import embeddings
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer


def answer(seen: Seen, _: int) -> Step:
    """A model that does everything, except that `blind` takes no pictures."""
    body, sent = seen.body, str(seen.body)
    if "image_url" in sent:
        return (
            Fault(400, {"error": {"message": "no pictures"}})
            if body["model"] == "blind"
            else Reply(text="yellow, blue")
        )
    if "response_format" in body:
        return Reply(text='{"colour": "red", "number": 1}')
    return Reply(calls=(Call("look", {"number": 7}),)) if "tools" in body else Reply(text="ready")


def profile(server: WireServer, **models: dict[str, Any]) -> Profile:
    url = server.url("openai_compatible")
    roles = {
        Role(role): ModelSpec.model_validate({"provider": "openai_compatible", "base_url": url, **values})
        for role, values in models.items()
    }
    return Profile(roles=roles)


def test_a_model_is_asked_once_for_all_its_roles() -> None:
    with WireServer(answer) as server:
        chosen = profile(
            server,
            generator={"model": "sees"},
            validator={"model": "blind"},
            deduplicator={"model": "sees", "timeout_seconds": 5},
        )
        found = list(checkup(chosen, lambda _: None))
    assert [bound.roles for bound in bindings(chosen)] == [("generator", "deduplicator"), ("validator",)]
    assert [(who, one.what) for who, one in found if one.good is False] == [
        ("validator openai_compatible:blind", "pictures")
    ]
    assert len(server.requests) == 10


def test_pictures_are_for_those_who_are_shown_some() -> None:
    with WireServer(answer) as server:
        chosen = profile(
            server, generator={"model": "a"}, validator={"model": "b"}, deduplicator={"model": "blind"}
        )
        found = list(checkup(chosen, lambda _: None))
    assert [one.what for who, one in found if who.endswith(":blind")] == [
        "key",
        "server",
        "structured output",
        "tools",
        "forced tool",
    ]
    assert not [one for _, one in found if one.good is False]


def test_a_role_of_visual_mode_alone_is_told_apart() -> None:
    bound = bindings(load_profile("ollama", None))
    assert [(one.spec.model, one.roles, one.pictures) for one in bound] == [
        ("gpt-oss:20b", ("generator",), False),
        ("mistral-small3.2:24b", ("visual generator",), True),
        ("qwen3:14b", ("validator", "judge"), False),
        ("qwen3-vl:8b", ("visual validator",), True),
        ("qwen3:4b", ("deduplicator",), False),
        ("gpt-oss:20b", ("answerer",), False),  # with settings of its own
    ]


def test_offline_only_keys_are_looked_for() -> None:
    looked: list[str] = []

    def secret(name: str) -> str | None:
        looked.append(name)
        return None

    found = list(checkup(load_profile("mixed", None), secret, offline=True))
    assert [one.good for _, one in found] == [False, False, False]
    assert set(looked) == {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}


def test_a_judge_and_an_answerer_are_looked_at_where_they_are_bound() -> None:
    usual = {"generator": {"model": "a"}, "validator": {"model": "b"}, "deduplicator": {"model": "c"}}
    with WireServer(answer) as server:
        without, judged = (
            profile(server, **usual),
            profile(server, **usual, judge={"model": "b"}, answerer={"model": "d"}),
        )
        assert {name for bound in bindings(without) for name in bound.roles if "judge" in name} == set()
        assert [bound.roles for bound in bindings(judged)] == [
            ("generator",),
            ("validator", "judge"),
            ("deduplicator",),
            ("answerer",),
        ]
        found = list(checkup(judged, lambda _: None))
    assert "answerer openai_compatible:d" in {who for who, _ in found}
    assert all(one.good is not False for _, one in found)


def test_the_embedder_is_looked_at_where_limits_can_be_shared(tmp_path: Path) -> None:
    with WireServer(embeddings) as server:
        spec = EmbedderSpec(
            provider="openai_compatible", model="e-1", base_url=server.url("openai_compatible")
        )
        chosen = load_profile("embedded", None).model_copy(update={"embedder": spec})
        found = list(checkup(chosen, lambda _: None, state=tmp_path / "state"))
    asked = [(one.what, one.good) for who, one in found if who == "embedder openai_compatible:e-1"]
    assert asked == [("key", None), ("vectors", True)]


def test_models_that_are_shown_documents_get_the_longest_prompt_of_a_run() -> None:
    with WireServer(answer) as server:
        chosen = profile(
            server,
            generator={"model": "a", "opening_characters": 20_000},
            validator={"model": "b", "opening_characters": 50_000},
            deduplicator={"model": "c"},
        )
        found = list(checkup(chosen, lambda _: None, sizes=[300, 40_000, 60_000]))
    assert {who: one.detail for who, one in found if one.what == "long prompt"} == {
        "generator openai_compatible:a": "16,000 characters are read",
        "validator openai_compatible:b": "48,000 characters are read",
    }


def test_variables_that_no_client_can_use_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://h:1")
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    with WireServer(answer) as server:
        chosen = profile(
            server, generator={"model": "a"}, validator={"model": "b"}, deduplicator={"model": "a"}
        )
        found = list(checkup(chosen, lambda _: None))
        environment = [("environment", "ALL_PROXY", False), ("environment", "SSL_CERT_DIR", False)]
        assert [(who, one.what, one.good) for who, one in found[:2]] == environment
        assert len(found) > 2, "a server on this machine is asked without them"
        assert all(one.good is not False for _, one in found[2:])
        asked = len(server.requests)
        roles = {
            role: one.model_copy(update={"base_url": "http://h.example"})
            for role, one in chosen.roles.items()
        }
        away = list(checkup(chosen.model_copy(update={"roles": roles}), lambda _: None))
    assert [(who, one.what, one.good) for who, one in away] == environment
    assert len(server.requests) == asked
    embedded = load_profile("embedded", None)
    assert all(one.good for _, one in checkup(embedded, lambda _: None))
