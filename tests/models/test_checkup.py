from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from qagen_dagster.models.checkup import TOKENS, Finding, probe, probe_embedder
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.models.spec import ModelSpec
from tests.models.conftest import KEY, WIRES
from tests.support.embeddings import embeddings
from tests.support.wire_server import Call, Fault, Hang, Reply, Seen, Step, WireServer

READY = Reply(text="ready")
CHOICE = Reply(text='{"colour": "red", "number": 3}')
LOOK = Reply(calls=(Call("look", {"number": 7}),), thinking="Hm.")
SEEN = Reply(text="Yellow and blue.")
HEALTHY = (READY, CHOICE, LOOK, SEEN, LOOK)
Run = Callable[..., dict[str, Finding]]


@pytest.fixture
def run(wire: str) -> Run:
    """Probe a server that plays `steps`; the findings by name."""

    def probed(*steps: Step, server: WireServer | None = None, **settings: Any) -> dict[str, Finding]:
        with server or WireServer(steps) as running:
            values: dict[str, Any] = {"provider": wire, "model": "m-1", "base_url": running.url(wire)}
            spec = ModelSpec.model_validate({**values, "api_key_env": "THE_KEY", **settings})
            found = list(probe(spec, {"THE_KEY": KEY}.get, pictures=True))
        assert KEY not in str(found)
        assert all("\n" not in finding.detail for finding in found)
        return {finding.what: finding for finding in found}

    return probed


def bad(found: dict[str, Finding]) -> list[str]:
    return [what for what, finding in found.items() if finding.good is False]


def test_a_healthy_model(run: Run, wire: str) -> None:
    server = WireServer(HEALTHY)
    found = run(server=server)
    assert {what: finding.good for what, finding in found.items()} == dict.fromkeys(
        ("key", "server", "structured output", "tools", "pictures", "forced tool"), True
    )
    assert found["key"].detail == "THE_KEY is set"
    limits = [body.get("max_output_tokens") or body.get("max_tokens") for body in server.bodies]
    assert limits == [TOKENS] * 5
    last = json.dumps(server.bodies[3])
    assert "image" in last
    assert "Hm." in last or "sealed" in last  # the call goes back with its reasoning
    assert server.bodies[3]["tool_choice"] == ({"type": "none"} if wire == "anthropic" else "none")


def test_the_picture_is_a_picture() -> None:
    server = WireServer(HEALTHY)
    with server:
        spec = ModelSpec(provider="anthropic", model="m", base_url=server.url("anthropic"))
        assert len(list(probe(spec, lambda _: KEY, pictures=True))) == 6
    block = server.bodies[3]["messages"][2]["content"][0]["content"][-1]
    image: Any = pymupdf.Pixmap(base64.b64decode(block["source"]["data"]))
    assert (image.width, image.height) == (64, 64)
    assert (image.pixel(5, 5), image.pixel(5, 60)) == ((255, 255, 0), (0, 0, 255))


def test_no_tool_call(run: Run) -> None:
    found = run(READY, CHOICE, Reply(text="I cannot look."), SEEN)
    assert bad(found) == ["tools"]
    assert found["tools"].detail == (
        "tools are not called (the model replied 'I cannot look.'): set tool_calling: emulated"
    )
    assert found["pictures"].good


@pytest.mark.parametrize(
    "call",
    [Call("look", {}), Call("see", {"number": 7}), Call("look", raw='{"number"')],
    ids=["none", "name", "cut"],
)
def test_a_call_not_as_asked(run: Run, call: Call) -> None:
    found = run(READY, CHOICE, Reply(calls=(call,)), SEEN)
    assert bad(found) == ["tools"]
    assert "tools are not called as asked" in found["tools"].detail
    assert found["tools"].detail.endswith("set tool_calling: emulated")


def test_tools_refused(run: Run) -> None:
    refusal = Fault(400, {"error": {"message": "auto tool choice requires a parser"}})
    found = run(READY, CHOICE, refusal, SEEN)
    assert bad(found) == ["tools"]
    assert "refused (HTTP 400: auto tool choice requires a parser): set tool_calling: emulated" in (
        found["tools"].detail
    )


def test_emulated_tools(run: Run) -> None:
    action = Reply(text='{"tool": "look", "arguments": {"number": 7}}')
    found = run(READY, CHOICE, action, SEEN, tool_calling="emulated")
    assert bad(found) == []
    assert found["tools"].detail == "called as asked, emulated"
    found = run(READY, CHOICE, Reply(text="Nice picture."), SEEN, tool_calling="emulated")
    assert bad(found) == ["tools"]
    assert "bind a model" in found["tools"].detail


def test_pictures_refused(run: Run) -> None:
    found = run(READY, CHOICE, LOOK, Fault(400, {"error": {"message": "image input is not supported"}}))
    assert bad(found) == ["pictures"]
    assert "refused (HTTP 400: image input is not supported): set images: false" in found["pictures"].detail


def test_pictures_taken_and_not_seen(run: Run) -> None:
    found = run(READY, CHOICE, LOOK, Reply(text="Red and green."))
    assert bad(found) == ["pictures"]
    assert "as 'Red and green.'): set images: false" in found["pictures"].detail


def test_a_model_without_eyes_is_not_shown_any(run: Run) -> None:
    server = WireServer(HEALTHY)
    found = run(server=server, images=False)
    assert found["pictures"].good is None
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key(run: Run, status: int) -> None:
    server = WireServer(then=Fault(status, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    found = run(server=server)
    assert (list(found), bad(found)) == (["key"], ["key"])
    assert "the server refuses the key" in found["key"].detail
    assert found["key"].detail.endswith("correct THE_KEY")
    assert len(server.requests) == 1


def test_nobody_listens(run: Run) -> None:
    with WireServer() as gone:
        pass
    found = run(base_url=gone.url("openai"))
    assert bad(found) == ["server"]
    assert list(found) == ["key", "server"]
    assert "connection failed" in found["server"].detail
    assert found["server"].detail.endswith("start the server, or correct base_url")


def test_a_server_that_says_nothing_is_left_in_time(run: Run) -> None:
    found = run(Hang(5), timeout_seconds=0.3)
    assert bad(found) == ["server"]
    assert "no response within 0.3 s" in found["server"].detail


@pytest.mark.parametrize(
    ("step", "good", "said"),
    [
        (
            Fault(404, {"error": {"message": "no such model"}}),
            False,
            "is 'm-1' the server's name of the model?",
        ),
        (
            Fault(402, {"error": {"message": "Payment needed"}}),
            False,
            "no credit): add credit to the account",
        ),
        (Fault(403, {"message": "account balance is insufficient"}), False, "no credit): add credit"),
        (Fault(429), None, "not decided: the server is busy"),
        (Fault(503), False, "the server has an internal error"),
        (Fault(400, {"error": {"message": "temperature is not supported"}}), False, "correct temperature"),
        (Fault(200, {"hello": "world"}), False, "is base_url the right one"),
        (Fault(200, "<html>"), False, "correct base_url"),
    ],
    ids=["404", "402", "403", "429", "503", "400", "foreign", "page"],
)
def test_a_server_that_does_not_answer(run: Run, step: Step, good: bool | None, said: str) -> None:
    found = run(step)
    assert list(found) == ["key", "server"]
    assert found["server"].good is good
    assert said in found["server"].detail


@pytest.mark.parametrize(
    ("mode", "advice"), [("json_schema", "json_object or none"), ("json_object", "none")]
)
def test_structured_output_refused(run: Run, mode: str, advice: str) -> None:
    refusal = Fault(400, {"error": {"message": "unknown response format"}})
    found = run(READY, refusal, LOOK, SEEN, structured_output=mode)
    assert bad(found) == ["structured output"]
    assert found["structured output"].detail.endswith(f"set structured_output: {advice}")


def test_structured_output_that_is_not_enforced(run: Run) -> None:
    found = run(READY, Reply(text="Red, three."), CHOICE, LOOK, SEEN)
    assert found["structured output"].good is None
    assert "second attempt" in found["structured output"].detail
    found = run(READY, Reply(text="Red."), Reply(text="Three."), LOOK, SEEN)
    assert bad(found) == ["structured output"]


@pytest.mark.parametrize("what", ["structured output", "tools", "pictures"])
def test_what_is_cut_off_or_busy_is_not_decided(run: Run, what: str) -> None:
    place = ("server", "structured output", "tools", "pictures").index(what)
    for step in (Reply(text="Hm", stop="length"), Fault(503)):
        twice = [step] * (2 if what == "structured output" and isinstance(step, Reply) else 1)
        found = run(*HEALTHY[:place], *twice, *HEALTHY[place + 1 :])
        assert found[what].good is None
        assert "not decided" in found[what].detail
        assert bad(found) == []


def test_a_budget_for_thinking_comes_on_top() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 4000}}
    with WireServer(HEALTHY) as server:
        spec = ModelSpec(
            provider="anthropic",
            model="m",
            base_url=server.url("anthropic"),
            options=thinking,
            max_output_tokens=9000,
        )
        assert all(finding.good for finding in probe(spec, lambda _: KEY, pictures=True))
    assert {body["max_tokens"] for body in server.bodies} == {4000 + TOKENS}


@pytest.mark.parametrize("wire", WIRES)
def test_offline_nothing_is_asked(wire: str) -> None:
    with WireServer() as server:
        spec = ModelSpec(provider=wire, model="m", base_url=server.url(wire), api_key_env="THE_KEY")
        (found,) = probe(spec, {"THE_KEY": KEY}.get, pictures=True, offline=True)
        (missing,) = probe(spec, lambda _: None, pictures=True)
    assert (found.what, found.good, server.requests) == ("key", True, [])
    assert (missing.what, missing.good) == ("key", False)
    assert "set THE_KEY in the environment" in missing.detail


def test_models_in_this_process_need_nothing() -> None:
    (found,) = probe(ModelSpec(provider="embedded", model="rules"), lambda _: None, pictures=True)
    assert (found.what, found.good) == ("model", True)


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"provider": "nowhere"}, "unknown provider"), ({"base_url": "localhost:8000"}, "is not an http://")],
)
def test_settings_that_cannot_be_used(settings: dict[str, str], said: str) -> None:
    (found,) = probe(
        ModelSpec.model_validate({"provider": "openai_compatible", "model": "m", **settings}), lambda _: None
    )
    assert (found.what, found.good) == ("settings", False)
    assert said in found.detail


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


def test_a_refused_forced_call_is_told_beforehand(run: Run) -> None:
    refusal = Fault(400, {"error": {"message": "tool_choice does not support being set to required"}})
    found = run(READY, CHOICE, LOOK, SEEN, refusal)["forced tool"]
    assert (found.good, found.detail.endswith("runs ask without forcing it")) == (None, True)
    assert "does not support" in found.detail
    other = Fault(400, {"error": {"message": "failed to parse grammar"}})
    assert run(READY, CHOICE, LOOK, SEEN, other)["forced tool"].good is None
    failed = run(READY, CHOICE, LOOK, SEEN, Fault(403, {"error": {"message": "no such thing"}}))
    assert bad(failed) == ["forced tool"]
    assert run(READY, CHOICE, LOOK, SEEN, Reply(text="No."))["forced tool"].good is None


@pytest.mark.parametrize("model", ["rules2", "Rules", "minilm"])
def test_an_unknown_embedded_model(model: str) -> None:
    (found,) = probe(ModelSpec(provider="embedded", model=model), lambda _: None)
    assert (found.good, f"no model {model!r}" in found.detail) == (False, True)
    (found,) = probe(ModelSpec(provider="embedded", model="rules"), lambda _: None)
    assert found.good


@pytest.mark.parametrize(
    ("most", "good", "said"),
    [
        (100_000, True, "38,000 characters are read"),
        (20_000, None, r"a prompt of about 38,000 characters is refused \(.*\): runs show smaller parts"),
        (9_000, False, r"a prompt of about 15,500 characters is refused .* set opening_characters to less"),
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_prompt_as_long_as_those_of_a_run(
    wire: str, most: int, good: bool | None, said: str, status: int
) -> None:
    script = iter((READY, CHOICE, LOOK, LOOK))

    def step(seen: Seen, _number: int) -> Step:
        size = len(json.dumps(seen.body))
        return next(script, READY) if size < most else Fault(status, {"error": {"message": "too much"}})

    with WireServer(step) as server:
        spec = ModelSpec(provider=wire, model="m", base_url=server.url(wire), api_key_env="THE_KEY")
        found = {one.what: one for one in probe(spec, {"THE_KEY": KEY}.get, longest=30_000)}
    assert found["long prompt"].good is good
    assert re.search(said, found["long prompt"].detail)


def test_a_reply_that_was_cut_off_is_told_with_its_limit(run: Run) -> None:
    cut = Reply(text="Well", stop="length")
    found = run(READY, cut, cut, cut, cut, cut, max_output_tokens=96)
    for what in ("tools", "pictures", "forced tool"):
        assert found[what].good is None
        assert "cut off after 96 tokens" in found[what].detail
