from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.tags import TagType, get_tag_type

from qagen_dagster.definitions import open_graph
from qagen_dagster.defs.in_process import HOST, KILLED, PROCESS, end_dead_runs
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.run import RunRecord
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.project import Project

NOTHING = dg.JobDefinition(graph_def=dg.GraphDefinition("nothing"))
WHERE = Combination.from_key("water/facts/textual")


class Told:
    """Progress that is kept."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.notes: list[str] = []

    def step(self, title: str) -> None:
        self.steps.append(title)

    def say(self, note: str) -> None:
        self.notes.append(note)

    def done(self) -> None:
        self.steps.append("done")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    monkeypatch.setenv("DAGSTER_HOME", str(project.home))
    return project


def test_runs_are_real_and_told_as_they_go(project: Project) -> None:
    told = Told()
    with open_graph(project.settings(), told) as graph:
        assert graph.documents("water") == []
        assert graph.questions(WHERE, RunOptions(target_count=1)) == []
        assert graph.catalog() == []
    assert told.steps == ["parse water", "done", WHERE.key, "done", "catalog", "done"]
    assert "1 of 1: ridge.txt: 1 accepted, 0 rejected, target_reached" in told.notes
    with project.instance() as instance:
        runs = instance.get_runs()
        assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
        partitions = [run.tags.get("dagster/partition") for run in reversed(runs)]
        assert partitions == ["water", WHERE.key, None]
        assert {run.tags[PROCESS] for run in runs} == {str(os.getpid())}
        tags = (HOST, PROCESS, SPENDING_TAG)
        assert {get_tag_type(name) for name in tags} == {TagType.HIDDEN}  # the run list does not show them


def test_what_failed_is_told_in_lines(project: Project) -> None:
    with open_graph(project.settings(), Told()) as graph:
        (line,) = graph.questions(WHERE, RunOptions())
    assert line == f"{WHERE.key}: corpus water has not been parsed: materialize parsed_documents first"


def test_without_an_instance_there_is_no_graph(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(project.root / "nowhere"))
    with pytest.raises(ConfigError, match=r"nowhere: is not a folder \(DAGSTER_HOME\)"):
        open_graph(project.settings(), Told())


def test_runs_of_killed_processes_end_and_others_are_left(project: Project) -> None:
    here = platform.node()
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    with project.instance() as instance:
        begun = {
            name: instance.create_run_for_job(NOTHING, status=status, tags=tags).run_id
            for name, status, tags in (
                ("dead", dg.DagsterRunStatus.STARTED, {HOST: here, PROCESS: str(process.pid)}),
                ("barely begun", dg.DagsterRunStatus.NOT_STARTED, {HOST: here, PROCESS: str(process.pid)}),
                ("ours", dg.DagsterRunStatus.STARTED, {HOST: here, PROCESS: str(os.getpid())}),
                ("elsewhere", dg.DagsterRunStatus.STARTED, {HOST: f"not-{here}", PROCESS: str(process.pid)}),
                ("of the daemon", dg.DagsterRunStatus.STARTED, {}),
                ("done", dg.DagsterRunStatus.SUCCESS, {HOST: here, PROCESS: str(process.pid)}),
            )
        }
        expected = {begun["dead"], begun["barely begun"]}
        assert set(end_dead_runs(instance)) == expected
        failed = {run.run_id for run in instance.get_runs() if run.status is dg.DagsterRunStatus.FAILURE}
        assert failed == expected
        assert end_dead_runs(instance) == []


def test_a_killed_run_is_recorded_as_failed_in_its_own_store(project: Project) -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    store, tags = Store(str(project.assets)), {HOST: platform.node(), PROCESS: str(process.pid)}
    with project.instance() as instance:
        here, elsewhere = (
            instance.create_run_for_job(NOTHING, status=dg.DagsterRunStatus.STARTED, tags=tags).run_id
            for _ in range(2)
        )
    started = RunRecord(
        run_id=here, job="j", assets=(), partition=WHERE.key, started="2026-01-02T03:04:05+00:00"
    )
    store.write(RunRecord.key(here), started)
    with open_graph(project.settings(), Told()):
        pass
    found = store.read(RunRecord.key(here), RunRecord)
    assert (found.status, found.error) == ("failure", KILLED)
    assert not store.exists(RunRecord.key(elsewhere))


def test_an_error_keeps_the_path_that_it_was_raised_with(project: Project) -> None:
    path = project.assets / f"candidates/{WHERE.key}/set.json"
    with open_graph(project.settings(), Told()) as graph:
        assert graph.documents("water") == []
        assert graph.questions(WHERE, RunOptions(target_count=1)) == []
        path.write_bytes(b"{")
        (line,) = graph.materialize("validate", ("validated_qa",), WHERE.key)
    assert line.startswith(f"validate: {path} is not a valid CandidateSet (")


def test_a_file_that_is_set_aside_is_a_line_of_the_event_log(project: Project) -> None:
    told, path = Told(), project.assets / "documents/water/index.json"
    with open_graph(project.settings(), told) as graph:
        assert graph.documents("water") == []
        path.write_bytes(b"{")
        assert graph.documents("water") == []
    (line,) = [note for note in told.notes if "index.json.damaged" in note]
    assert line.startswith(f"{path} is not a valid CorpusIndex (")
    with project.instance() as instance:
        (run, _) = instance.get_runs()
        logged = [entry.user_message for entry in instance.all_logs(run.run_id)]
    assert line in logged
