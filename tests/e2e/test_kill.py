"""`kill -9` at many places of a run: what was finished is never asked again, and the set is that of an unkilled run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from qagen_dagster.catalog import stats
from tests.support import waterworks
from tests.support.project import Project, ended
from tests.support.wire_reader import Asked, read
from tests.support.wire_server import Hang, Seen, Step, WireServer

STATIONS = ("ridge", "quay", "mill", "lock", "weir")
KEY = "water/facts/textual"
WORKERS = 3  # of `Project.environment`: so many calls may be in flight when a process dies
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""


class Watch:
    """Answers by rule and counts; after `answers` answers it keeps its callers waiting, until told otherwise."""

    def __init__(self) -> None:
        self.answers: int | None = None
        self.silent = threading.Event()
        self.received: list[Asked] = []

    def allow(self, answers: int | None) -> None:
        self.answers = answers
        self.silent.clear()

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        asked = read(seen)
        self.received.append(asked)
        if self.answers == 0:
            self.silent.set()
            return Hang(120)
        if self.answers is not None:
            self.answers -= 1
        return waterworks.play(asked)


class Bench:
    """A project, its server, and an unkilled run to compare with."""

    def __init__(self, folder: Path, server: WireServer, watch: Watch) -> None:
        self.project = Project.make(folder / "project")
        documents = {f"{name}.txt": waterworks.notes(name) for name in STATIONS}
        self.project.corpus("water", waterworks.corpus(3), documents)
        self.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        self.watch = watch

    def killed(self, project: Project, now: Callable[[], bool]) -> None:
        """Begin a run and kill it as soon as `now` says so; its parsers go with it."""
        process = project.start("run", "--json", "--profile", "remote")
        while not now():
            assert process.poll() is None, process.communicate()
            time.sleep(0.001)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        assert ended(process).code == -signal.SIGKILL
        _, left = psutil.wait_procs(children, timeout=60)
        assert left == []


def test_killed_again_and_again_it_ends_with_the_set_of_an_unkilled_run(tmp_path: Path) -> None:
    watch = Watch()
    with WireServer(watch) as server:
        bench = Bench(tmp_path, server, watch)
        assert ended(bench.project.start("run", "--profile", "remote")).code == 0
        whole, watch.received = len(watch.received), []
        project = bench.project.another(2)
        finished: set[str] = set()
        for answers in (2, 58, 30):  # of 97: beginning, documents, and the comparison across them
            before = len(watch.received)
            watch.allow(answers)
            bench.killed(project, watch.silent.is_set)
            _nothing_of(finished, watch.received[before:])
            finished = _finished(project)
        assert finished == set(STATIONS)
        for place in (f"published/{KEY}/corpus.json", "building"):
            before = len(watch.received)
            watch.allow(None)
            bench.killed(project, _reached(project, place))
            _nothing_of(finished, watch.received[before:])
        last = project.qagen("run", "--json", "--profile", "remote")
        total = len(watch.received)
        again = project.qagen("run", "--json", "--profile", "remote")
        assert len(watch.received) == total
    assert (last.code, again.code) == (0, 0)
    assert _set(project) == _set(bench.project)
    assert whole <= total <= whole + 5 * WORKERS
    assert _catalog(project) == _catalog(bench.project)
    with project.instance() as instance:
        left = [run.status for run in instance.get_runs() if not run.is_finished]
        assert left == []


def test_an_interrupted_run_stops_at_once_and_goes_on_later(tmp_path: Path) -> None:
    watch = Watch()
    with WireServer(watch) as server:
        bench = Bench(tmp_path, server, watch)
        watch.allow(20)
        process = bench.project.start("run", "--profile", "remote")
        assert watch.silent.wait(120)
        process.send_signal(signal.SIGINT)  # calls in flight would hang for minutes
        interrupted = ended(process)
        asked = len(watch.received)
        watch.allow(None)
        assert ended(bench.project.start("run", "--profile", "remote")).code == 0
    assert interrupted.code == 1
    assert interrupted.out == ""
    told = "qagen: error: interrupted; what was finished is kept, the same command goes on from there"
    assert interrupted.errors[-1] == told
    assert KEY in interrupted.errors
    assert "catalog" not in interrupted.errors
    assert asked <= 20 + WORKERS
    assert len(bench.project.published(KEY)["questions"]) == 3 * len(STATIONS)
    with bench.project.instance() as instance:
        assert [run.status for run in instance.get_runs() if not run.is_finished] == []


def _reached(project: Project, place: str) -> Callable[[], bool]:
    if place == "building":
        return lambda: any(project.assets.glob(".catalog.duckdb.building-*"))
    return (project.assets / place).exists


def _finished(project: Project) -> set[str]:
    """Stations whose document has a result in the store."""
    return {
        path.parent.name.removesuffix(".txt")
        for path in project.assets.glob(f"candidates/{KEY}/*.txt/*.json")
    }


def _nothing_of(finished: set[str], asked: list[Asked]) -> None:
    """No request is about a finished document alone; the comparison of all sets names several."""
    about = [waterworks.stations(one, STATIONS) for one in asked]
    assert [names for names in about if len(names) == 1 and names <= finished] == []


def _set(project: Project) -> dict[str, Any]:
    return {**project.published(KEY), "timestamp": ""}


def _catalog(project: Project) -> dict[str, Any]:
    (found,) = stats.combinations(project.assets / "catalog.duckdb")
    return found.model_dump(include={"accepted", "candidates", "validated", "calls", "outcomes"})
