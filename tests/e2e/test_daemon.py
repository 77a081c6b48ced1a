"""A change moves exactly what depends on it, with a running daemon: `make test-daemon`. It takes about ten minutes.

The same changes as in `test_automation.py`. Here everything is asked of the GraphQL server of the UI, the command and the catalog.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from dataclasses import dataclass
from itertools import groupby

import pytest

from qagen_dagster.catalog.database import snapshot
from tests.support.changes import (
    BEFORE_THE_SENSORS,
    DOCUMENT_CHANGED,
    DOCUMENT_REMOVED,
    MODELS,
    PARTITIONS,
    PROMPT,
    RAIL,
    WATER,
    Change,
    add_port,
    edit_prompt,
    make_products,
    make_project,
)
from tests.support.dagster_ui import Installed, Server, dagster_ui, wait_for
from tests.support.graph import DAGSTER_WARNINGS, GraphRun
from tests.support.project import Project

pytestmark = [pytest.mark.daemon, *DAGSTER_WARNINGS]
OBSERVER, REFRESHER = "observe_model_config", "refresh_changed_combinations"


@dataclass(frozen=True)
class Site:
    """The project, the package that its daemon runs, and its UI."""

    installed: Installed
    ui: Server

    @property
    def project(self) -> Project:
        return self.installed.project

    def listed(self) -> list[str]:
        """What `qagen stale` lists that waits for nothing."""
        ended = self.installed.qagen("stale", "--json")
        assert ended.code == 0, ended
        names = (
            f"{one['product']} {one['partition']}".strip() for one in ended.value["tasks"] if not one["after"]
        )
        return sorted(names)

    def changed(self, change: Change) -> None:
        """Let the change be seen, requested and run."""
        first = list(change.launched[0])
        assert self.listed() == first
        wait_for(lambda: self.ui.stale(PARTITIONS), list(change.stale))
        assert self.ui.tonight() == first
        assert self.launched() == [*map(list, change.launched), ["catalog"]]
        wait_for(lambda: self.ui.stale(PARTITIONS), [])
        assert self.listed() == []
        assert self.ui.tonight() == []

    def launched(self) -> list[list[str]]:
        """Switch the sensor on until it has nothing more to do; the tasks of each tick."""
        known = len(self.ui.runs())
        self.ui.start(REFRESHER)
        wait_for(lambda: self._is_settled(known), True)
        self.ui.stop(REFRESHER)
        runs = self.ui.runs()[known:]
        assert {one["status"] for one in runs} == {"SUCCESS"}
        ticks = groupby(runs, lambda one: one["tags"]["dagster/tick"])
        return [sorted(one["tags"]["qagen/task"] for one in tick) for _, tick in ticks]

    def _is_settled(self, known: int) -> bool:
        """Whether a tick after the end of all runs launched nothing."""
        ends = [one["endTime"] for one in self.ui.runs()[known:]]
        tick = self.ui.tick(REFRESHER)
        if tick is None or not ends or None in ends:
            return False
        assert tick["error"] is None, tick["error"]
        return tick["status"] == "SKIPPED" and tick["timestamp"] > max(ends)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Everything made once, then a change, then the UI is opened for the first time and the observer switched on."""
    project = make_project(tmp_path_factory.mktemp("daemon") / "project")
    with GraphRun(project, profile="main") as graph:
        make_products(graph)
    installed = Installed.make(project, "main")
    with dagster_ui(installed) as ui:
        yield Site(installed, ui)


def test_one_change_after_another_with_a_daemon(site: Site) -> None:
    """One test, for each step goes on from the instance that the one before it left."""
    assert site.ui.stale(PARTITIONS) == []
    BEFORE_THE_SENSORS.make(site.project)
    site.ui.start(OBSERVER)
    site.changed(BEFORE_THE_SENSORS)
    for change in (*MODELS, DOCUMENT_CHANGED, DOCUMENT_REMOVED):
        change.make(site.project)
        site.changed(change)
    edit_prompt(site.installed.package / "agents" / "prompts")
    site.ui.reload()
    site.changed(PROMPT)
    _a_corpus_comes_and_one_goes(site)
    with snapshot(site.project.assets / "catalog.duckdb") as connection:
        rows = connection.execute(
            "SELECT combination, count(*), count(DISTINCT models['validator']) FROM runs WHERE collected GROUP BY ALL ORDER BY 1"
        ).fetchall()
    assert rows == [("port/facts/textual", 1, 1), (RAIL, 2, 2), (WATER, 4, 1)]


def _a_corpus_comes_and_one_goes(site: Site) -> None:
    add_port(site.project)
    shutil.rmtree(site.project.corpora / "rail")
    assert site.listed() == ["documents port"]
    wait_for(
        lambda: site.ui.check("corpus_files", "definitions_loaded"), "reload definitions to see corpus port"
    )
    assert site.ui.tonight() == []
    site.ui.reload()
    assert site.ui.tonight() == ["documents port"]
    assert site.launched() == [["documents port"], ["questions port/facts/textual"], ["catalog"]]
    wait_for(lambda: site.ui.check("corpus_files", "definitions_loaded"), "all are loaded")
    assert site.installed.qagen("stale").errors == [
        f"qagen: warning: {RAIL}: the folder of its corpus is gone; the published set stays"
    ]
