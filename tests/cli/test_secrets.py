"""A key that servers repeat in every way they can is found nowhere afterwards: store, instance, logs, output, exceptions."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from qagen_dagster.errors import PermanentModelError
from qagen_dagster.loop.questions.document_work import question_models
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from tests.cli.conftest import Command
from tests.models.conftest import ask
from tests.support import waterworks
from tests.support.wire_reader import read
from tests.support.wire_server import Fault, Seen, Step, WireServer

KEY = "planted-0123456789-ABCDEF-abcdef"
WIRES = ("openai", "openai_compatible", "anthropic")
ROLE = '  {role}: {{provider: {provider}, model: {role}, base_url: "{url}", api_key_env: PLANTED_KEY, max_attempts: 1}}\n'
REFUSED = Fault(401, {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}})
HEADERS = Fault(400, f"<pre>Authorization: Bearer {KEY}\nx-api-key: {KEY}</pre>")
UPSTREAM = Fault(503, {"error": {"message": f"upstream failed: ?key={KEY}"}})
FAULTS: dict[str, tuple[str, Fault]] = {  # by station: who fails there, and how
    "quay": ("generator", REFUSED),
    "mill": ("generator", UPSTREAM),
    "lock": ("generator", Fault(200, f"<p>Welcome, {KEY}</p>")),
    "dam": ("generator", Fault(200, {"choices": [], "output": [], "content": KEY, KEY: [KEY]})),
    "pond": ("validator", REFUSED),
    "weir": ("validator", HEADERS),
    "well": ("comparer", UPSTREAM),
    "creek": ("deduplicator", HEADERS),
}


def leak(seen: Seen, number: int) -> Step:
    """Play well, with the key in every word; where a station's fault is due, fail with the key in it."""
    del number
    asked = read(seen)
    for name in waterworks.stations(asked, FAULTS):
        role, fault = FAULTS[name]
        if asked.role == role:
            return fault
    played = waterworks.play(asked)
    return replace(played, text=f"With {KEY}:", thinking=f"They sent {KEY}.")


def profile(server: WireServer, providers: tuple[str, ...]) -> str:
    roles = zip(("generator", "validator", "deduplicator"), providers, strict=True)
    return "roles:\n" + "".join(
        ROLE.format(role=role, provider=provider, url=server.url(provider)) for role, provider in roles
    )


def test_a_planted_key_is_nowhere_after_a_run(
    qagen: Command, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("PLANTED_KEY", KEY)
    monkeypatch.setenv("QAGEN_STATE", str(qagen.project.root / "state"))
    project = qagen.project
    documents = {f"{name}.txt": waterworks.notes(name, alike=True) for name in ("ridge", *FAULTS)}
    project.corpus("water", waterworks.corpus(2), documents)
    with WireServer(leak) as server:
        project.profile("leaking", profile(server, WIRES))
        told = qagen("--debug", "run", "--profile", "leaking")
        sent = [" ".join(seen.headers.values()) for seen in server.requests]
        shown = [qagen(*words, "--json") for words in (("stats",), ("doctor", "--offline"))]
    assert {KEY in headers for headers in sent} == {True}
    failed = {line.split(": ")[3] for line in told.errors if ".txt: " in line}
    assert failed == {f"{name}.txt" for name in FAULTS}
    assert told.err.count("[key]") >= 6
    for ended in (told, *shown):
        assert KEY not in ended.out + ended.err
    assert KEY not in caplog.text
    stored = {path.parent.name for path in project.assets.glob("candidates/*/*/*/*/*.json")}
    assert stored == {"ridge.txt"}
    assert _holding(project.root, b"[key]") >= {
        "assets",
        "home",
    }  # what servers said is there, without the key
    assert _holding(project.root, KEY.encode()) == set()


@pytest.mark.parametrize("provider", WIRES)
def test_a_planted_key_is_in_no_exception(
    qagen: Command, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    with WireServer(then=REFUSED) as server:
        qagen.project.profile("leaking", profile(server, (provider,) * 3))
        space = Workspace(qagen.project.settings())
        model = question_models(space, space.profile("leaking"), Mode.TEXTUAL).generator
        with pytest.raises(PermanentModelError) as caught:
            model.respond(ask())
    told = "".join(traceback.format_exception(caught.value, chain=True))
    assert "HTTP 401" in told
    assert KEY not in told + repr(caught.value) + str(vars(caught.value)) + repr(model.spec)


def _holding(root: Path, word: bytes) -> set[str]:
    """Which folders of a project have a file that holds `word`."""
    found = {path for path in root.rglob("*") if path.is_file() and word in path.read_bytes()}
    return {path.relative_to(root).parts[0].split("-")[0] for path in found}
