"""What becomes of published questions when PDFs and JSON Lines files change, and what that costs: from files to files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from qagen_dagster.ingest.parsing import build_manifests, parse_corpus
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.questions.publication.published_set import read_published
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult
from tests.support import waterworks
from tests.support.project import Project
from tests.support.shards import run_shard
from tests.support.wire_reader import read
from tests.support.wire_server import Seen, WireServer

SHEETS, ROWS = (Combination.from_key(key) for key in ("sheets/facts/visual", "rows/facts/textual"))
PROFILE = "roles:\n" + "".join(
    f'  {role}: {{{{provider: openai_compatible, model: {role}, base_url: "{{url}}"}}}}\n'
    for role in ("generator", "validator", "deduplicator")
)
FILLER = "The keeper reads the gauges at dawn and writes down what he has seen before he goes home. " * 4


def sheet(station: str, *notice: str, valves: tuple[str, ...] = waterworks.VALVES[:3]) -> bytes:
    """A sheet with a second page, which has a notice at its end."""
    file: Any = pymupdf.open(stream=waterworks.sheet(station, valves))
    file.new_page(width=420, height=595).insert_textbox((50, 50, 370, 500), "\n\n".join((FILLER, *notice)))
    return file.tobytes()


def rows(*stations: str) -> str:
    return "".join(f"{json.dumps({'text': waterworks.notes(station)})}\n" for station in stations)


def run(space: Workspace, where: Combination, run_id: str) -> dict[str, str]:
    """Work the combination from its files to the published set. The valve and the station of each question, by id."""
    corpus = space.corpus(where.corpus)
    index = parse_corpus(corpus, space.store, space.parsers(), space.settings).index
    build_manifests(corpus, index, space.store, space.parsers(), space.settings)
    planned = plan(space, where, RunOptions())
    assert run_shard(space, planned, [entry.id for entry in planned.documents], run_id).failed == {}
    collect(space, planned, run_id=run_id, started="2024-01-01", ended="2024-01-02")
    validate_set(space, where, space.encode)
    publish(space, where, run_id)
    return {
        one.id: " ".join(waterworks.asked_about(one.question)) for one in read_published(space.store, where)
    }


def retired(space: Workspace, where: Combination) -> dict[str, str]:
    """The detail of each retired question, by id."""
    data = space.store.read_bytes(CorpusGenerationResult.file_key(where, "retired.jsonl"))
    return {one["id"]: one["detail"] for one in map(json.loads, data.splitlines())}


def calls(requests: list[Seen]) -> dict[str, dict[str, int]]:
    """The calls by station and role."""
    found: dict[str, Counter[str]] = {}
    for asked in (read(seen) for seen in requests if not waterworks.is_probe(seen)):
        (station,) = waterworks.stations(asked, ("mill", "quay", "ridge", "weir"))
        found.setdefault(station, Counter())[asked.role] += 1
    return {station: dict(count) for station, count in found.items()}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.corpus(
        "sheets",
        waterworks.corpus(2, "visual"),
        {f"{station}.pdf": sheet(station) for station in ("mill", "quay", "ridge")},
    )
    project.corpus("rows", waterworks.corpus(2), {"notes.jsonl": rows("mill", "ridge", "quay")})
    project.profiles.mkdir()
    return project


def test_only_questions_whose_evidence_changed_are_asked_about_again(project: Project) -> None:
    with WireServer(waterworks.answer) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        space = Workspace(project.settings(profile="remote"))
        before = {where: run(space, where, "run-1") for where in (SHEETS, ROWS)}
        assert [len(found) for found in before.values()] == [6, 6]
        server.requests.clear()

        folder = project.corpora / "sheets/documents"
        (folder / "mill.pdf").write_bytes(sheet("mill", "The gauges were painted green."))
        (folder / "quay.pdf").write_bytes(sheet("quay", valves=("intake", "bypass", "relief")))
        (folder / "ridge.pdf").rename(folder / "crest.pdf")
        (project.corpora / "rows/documents/notes.jsonl").write_text(rows("weir", "mill", "quay"))
        after = {where: run(space, where, "run-2") for where in (SHEETS, ROWS)}
        paid = calls(server.requests)
    lost = {
        where: {one: before[where][one] for one in before[where].keys() - after[where]} for where in after
    }
    new = {where: sorted(after[where][one] for one in after[where].keys() - before[where]) for where in after}
    assert {where: sorted(found.values()) for where, found in lost.items()} == {
        SHEETS: ["outlet quay"],
        ROWS: ["intake ridge", "outlet ridge"],
    }
    assert new == {SHEETS: ["bypass quay"], ROWS: ["intake weir", "outlet weir"]}
    assert retired(space, SHEETS) == dict.fromkeys(lost[SHEETS], "quote 1 of 1 is no longer in the document")
    assert retired(space, ROWS) == dict.fromkeys(lost[ROWS], "the document was removed")
    assert paid == {
        "quay": {"generator": 3, "validator": 4, "comparer": 1},  # one judged again, one new
        "weir": {"generator": 2, "validator": 2, "comparer": 2},  # shown whole, so without tools
    }
