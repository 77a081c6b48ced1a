"""`kill -9` at chosen places of a run: what was finished is never asked again, and the set is that of an unkilled run.

`make test` kills one run once, `make test-long` again and again; `make attack` kills at random places.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.catalog import queries
from tests.support import waterworks
from tests.support.killed import (
    KEY,
    RUN,
    STATIONS,
    WORKERS,
    Bench,
    Watch,
    is_started,
    published,
    reached,
    wait_until,
)
from tests.support.project import Project, ended
from tests.support.wire_reader import Asked
from tests.support.wire_server import WireServer

# Of 97 answers, those after which a run is killed: at its beginning, among its documents, at their comparison. Then the places
# that a run has just written when it is killed.
OFTEN = ((2, 58, 30), (f"published/{KEY}/corpus.json", "building"))
ONCE = ((90,), ())


@pytest.mark.parametrize(
    ("answered", "written"),
    [pytest.param(*ONCE, id="once"), pytest.param(*OFTEN, id="again and again", marks=pytest.mark.long)],
)
def test_killed_it_ends_with_the_set_of_an_unkilled_run(
    tmp_path: Path, answered: tuple[int, ...], written: tuple[str, ...]
) -> None:
    watch = Watch()
    with WireServer(watch) as server:
        bench = Bench(tmp_path, server, watch)
        whole = bench.unkilled()
        project = bench.project.another(2)
        finished: set[str] = set()
        for answers in answered:
            before = len(watch.received)
            watch.allow(answers)
            bench.killed(project, watch.silent.is_set)
            _nothing_of(finished, watch.received[before:])
            finished = _finished(project)
        assert finished == set(STATIONS)
        for place in written:
            before = len(watch.received)
            watch.allow(None)
            bench.killed(project, reached(project, place))
            _nothing_of(finished, watch.received[before:])
        before = len(watch.received)
        watch.allow(None)
        last = project.qagen_fresh(*RUN)
        total = len(watch.received)
        _nothing_of(finished, watch.received[before:])
        again = project.qagen(*RUN)
        assert len(watch.received) == total
    assert (last.code, again.code) == (0, 0)
    assert published(project) == published(bench.project)
    assert whole <= total <= whole + len((*answered, *written)) * WORKERS
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
        wait_until(lambda: is_started(bench.project, KEY), process)
        process.send_signal(signal.SIGINT)  # calls in flight would hang for minutes
        interrupted = ended(process)
        asked = len(watch.received)
        watch.allow(None)
        assert ended(bench.project.start("run", "--profile", "remote")).code == 0
    assert interrupted.code == 130
    assert interrupted.out == ""
    told = "qagen: error: interrupted; finished work is kept, run the same command again to resume"
    assert interrupted.errors[-1] == told
    assert KEY in interrupted.errors
    assert "catalog" not in interrupted.errors
    assert asked <= 20 + WORKERS
    assert len(bench.project.published(KEY)["questions"]) == 3 * len(STATIONS)
    with bench.project.instance() as instance:
        assert [run.status for run in instance.get_runs() if not run.is_finished] == []


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


def _catalog(project: Project) -> dict[str, Any]:
    (found,) = queries.combinations(project.assets / "catalog.duckdb")
    return {name: found[name] for name in ("accepted", "candidates", "validated", "calls", "outcomes")}
