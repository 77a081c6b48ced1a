"""A change moves exactly what depends on it: it turns stale in Dagster, `qagen stale` lists it, the sensor and the schedule launch
it, and its runs bring it up to date. Sensors and schedule are evaluated as the daemon does it, on a real instance.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from qagen_dagster.agents import prompts
from qagen_dagster.catalog.database import snapshot
from qagen_dagster.loop.outdated import find_out_of_date, whole_project
from qagen_dagster.loop.workspace import Workspace
from tests.support.changes import (
    BEFORE_THE_SENSORS,
    DOCUMENT_CHANGED,
    DOCUMENT_REMOVED,
    MODELS,
    PARTITIONS,
    PROMPT,
    RAIL,
    STATIONS,
    WATER,
    Change,
    add_port,
    edit_prompt,
    make_products,
    make_project,
)
from tests.support.graph import DAGSTER_WARNINGS, GraphRun
from tests.support.project import Project

pytestmark = list(DAGSTER_WARNINGS)


@dataclass
class Site:
    """The project, its graph, and what Dagster shows as stale."""

    project: Project
    graph: GraphRun

    def listed(self) -> list[str]:
        """What `qagen stale` lists that waits for nothing."""
        space = Workspace(self.graph.settings)
        found = find_out_of_date(space, whole_project(space))
        assert found.faults == ()
        return sorted(one.name for one in found.tasks if not one.after)

    def stale(self) -> list[str]:
        """The partitions that the UI shows as stale."""
        return [" ".join(one) for one in self.graph.all_stale(PARTITIONS)]

    def seen(self, change: Change) -> None:
        """Let the change be seen and requested."""
        first = list(change.launched[0])
        assert self.graph.requested() == self.listed() == first
        assert self.graph.nightly().tasks == first
        self.graph.seen()
        assert self.stale() == list(change.stale)

    def seen_and_undone(self, change: Change) -> None:
        """Make a change of a profile, let it be seen and requested, and take it back before anything runs."""
        before = {path: path.read_bytes() for path in self.project.profiles.iterdir()}
        change.make(self.project)
        self.seen(change)
        for path, content in before.items():
            path.write_bytes(content)
        self.graph.seen()
        assert self.stale() == []
        assert self.listed() == []

    def changed(self, change: Change) -> None:
        """Let the change be seen, requested and run."""
        self.seen(change)
        assert self.graph.settle() == [*map(list, change.launched), ["catalog"]]
        assert self.stale() == []
        assert self.listed() == []
        assert self.graph.nightly().tasks == []


@pytest.fixture
def site(tmp_path: Path) -> Generator[Site]:
    """Everything made once, before any sensor was on."""
    project = make_project(tmp_path / "project")
    with GraphRun(project, profile="main") as graph:
        make_products(graph)
        yield Site(project, graph)


@contextmanager
def edited_prompt(folder: Path) -> Generator[None]:
    """A prompt file with other words, as after an update of the package."""
    shutil.copytree(prompts.FOLDER, folder)
    edit_prompt(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompts, "FOLDER", folder)
        prompts.load_prompt.cache_clear()
        yield
    prompts.load_prompt.cache_clear()


def an_edit_before_the_sensor_was_on_is_found(site: Site) -> None:
    BEFORE_THE_SENSORS.make(site.project)
    observed = [one for one in site.graph.seen() if one.asset_key.to_user_string() == "model_config"]
    assert [one.partition for one in observed] == [RAIL]
    assert observed[0].metadata["changed"].value == "validator: scripted:cloze-check → scripted:cloze-compare"
    assert observed[0].metadata["stale"].value == f"candidate_qa {RAIL}"
    site.changed(BEFORE_THE_SENSORS)


def validators(site: Site, combination: str) -> list[str]:
    """The validator of each run that made candidates, as the catalog has it."""
    with snapshot(site.project.assets / "catalog.duckdb") as connection:
        rows = connection.execute(
            "SELECT models['validator'] FROM runs WHERE combination = ? AND collected ORDER BY started",
            [combination],
        ).fetchall()
    return [row[0] for row in rows]


def a_document(site: Site) -> None:
    before = site.project.stored(f"candidates/{WATER}")
    DOCUMENT_CHANGED.make(site.project)
    site.changed(DOCUMENT_CHANGED)
    now = site.project.stored(f"candidates/{WATER}")
    assert {name.split("/")[4] for name in now.keys() - before.keys()} == {"quay.txt"}


def a_document_is_removed(site: Site) -> None:
    DOCUMENT_REMOVED.make(site.project)
    site.changed(DOCUMENT_REMOVED)
    sources = {one["source_document"] for one in site.project.published(WATER)["questions"]}
    assert sources == {f"documents/{name}.txt" for name in STATIONS if name != "ridge"}


def prompt(site: Site, folder: Path) -> None:
    with edited_prompt(folder):
        site.changed(PROMPT)
    assert site.graph.settle()[-1] == ["catalog"]


def corpus(site: Site) -> None:
    """A new corpus is named by the sensor and by a check, and is made after the definitions are loaded again."""
    add_port(site.project)
    assert site.listed() == ["documents port"]
    tick = site.graph.requests()
    assert tick.tasks == []
    assert (
        tick.skipped
        == "reload definitions to run documents port; reload definitions to run questions port/facts/textual"
    )
    assert site.graph.reload_check() == "reload definitions to see corpus port"
    shutil.rmtree(site.project.corpora / "rail")
    with GraphRun(site.project, profile="main") as again:
        assert again.settle() == [["documents port"], ["questions port/facts/textual"], ["catalog"]]
        assert again.reload_check() == "all are loaded"
    space = Workspace(site.graph.settings)
    assert find_out_of_date(space, whole_project(space)).gone == (
        f"{RAIL}: the folder of its corpus is gone; the published set stays",
    )


def test_one_change_after_another(site: Site, tmp_path: Path) -> None:
    """One test, for each step goes on from the instance that the one before it left."""
    an_edit_before_the_sensor_was_on_is_found(site)
    for change in MODELS:
        site.seen_and_undone(change)
    a_document(site)
    prompt(site, tmp_path / "prompts")
    corpus(site)
    assert len(validators(site, WATER)) == 2
    assert validators(site, RAIL) == ["scripted:cloze-check", "scripted:cloze-compare"]


@pytest.mark.long
def test_every_change_is_run(site: Site, tmp_path: Path) -> None:
    an_edit_before_the_sensor_was_on_is_found(site)
    for change in MODELS:
        change.make(site.project)
        site.changed(change)
    a_document(site)
    a_document_is_removed(site)
    prompt(site, tmp_path / "prompts")
    corpus(site)
    assert len(validators(site, WATER)) == 4
    assert validators(site, RAIL) == ["scripted:cloze-check", "scripted:cloze-compare"]
