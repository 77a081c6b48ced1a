"""What the Dagster instance shows after runs of the command: partitions, jobs, and the store that it belongs to."""

from __future__ import annotations

import signal
from pathlib import Path

import dagster as dg
import psutil
import pytest

from qagen_dagster.definitions import build_definitions
from qagen_dagster.loop.unfinished import QUESTIONS, mark
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.killed import PROFILE, Watch, is_started, wait_until
from tests.support.project import Project, ended
from tests.support.wire_server import WireServer

pytestmark = list(DAGSTER_WARNINGS)
WATER, RAIL = "water/facts/textual", "rail/facts/textual"


def statuses(project: Project) -> dict[str, set[str]]:
    """By combination: the states of its partitions of the four assets, as the UI shows them."""
    graph = build_definitions(project.settings()).resolve_asset_graph()
    found: dict[str, set[str]] = {}
    with project.instance() as instance:
        for name in QUESTIONS:
            key = dg.AssetKey(name)
            partitions = graph.get(key).partitions_def
            assert partitions is not None
            shown = instance.get_status_by_partition(key, partitions.get_partition_keys(), partitions) or {}
            for partition, state in shown.items():
                found.setdefault(partition, set()).add("NONE" if state is None else state.name)
    return found


def test_only_the_interrupted_combination_is_not_green_until_the_rerun(tmp_path: Path) -> None:
    watch, project = Watch(), Project.make(tmp_path / "project")
    for corpus, station in (("water", "ridge"), ("rail", "lock")):
        project.corpus(corpus, waterworks.corpus(3), {f"{station}.txt": waterworks.notes(station)})
    green = {WATER: {"MATERIALIZED"}, RAIL: {"MATERIALIZED"}}
    with WireServer(watch) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        run = ("run", "--profile", "remote")
        assert ended(project.start(*run)).code == 0
        assert statuses(project) == green
        (project.corpora / "rail/documents/quay.txt").write_text(waterworks.notes("quay"))
        watch.allow(2)
        process = project.start(*run)
        assert watch.silent.wait(120)
        wait_until(lambda: is_started(project, RAIL), process)
        children = psutil.Process(process.pid).children(
            recursive=True
        )  # a Ctrl-C of a terminal reaches them, too
        assert not [one for one in children if "watch_orphans" in " ".join(one.cmdline())]
        process.send_signal(signal.SIGINT)
        assert ended(process).code == 130
        assert statuses(project) == {WATER: {"MATERIALIZED"}, RAIL: {"FAILED"}}
        watch.allow(None)
        assert ended(project.start(*run)).code == 0
        assert statuses(project) == green
        asked = len(watch.received)
        mark(
            Store(project.assets), RAIL, begun=QUESTIONS
        )  # as a run leaves it that is killed at its very end
        again = ended(project.start(*run))
        assert (again.code, again.errors) == (0, [RAIL, "catalog"])
        assert ended(project.start(*run)).errors == ["everything is up to date"]
    assert len(watch.received) == asked


def test_runs_show_under_their_job_in_the_code_location(finished: Project) -> None:
    with finished.instance() as instance:
        runs = list(reversed(instance.get_runs()))
    assert [run.job_name for run in runs] == ["parse_corpus", "question_set", "question_set", "__ASSET_JOB"]
    origins = [run.remote_job_origin for run in runs]
    assert {origin and origin.repository_origin.get_label() for origin in origins} == {
        "__repository__@qagen_dagster"
    }


def test_another_store_has_its_own_instance_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    assert project.qagen("run").code == 0
    with project.instance() as instance:
        before = instance.get_runs_count()
    other = tmp_path / "other"
    refused = project.qagen("--assets", str(other), "run")
    assert refused.code == 2
    assert refused.errors == [
        f"qagen: error: the Dagster instance {project.home} belongs to the store {project.assets}, not to {other}: "
        "set DAGSTER_HOME to the folder of another instance"
    ]
    assert not other.exists()
    separate = project.qagen("--assets", str(other), "run", DAGSTER_HOME="")
    assert separate.code == 0
    assert (
        f"Dagster instance: {other}/.dagster_home. To see the runs in its UI: qagen --assets" in separate.out
    )
    done = project.qagen("--assets", str(other), "run")  # nothing is left to do
    assert (done.code, done.errors) == (2, refused.errors)
    with project.instance() as instance, dg.DagsterInstance.from_config(str(other / ".dagster_home")) as own:
        assert (instance.get_runs_count(), own.get_runs_count()) == (before, before)
