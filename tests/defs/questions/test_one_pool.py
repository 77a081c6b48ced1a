"""Ops and combinations of one process share a pool of documents."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qagen_dagster.definitions import open_graph
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import GenerationResult
from tests.defs.conftest import TEXTUAL
from tests.defs.questions.test_assets import REMOTE
from tests.support import waterworks
from tests.support.graph import DOCUMENTS, QUESTIONS, GraphRun, metadata
from tests.support.project import Project
from tests.support.wire_reader import read
from tests.support.wire_server import Fault, Seen, Step, WireServer

STATIONS = ("ridge", "quay", "mill", "lock")
RAIL = "rail/facts/textual"


class Together(WireServer):
    """Answers nobody before it was asked about each of some stations."""

    def __init__(self, *stations: str) -> None:
        super().__init__(waterworks.answer)
        self._missing, self._all = set(stations), threading.Event()

    def next_step(self, seen: Seen) -> tuple[Step, int]:
        step = super().next_step(seen)
        self._missing -= waterworks.stations(read(seen), STATIONS)
        if not self._missing:
            self._all.set()
        return step if self._all.wait(20) else (Fault(400), 0)

    def answer_all(self) -> None:
        self._all.set()


class Quiet:
    """Progress that keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def step(self, title: str) -> None: ...

    def say(self, note: str) -> None:
        self.notes.append(note)

    def done(self) -> None: ...


@pytest.fixture(autouse=True)
def _instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "project" / "home-1"))


def _project(folder: Path, server: WireServer, **corpora: tuple[str, ...]) -> Project:
    project = Project.make(folder / "project")
    project.profile("remote", REMOTE.format(url=server.url("openai_compatible")))
    for name, stations in corpora.items():
        documents = {f"{one}.txt": waterworks.notes(one, alike=True) for one in stations}
        project.corpus(name, waterworks.corpus(1), documents)
    return project


def _results(project: Project, key: str) -> list[GenerationResult]:
    files = sorted(project.assets.glob(f"candidates/{key}/*.txt/*.json"))
    return [GenerationResult.model_validate_json(file.read_bytes()) for file in files]


def test_an_op_works_on_its_document_while_earlier_ops_wait(tmp_path: Path) -> None:
    with Together(*STATIONS) as server:
        project = _project(tmp_path, server, water=STATIONS)
        with GraphRun(project, profile="remote", document_workers=4) as graph:
            assert graph.materialize("water", *DOCUMENTS).success
            run = graph.materialize(TEXTUAL, "candidate_qa")
    assert run.success
    assert metadata(run, "candidate_qa")["documents_reused"] == 0


def test_documents_of_the_next_combination_start_before_the_first_has_ended(tmp_path: Path) -> None:
    with Together("ridge", "quay", "lock") as server:
        project = _project(tmp_path, server, water=("ridge", "quay"), rail=("lock",))
        told, settings = Quiet(), project.settings(profile="remote")
        combinations = [Combination.from_key(key) for key in (TEXTUAL, RAIL)]
        with open_graph(settings, told) as graph:
            for corpus in ("water", "rail"):
                assert graph.documents(corpus) == []
            graph.work.ask(combinations, RunOptions())
            failures = [line for one in combinations for line in graph.questions(one, RunOptions())]
    assert failures == []
    assert [note for note in told.notes if "target_reached" in note] == [
        "1 of 2: quay.txt: 1 accepted, 0 rejected, target_reached",
        "2 of 2: ridge.txt: 1 accepted, 0 rejected, target_reached",
        "1 of 1: lock.txt: 1 accepted, 0 rejected, target_reached",
    ]
    with project.instance() as instance:
        runs = {run.tags.get("dagster/partition"): run for run in instance.get_runs()}
        steps = [
            event.step_key
            for event in instance.all_logs(runs[RAIL].run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)
            if event.is_dagster_event
        ]
    assert len(steps) == len(set(steps))
    for key in (TEXTUAL, RAIL):  # the results name the run of their combination
        assert {result.run_id for result in _results(project, key)} == {runs[key].run_id}


def test_a_plan_that_changed_after_the_start_is_followed(tmp_path: Path) -> None:
    with WireServer(waterworks.answer) as server:
        project = _project(tmp_path, server, water=STATIONS[:2])
        settings, where = project.settings(profile="remote"), Combination.from_key(TEXTUAL)
        with open_graph(settings, Quiet()) as graph:
            assert graph.documents("water") == []
            graph.work.ask([where], RunOptions())
            assert graph.questions(where, RunOptions(target_count=2)) == []
    assert len(project.published(TEXTUAL)["questions"]) == 4


def test_what_cannot_be_planned_is_reported_by_its_run(tmp_path: Path) -> None:
    with WireServer(waterworks.answer) as server:
        project = _project(tmp_path, server, water=STATIONS[:1], rail=("lock",))
        settings = project.settings(profile="remote")
        combinations = [Combination.from_key(key) for key in (TEXTUAL, RAIL)]
        with open_graph(settings, Quiet()) as graph:
            assert graph.documents("rail") == []
            graph.work.ask(combinations, RunOptions())
            failures = [line for one in combinations for line in graph.questions(one, RunOptions())]
    assert failures == [f"{TEXTUAL}: corpus water has not been parsed: materialize parsed_documents first"]
    assert len(project.published(RAIL)["questions"]) == 1


def test_documents_that_no_run_waits_for_are_not_begun_after_the_command(tmp_path: Path) -> None:
    with Together("ridge") as server:  # the last document
        project = _project(tmp_path, server, water=STATIONS)
        settings = project.settings(profile="remote", document_workers=1)
        with open_graph(settings, Quiet()) as graph:
            assert graph.documents("water") == []
            graph.work.ask([Combination.from_key(TEXTUAL)], RunOptions())
        server.answer_all()
        last = threading.Event()
        graph.work.pool.add([last.set])
        assert last.wait(60)
        asked = {station for seen in server.requests for station in waterworks.stations(read(seen), STATIONS)}
    assert asked <= {"lock"}


def test_the_published_set_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    assert _published(tmp_path / "one", 1) == _published(tmp_path / "many", 32)


def _published(folder: Path, workers: int) -> dict[str, Any]:
    with WireServer(waterworks.answer) as server:
        project = _project(folder, server, water=STATIONS)
        with GraphRun(project, profile="remote", document_workers=workers) as graph:
            assert graph.materialize("water", *DOCUMENTS).success
            assert graph.materialize(TEXTUAL, *QUESTIONS).success
    return {**project.published(TEXTUAL), "timestamp": "", "corpus_path": ""}
