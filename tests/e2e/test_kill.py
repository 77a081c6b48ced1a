"""`kill -9` at many places of a run: what was finished is never asked again, and the set is that of an unkilled run.

QAGEN_TEST_KILLED_JOBS=20 kills so many jobs at random points instead of one, and says what that cost.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from qagen_dagster.catalog import stats
from qagen_dagster.loop.ledger import entries
from qagen_dagster.records.questions.results import GenerationResult
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.patience import Patience
from tests.support.project import Project, ended
from tests.support.wire_reader import Asked
from tests.support.wire_server import Step, WireServer

STATIONS = ("ridge", "quay", "mill", "lock", "weir")
TWELVE = (*STATIONS, "pond", "well", "creek", "shore", "marsh", "spring", "canal")
JOBS = int(os.environ.get("QAGEN_TEST_KILLED_JOBS", "1"))
KILLS = 1 if JOBS == 1 else 5  # of one job at most
KEY = "water/facts/textual"
# Three documents at a time (`Project.environment`), and of each one the next question, a comparison and a blind answer.
IN_FLIGHT = 3 * 3  # calls that may be lost when a process dies
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""


class Watch(Patience):
    """Answers by rule."""

    def play(self, asked: Asked) -> Step:
        return waterworks.play(asked)


class Bench:
    """A project, its server, and an unkilled run to compare with."""

    def __init__(
        self, folder: Path, server: WireServer, watch: Watch, names: Sequence[str] = STATIONS, target: int = 3
    ) -> None:
        self.project = Project.make(folder / "project")
        documents = {f"{name}.txt": waterworks.notes(name, alike=True) for name in names}
        self.project.corpus("water", waterworks.corpus(target), documents)
        self.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        self.watch = watch

    def killed(self, project: Project, now: Callable[[], bool]) -> None:
        """Begin a run and kill it as soon as `now` says so; its parsers go with it."""
        assert self.killed_unless_done(project, now)

    def killed_unless_done(self, project: Project, now: Callable[[], bool]) -> bool:
        """The same; False when the run came to its end before."""
        process = project.start("run", "--json", "--profile", "remote")
        while not now():
            if process.poll() is not None:
                assert ended(process).code == 0
                return False
            time.sleep(0.001)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        assert ended(process).code == -signal.SIGKILL
        _, left = psutil.wait_procs(children, timeout=60)
        assert left == []
        return True


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
        last = project.qagen_fresh("run", "--json", "--profile", "remote")
        total = len(watch.received)
        again = project.qagen("run", "--json", "--profile", "remote")
        assert len(watch.received) == total
    assert (last.code, again.code) == (0, 0)
    assert _set(project) == _set(bench.project)
    assert whole <= total <= whole + 5 * IN_FLIGHT
    assert _catalog(project) == _catalog(bench.project)
    with project.instance() as instance:
        left = [run.status for run in instance.get_runs() if not run.is_finished]
        assert left == []


def test_killed_at_random_points_it_ends_with_the_questions_of_an_unkilled_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watch = Watch()
    with WireServer(watch) as server:
        bench = Bench(tmp_path, server, watch, TWELVE, 2)
        begun = time.monotonic()
        assert ended(bench.project.start("run", "--profile", "remote")).code == 0
        seconds, whole = time.monotonic() - begun, len(watch.received)
        for job in range(JOBS):
            chance, kills, project = random.Random(job), 0, bench.project.another(2 + job)
            watch.received = []
            while kills < KILLS and bench.killed_unless_done(
                project, _any_time(chance, watch, whole, seconds)
            ):
                kills += 1
            assert ended(project.start("run", "--profile", "remote")).code == 0
            paid = len(watch.received)
            with capsys.disabled():
                sys.stdout.write(
                    f"\njob {job + 1}: {kills} kills, {paid} paid requests, {whole} of an unkilled run"
                )
            assert whole <= paid <= whole + kills * IN_FLIGHT
            assert _set(project) == _set(bench.project)
            assert _results(project) == _results(bench.project)
            found = entries.check(Store(project.assets))
            assert (found.whole, found.corrupt, found.foreign) == (whole, (), ())


def _any_time(chance: random.Random, watch: Watch, whole: int, seconds: float) -> Callable[[], bool]:
    """Soon after some further request, or after some time; the first kill after a request, so that there is one."""
    if watch.received and chance.random() < 0.3:
        ends = time.monotonic() + chance.uniform(0.2, seconds)
        return lambda: time.monotonic() > ends
    requests, pause = len(watch.received) + chance.randrange(1, whole // 2), chance.uniform(0, 0.03)

    def now() -> bool:
        if len(watch.received) < requests:
            return False
        time.sleep(pause)
        return True

    return now


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
    told = "qagen: error: interrupted; finished work is kept, run the same command again to resume"
    assert interrupted.errors[-1] == told
    assert KEY in interrupted.errors
    assert "catalog" not in interrupted.errors
    assert asked <= 20 + IN_FLIGHT
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


def _results(project: Project) -> list[dict[str, Any]]:
    """What every document gave, in words and verdicts."""
    files = sorted(project.assets.glob(f"candidates/{KEY}/*.txt/*.json"))
    results = [GenerationResult.model_validate_json(file.read_bytes()) for file in files]
    kept = {"accepted", "rejected", "stats", "document_id", "fingerprint", "end", "verdicts"}
    return [result.model_dump(include=kept) for result in results]


def _set(project: Project) -> dict[str, Any]:
    return {**project.published(KEY), "timestamp": ""}


def _catalog(project: Project) -> dict[str, Any]:
    (found,) = stats.combinations(project.assets / "catalog.duckdb")
    return found.model_dump(include={"accepted", "candidates", "validated", "calls", "outcomes"})
