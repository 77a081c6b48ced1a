"""Stores that one checkout began and another finishes, on a model server that counts requests.

The old checkout is killed at several moments. The new one must ask for nothing whose response is stored, and must publish what
the old one publishes without a kill. It must also replay a whole run from the ledger alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import psutil

from benchmarks.equivalence.canonical import Masks, canonical
from tests.support.killed import KEY, RUN, Bench, Watch, left_over, reached, wait_until
from tests.support.project import Project, ended
from tests.support.wire_reader import Asked
from tests.support.wire_server import Reply, Step, WireServer

ANSWERS = (2, 30, 58, 88)  # of 97: beginning, documents, their end, and the comparison across them
PLACES = (f"published/{KEY}/corpus.json", "building")


class Steady(Watch):
    """Gives tool calls ids that do not depend on the order of requests."""

    def play(self, asked: Asked) -> Step:
        step = super().play(asked)
        assert isinstance(step, Reply)
        calls = [
            replace(call, id=f"call_{len(asked.results)}_{index}") for index, call in enumerate(step.calls)
        ]
        return replace(step, calls=tuple(calls))


@dataclass(frozen=True)
class Whole:
    """What the old checkout made without a kill."""

    began: datetime
    requests: int
    ledger: frozenset[str]
    published: dict[str, bytes]


def killed(old: Path, new: Path) -> int:
    """Print one line per store; the number of those that are not as expected."""
    watch = Steady()
    with tempfile.TemporaryDirectory(prefix="qagen-equivalence-") as name, WireServer(watch) as server:
        began, bench = datetime.now(UTC), Bench(Path(name), server, watch)
        _run(old, bench.project)
        whole = Whole(
            began, len(watch.received), frozenset(_ledger(bench.project)), _published(bench.project, began)
        )
        print(
            f"unkilled: {whole.requests} requests, {len(whole.ledger)} stored responses, {len(whole.published)} files"
        )
        faults = 0
        for number, (moment, prepare) in enumerate(_stores(old, bench).items(), start=2):
            project = bench.project.another(number)
            prepare(project)
            faults += _finish(moment, new, project, watch, whole)
        return faults + _finish("finished", new, bench.project, watch, whole)


def _stores(old: Path, bench: Bench) -> dict[str, Callable[[Project], None]]:
    """How to prepare each store, by the moment at which the old checkout stops."""

    def after(answers: int) -> Callable[[Project], None]:
        def prepare(project: Project) -> None:
            bench.watch.allow(answers)
            _kill(old, project, lambda: bench.watch.silent.is_set() and len(_ledger(project)) >= answers)
            bench.watch.allow(None)

        return prepare

    def at(place: str) -> Callable[[Project], None]:
        return lambda project: _kill(old, project, reached(project, place))

    def ledger_alone(project: Project) -> None:
        shutil.copytree(bench.project.assets / "ledger", project.assets / "ledger")

    return {
        **{f"killed after {answers} answers": after(answers) for answers in ANSWERS},
        **{f"killed at {place}": at(place) for place in PLACES},
        "ledger alone": ledger_alone,
    }


def _finish(moment: str, new: Path, project: Project, watch: Watch, whole: Whole) -> int:
    """Let the new checkout finish a store twice; 1 if something is wrong."""
    stored = _ledger(project)
    requests = [_requests(new, project, watch) for _ in range(2)]
    missing = whole.requests - len(stored)
    kept = {key: entry for key, entry in _ledger(project).items() if key in stored}
    wrong = {
        f"{requests[0] - missing} requests repeated": requests[0] != missing,
        f"{sum(kept.get(key) != entry for key, entry in stored.items())} responses stored again": kept
        != stored,
        "other requests": _ledger(project).keys() != whole.ledger,
        f"{requests[1]} requests of the second run": bool(requests[1]),
        "other published files": _published(project, whole.began) != whole.published,
    }
    found = ", ".join(text for text, there in wrong.items() if there)
    print(
        f"{moment}: {len(stored)} responses stored, {requests[0]} requests to finish, {requests[1]} again: {found or 'equal'}"
    )
    return bool(found)


def _requests(checkout: Path, project: Project, watch: Watch) -> int:
    before = len(watch.received)
    _run(checkout, project)
    return len(watch.received) - before


def _start(checkout: Path, project: Project) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [checkout / ".venv/bin/qagen", *RUN],
        cwd=project.root,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(checkout: Path, project: Project) -> None:
    done = ended(_start(checkout, project))
    if done.code:
        raise SystemExit(done.err)


def _kill(checkout: Path, project: Project, now: Callable[[], bool]) -> None:
    process = _start(checkout, project)
    wait_until(now, process)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    ended(process)
    left_over(children)


def _ledger(project: Project) -> dict[str, tuple[bytes, int]]:
    """The stored responses, with the times at which they were written. A response that was being written is not stored."""
    return {name: entry for name, entry in project.stored("ledger").items() if not name.endswith(".tmp")}


def _published(project: Project, began: datetime) -> dict[str, bytes]:
    masks = Masks.of({project.assets.name: "<store>"}, project.assets, began, datetime.now(UTC))
    stored = project.stored("published").items()
    # A kill in the middle of a write leaves a temporary file behind.
    return canonical({name: content for name, (content, _) in stored if not name.endswith(".tmp")}, masks)
