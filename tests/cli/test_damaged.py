"""Damaged files of the store through the command: each is named, set aside and made again, and nothing is paid twice."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_server import WireServer

WATER, RAIL = "water/facts/textual", "rail/facts/textual"
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""
FILES = ("document.json", "text.txt", "visuals.json")
KINDS = (
    f"candidates/{WATER}/ridge.txt/*.json",
    f"candidates/{WATER}/set.json",
    f"validated/{WATER}/set.json",
    f"grades/{WATER}/ridge.txt/*.json",
    f"grounding/{WATER}/report.json",
    "documents/water/index.json",
    "documents/water/ridge.txt/text.txt",
    "documents/water/ridge.txt/document.json",
    "documents/water/ridge.txt/visuals.json",
)


def damages(content: bytes) -> tuple[bytes, ...]:
    """Truncated, empty, garbage, and JSON of another kind."""
    return content[: len(content) // 2], b"", b"\x00\xff" * 40, b"[1]"


def test_each_damaged_file_is_made_again_and_nothing_is_paid_twice(qagen: Command) -> None:
    project = qagen.project
    for name in ("water", "rail"):
        project.corpus(name, waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    with WireServer(waterworks.answer) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        assert qagen("run", "--profile", "remote").code == 0
        published, asked = project.stored("published"), len(server.requests)
        assert asked
        every = [path for pattern in KINDS for path in project.assets.glob(pattern)]
        for paths in (every[::2], every[1::2]):
            whole = {path: path.read_bytes() for path in paths}
            damaged = {path: damages(whole[path])[number % 4] for number, path in enumerate(paths)}
            for path in paths:
                path.write_bytes(damaged[path])
            ended = qagen("run", "--profile", "remote")
            assert ended.code == 0, ended.err
            said = " ".join(ended.err.split())
            for path in paths:
                assert Path(f"{path}.damaged").read_bytes() == damaged[path]
                assert said.count(f"{path} is not ") == 1, (path, ended.err)
                assert path.is_file()
                assert path.name not in FILES or path.read_bytes() == whole[path]
            assert project.stored("published") == published
            assert len(server.requests) == asked
        assert qagen("run", "--profile", "remote").errors == ["everything is up to date"]


def test_a_damaged_journal_costs_nothing(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    with WireServer(waterworks.answer) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        assert qagen("run", "--profile", "remote").code == 0
        published, asked = project.stored("published"), len(server.requests)
        (journal,) = project.assets.glob(f"journals/{WATER}/ridge.txt/*.json")
        (result,) = project.assets.glob(f"candidates/{WATER}/ridge.txt/*.json")
        events = json.loads(journal.read_bytes())["events"]
        journal.write_bytes(journal.read_bytes()[:-9])
        result.write_bytes(result.read_bytes()[:9])
        assert qagen("run", "--profile", "remote", "--force").code == 0
        again = json.loads(journal.read_bytes())["events"]
        assert [one["kind"] for one in again] == [one["kind"] for one in events]
        assert [path.name for path in journal.parent.glob("*.damaged*")] == [f"{journal.name}.damaged"]
        assert project.stored("published") == published
        assert len(server.requests) == asked


def test_a_damaged_set_does_not_stop_other_combinations(qagen: Command) -> None:
    project = qagen.project
    for name in ("water", "rail"):
        project.corpus(name, waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run", "--json").code == 0
    damaged = [
        project.assets / path
        for path in (
            f"candidates/{RAIL}/set.json",
            f"validated/{RAIL}/set.json",
            f"grounding/{RAIL}/report.json",
            "documents/rail/index.json",
        )
    ]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:20])
    ended = qagen("run", "--corpus", "water", "--target-count", "2")
    assert ended.code == 0, ended.err
    said = " ".join(ended.err.split())
    for path in damaged:
        assert f"left out of the catalog: {path} is not a valid" in said
        assert not Path(f"{path}.damaged").exists()
    assert (
        qagen("evaluate", "--only", "closed_book", "--json")
        .errors[-1]
        .startswith(
            f"qagen: error: {RAIL}: {project.assets}/validated/{RAIL}/set.json is not a valid ValidatedSet"
        )
    )
    assert qagen("status").code == 0
    assert qagen("run", "--force").code == 0
    assert [Path(f"{path}.damaged").is_file() for path in damaged] == [True] * 4


def test_a_damaged_partial_result_is_made_again(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    with WireServer(waterworks.answer) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        run = ("run", "--profile", "remote")
        assert qagen(*run, "--max-calls", "1").code == 0
        (partial,) = project.assets.glob(f"candidates/{WATER}/*/*.partial.json")
        partial.write_bytes(partial.read_bytes()[:30])
        assert qagen(*run, "--max-calls", "1").code == 0
        assert Path(f"{partial}.damaged").stat().st_size == 30
        assert json.loads(partial.read_bytes())["end"] == "budget_exhausted"
        assert qagen(*run).code == 0


def test_damaged_evaluations_are_made_again_and_nothing_is_paid_twice(ran: Command) -> None:
    project, qagen = ran.project, ran
    only = ("evaluate", "--only", "closed_book", "--only", "answers")
    assert qagen(*only, "--json").code == 0
    paid = set(project.stored("ledger"))
    folder = project.assets / "evaluation" / WATER
    paths = [path for path in folder.rglob("*.json") if path.is_file()]
    assert len(paths) == 4
    for path in paths:
        path.write_bytes(path.read_bytes()[:30])
    assert qagen(*only, "--json").code == 0
    for path in paths:
        assert Path(f"{path}.damaged").stat().st_size == 30
        assert json.loads(path.read_bytes())
    assert set(project.stored("ledger")) == paid
    assert qagen(*only).errors == ["everything is up to date"]
