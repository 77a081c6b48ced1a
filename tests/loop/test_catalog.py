from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from qagen_dagster.catalog.rows import Row
from qagen_dagster.errors import PermanentModelError, StoreError
from qagen_dagster.loop.catalog import CATALOG, catalog_file, rebuild_catalog, rows_of
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan
from qagen_dagster.models.messages import Request
from qagen_dagster.records.document import VisualManifest
from tests.loop.conftest import COMBINATION, PlayedWorkspace, put_documents, texts
from tests.support.documents import TABLE
from tests.support.play import Outcome, Play
from tests.support.shards import run_shard

PIECE = [Outcome.ACCEPTED, Outcome.WRONG, Outcome.ACCEPTED]


def make(workspace: PlayedWorkspace) -> None:
    """Two documents worked, one whose model failed, one table known."""

    def before(_role: str, request: Request) -> None:
        if "file: b.txt" in request.canonical():
            raise PermanentModelError("bad key")

    workspace.plays.append(Play(PIECE, before))
    planned = plan(workspace, COMBINATION, RunOptions())
    run_shard(workspace, planned, [entry.id for entry in planned.documents], "run-1")
    collect(
        workspace,
        planned,
        run_id="run-1",
        started="2024-01-01T00:00:00+00:00",
        ended="2024-01-02T00:00:00+00:00",
    )
    entry = planned.documents[0]
    manifest = VisualManifest(document_id=entry.id, document_version=entry.version, visuals=(TABLE,))
    workspace.store.write(VisualManifest.key("probes", entry.id), manifest)


def test_everything_in_the_store_is_a_row(workspace: PlayedWorkspace) -> None:
    make(workspace)
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for table, row in rows_of(workspace.store):
        found[table].append(row)
    assert [row["document_id"] for row in found["documents"]] == ["a.txt", "b.txt", "c.txt"]
    assert [(row["document_id"], row["label"]) for row in found["visuals"]] == [("a.txt", "Table 1")]
    ends = [(row["document_id"], row["outcome"].value) for row in found["outcomes"]]
    assert [one for one, _ in ends] == ["a.txt", "c.txt", "b.txt"]
    assert ends[-1] == ("b.txt", "model_error")
    assert {row["combination"] for row in found["outcomes"]} == {COMBINATION.key}
    assert {row["run_id"] for row in found["outcomes"]} == {"run-1"}
    assert [(row["run_id"], row["target_count"]) for row in found["runs"]] == [("run-1", 2)]


def test_the_catalog_is_derived_from_the_store(workspace: PlayedWorkspace) -> None:
    make(workspace)
    counts = Counter(rebuild_catalog(workspace.store))
    assert (counts["documents"], counts["visuals"], counts["runs"]) == (3, 1, 1)
    assert counts["verdicts"] == 6
    assert rebuild_catalog(workspace.store) == counts
    with catalog_file(workspace.store) as file:
        assert file == workspace.store.local_path(CATALOG)
        assert file.is_file()


def test_a_store_that_is_no_folder_has_its_catalog_as_one_value(workspace: PlayedWorkspace) -> None:
    far = replace(workspace, settings=replace(workspace.settings, assets=f"memory://{uuid.uuid4().hex}"))
    with (
        pytest.raises(StoreError, match=r"catalog\.duckdb is missing: run `qagen run` first"),
        catalog_file(far.store),
    ):
        pass
    put_documents(far, texts(3))
    make(far)
    counts = rebuild_catalog(far.store)
    assert counts["documents"] == 3
    with catalog_file(far.store) as file:
        assert file.read_bytes() == far.store.read_bytes(CATALOG)
