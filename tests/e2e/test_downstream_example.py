"""The example of a downstream code location: a new version of a set, the run that it starts, and its metrics."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from qagen_dagster.settings import PROJECT_ROOT
from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS, DOCUMENTS, QUESTIONS, GraphRun, version
from tests.support.project import Project

pytestmark = list(DAGSTER_WARNINGS)
MODULE = "examples.downstream_evaluation.definitions"
TEXTUAL, VISUAL = "water/facts/textual", "water/facts/visual"
ASSETS = ("bm25_passages", "bm25_scores")


class Location:
    """The example on the instance of a project: its daemon and its runs."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self.definitions: dg.Definitions = importlib.import_module(MODULE).defs
        self._cursor: Any = None

    def tick(self) -> set[tuple[str, str | None]]:
        """The assets and partitions that the sensor requests."""
        found = dg.evaluate_automation_conditions(self.definitions, self._instance, cursor=self._cursor)
        self._cursor = found.cursor
        return {(name, key) for name in ASSETS for key in found.get_requested_partitions(dg.AssetKey(name))}

    def run(self, partition: str) -> dict[str, Any]:
        """Run what the sensor requested; the metadata of the scores in the instance."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        keys = [dg.AssetKey(name) for name in ASSETS]
        assert job.execute_in_process(
            instance=self._instance, asset_selection=keys, partition_key=partition
        ).success
        event = self._instance.get_latest_materialization_event(keys[1])
        assert event is not None
        assert event.asset_materialization is not None
        assert event.asset_materialization.partition == partition
        return {name: value.value for name, value in event.asset_materialization.metadata.items()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project.make(tmp_path / "project")
    project.corpus(
        "water",
        waterworks.corpus(2, "textual, visual"),
        {name: waterworks.notes(name.removesuffix(".txt")) for name in ("ridge.txt", "quay.txt")},
    )
    for name, value in project.environment().items():
        if name.startswith(("QAGEN_", "DAGSTER_")):
            monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    return project


def test_a_new_version_runs_its_partition_and_its_metrics_appear(project: Project) -> None:
    with GraphRun(project) as graph:
        location = Location(graph.instance)
        first = _publish(graph)
        assert location.tick() == {(name, TEXTUAL) for name in ASSETS}, "published before the first tick"
        shown = location.run(TEXTUAL)
        assert (shown["version"], shown["questions"]) == (first, 4)
        assert shown["document_recall_at_5"] == 1
        assert 0 < shown["evidence_recall_at_1"] <= 1
        assert shown["report"].startswith("# Scores")
        assert location.tick() == set()
        assert _publish(graph) == first
        assert location.tick() == set(), "the same version"
        changed = project.corpora / "water/documents/ridge.txt"
        changed.write_text(waterworks.notes("ridge", waterworks.VALVES[3:]))
        second = _publish(graph)
        assert second != first
        assert location.tick() == {(name, TEXTUAL) for name in ASSETS}
        assert location.run(TEXTUAL)["version"] == second


def test_the_workspace_loads_the_example_with_our_partitions(project: Project) -> None:
    locations = yaml.safe_load((PROJECT_ROOT / "workspace.yaml").read_text(encoding="utf-8"))["load_from"]
    assert MODULE in {one["python_module"]["module_name"] for one in locations}
    example = importlib.import_module(MODULE)
    dg.Definitions.validate_loadable(example.defs)
    assert list(example.KEYS.get_partition_keys()) == [TEXTUAL, VISUAL]


def _publish(graph: GraphRun) -> str:
    """Make the textual set; its version."""
    assert graph.materialize("water", *DOCUMENTS).success
    ended = graph.materialize(TEXTUAL, *QUESTIONS)
    assert ended.success
    return version(ended, "corpus_json")
