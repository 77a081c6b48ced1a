"""*Terminate* in the UI: exactly the combination whose run was terminated is not green, until it runs again."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.product_table import TABLE, Product
from qagen_dagster.loop.unfinished import DOCUMENTS
from tests.e2e.test_instance import RAIL, WATER, statuses
from tests.support import waterworks
from tests.support.dagster_ui import Installed, Server, dagster_ui, wait_for
from tests.support.graph import DAGSTER_WARNINGS, GraphRun
from tests.support.killed import PROFILE, Watch
from tests.support.project import Project, ended
from tests.support.wire_server import WireServer

pytestmark = [pytest.mark.daemon, *DAGSTER_WARNINGS]


def test_only_terminated_combinations_are_not_green_until_the_rerun(tmp_path: Path) -> None:
    watch, project = Watch(), Project.make(tmp_path / "project")
    for corpus, station in (("water", "ridge"), ("rail", "lock")):
        project.corpus(corpus, waterworks.corpus(3), {f"{station}.txt": waterworks.notes(station)})
    with WireServer(watch) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        run = ("run", "--profile", "remote")
        assert ended(project.start(*run, "--corpus", "rail")).code == 0
        with GraphRun(project) as graph:
            assert graph.materialize("water", *DOCUMENTS).success
        assert statuses(project) == {RAIL: {"MATERIALIZED"}, WATER: {"NONE"}}
        with dagster_ui(Installed(project, "remote")) as ui:
            _terminate(ui, watch, WATER)
            assert statuses(project) == {RAIL: {"MATERIALIZED"}, WATER: {"FAILED"}}
            _terminate(ui, watch, RAIL)
            assert statuses(project) == {RAIL: {"FAILED"}, WATER: {"FAILED"}}
        watch.allow(None)
        assert ended(project.start(*run)).code == 0
        assert statuses(project) == {RAIL: {"MATERIALIZED"}, WATER: {"MATERIALIZED"}}


def _terminate(ui: Server, watch: Watch, combination: str) -> None:
    """Launch a run that asks for more questions, and terminate it while it waits for its model."""
    watch.allow(2)
    run = ui.launch("question_set", combination, TABLE[Product.QUESTIONS].ops({"target_count": 5}))
    assert watch.silent.wait(120)
    ui.terminate(run)
    wait_for(lambda: ui.ended(run), True)
