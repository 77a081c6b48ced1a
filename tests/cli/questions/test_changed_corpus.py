"""What becomes of published questions when PDFs and JSON Lines files change, and what that costs, with the command."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pymupdf
import pytest

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_reader import read
from tests.support.wire_server import Seen, WireServer

SHEETS, ROWS = "sheets/facts/visual", "rows/facts/textual"
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


def published(qagen: Command, key: str) -> dict[str, str]:
    """The station and the valve of each published question, by id."""
    found = qagen.project.published(key)["questions"]
    return {one["id"]: " ".join(waterworks.asked_about(one["question"])) for one in found}


def retired(qagen: Command, key: str) -> dict[str, str]:
    """The detail of each retired question, by id."""
    file = qagen.project.assets / "published" / key / "retired.jsonl"
    return {one["id"]: one["detail"] for one in map(json.loads, file.read_text().splitlines())}


def calls(requests: list[Seen]) -> dict[str, dict[str, int]]:
    """The calls by station and role."""
    found: dict[str, Counter[str]] = {}
    for asked in (read(seen) for seen in requests if not waterworks.is_probe(seen)):
        (station,) = waterworks.stations(asked, ("mill", "quay", "ridge", "weir"))
        found.setdefault(station, Counter())[asked.role] += 1
    return {station: dict(count) for station, count in found.items()}


def test_only_questions_whose_evidence_changed_are_asked_about_again(
    qagen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = qagen.project
    pages = {f"{station}.pdf": sheet(station) for station in ("mill", "quay", "ridge")}
    project.corpus("sheets", waterworks.corpus(2, "visual"), pages)
    project.corpus("rows", waterworks.corpus(2), {"notes.jsonl": rows("mill", "ridge", "quay")})
    with WireServer(waterworks.answer) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        monkeypatch.setenv("QAGEN_PROFILE", "remote")
        assert qagen("run").code == 0
        before = {key: published(qagen, key) for key in (SHEETS, ROWS)}
        assert [len(found) for found in before.values()] == [6, 6]
        server.requests.clear()

        folder = project.corpora / "sheets/documents"
        (folder / "mill.pdf").write_bytes(sheet("mill", "The gauges were painted green."))
        (folder / "quay.pdf").write_bytes(sheet("quay", valves=("intake", "bypass", "relief")))
        (folder / "ridge.pdf").rename(folder / "crest.pdf")
        (project.corpora / "rows/documents/notes.jsonl").write_text(rows("weir", "mill", "quay"))
        assert qagen("run").code == 0
        after = {key: published(qagen, key) for key in (SHEETS, ROWS)}
        paid = calls(server.requests)

        server.requests.clear()
        assert qagen("run").errors == ["everything is up to date"]
        assert server.requests == []
    lost = {key: {one: before[key][one] for one in before[key].keys() - after[key].keys()} for key in before}
    new = {key: sorted(after[key][one] for one in after[key].keys() - before[key].keys()) for key in before}
    assert {key: sorted(found.values()) for key, found in lost.items()} == {
        SHEETS: ["outlet quay"],
        ROWS: ["intake ridge", "outlet ridge"],
    }
    assert new == {SHEETS: ["bypass quay"], ROWS: ["intake weir", "outlet weir"]}
    assert retired(qagen, SHEETS) == dict.fromkeys(lost[SHEETS], "quote 1 of 1 is no longer in the document")
    assert retired(qagen, ROWS) == dict.fromkeys(lost[ROWS], "the document was removed")
    assert paid == {
        "quay": {"generator": 3, "validator": 4, "comparer": 1},  # one judged again, one new
        "weir": {"generator": 4, "validator": 4, "comparer": 2},
    }
