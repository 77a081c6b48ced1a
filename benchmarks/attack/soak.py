"""`make soak`: two `qagen run` and a Dagster backfill work on one store at once, again and again, with small changes between.

The backfill runs as in production: a Dagster daemon, which stays for the whole time, has a process started
for each partition. At the end the sets must equal those of a clean run, no request may have been paid for twice,
and neither memory nor open files may have grown. The exit code is 1 on any surprise.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from benchmarks.attack.memory import open_files, peak_mb, resident_mb
from benchmarks.attack.table import Row, printed
from qagen_dagster.definitions import build_definitions
from qagen_dagster.loop import ledger as entries
from qagen_dagster.loop.unfinished import QUESTIONS
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.killed import PROFILE, RUN
from tests.support.project import Project, ended
from tests.support.wire_reader import read
from tests.support.wire_server import Seen, Step, WireServer

CORPORA = ("north", "south")
NAMES = [
    "ridge",
    "quay",
    "mill",
    "lock",
    "weir",
    "pond",
    "well",
    "creek",
    "shore",
    "marsh",
    "spring",
    "canal",
    "dune",
    "moor",
    "ford",
    "cove",
]
FEWEST = 4  # documents of a corpus
PATIENCE = 600  # seconds for one backfill
FINAL = (BulkActionStatus.COMPLETED_SUCCESS, BulkActionStatus.COMPLETED_FAILED, BulkActionStatus.COMPLETED, BulkActionStatus.FAILED)  # fmt: skip


@dataclass
class _Paid:
    """A model by rule that counts how often it answered each request."""

    replies: Counter[str] = field(default_factory=Counter[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        asked = read(seen)
        with self.lock:
            self.replies[digest(asked.whole)] += 1
        return waterworks.play(asked)


@dataclass(frozen=True)
class _Round:
    """What one round came to."""

    faults: list[str]
    peak: int  # of the two commands, in MB
    daemon: int  # memory of the daemon in MB; it starts a new code server every minute
    files: int  # that the daemon has open


def soak(folder: Path, minutes: float, seed: int) -> Iterator[Row]:
    """Rounds until the time is up, at least two."""
    paid, chance, rounds = _Paid(), random.Random(seed), list[_Round]()
    with WireServer(paid) as server:
        project = _project(folder, server)
        with _daemon(project) as daemon, project.instance() as instance:
            ends = time.monotonic() + 60 * minutes
            while len(rounds) < 2 or time.monotonic() < ends:
                told = _change(project, chance) if rounds else "the first run"
                found = _round(project, instance, daemon, chance.random() < 0.3)
                rounds.append(found)
                sys.stdout.write(
                    f"round {len(rounds):3}: {told:<40} {sum(paid.replies.values()):6} requests, commands {found.peak} MB, "
                    f"daemon {found.daemon} MB, {found.files} open files {'; '.join(found.faults)}\n"
                )
                sys.stdout.flush()
        yield from _grown(rounds)
        yield from _at_the_end(project, paid)


def _at_the_end(project: Project, paid: _Paid) -> Iterator[Row]:
    last = project.qagen(*RUN)
    twice, requests = sum(count > 1 for count in paid.replies.values()), sum(paid.replies.values())
    ledger = entries.check(Store(project.assets))
    clean = project.another(2)
    first = clean.qagen(*RUN)
    same = last.code == first.code == 0 and all(_set(project, one) == _set(clean, one) for one in CORPORA)
    told = (
        "the same sets" if same else f"other sets, exit codes {last.code} and {first.code}: {last.errors[:3]}"
    )
    yield Row("the sets at the end", "the sets of a clean run", told, same)
    yield Row(f"{requests} requests", "each is paid once", f"{twice} are paid twice", not twice)
    sound = (ledger.whole, ledger.corrupt, ledger.foreign) == (requests, (), ())
    told = f"{ledger.whole} whole entries, {len(ledger.corrupt)} corrupt, {len(ledger.foreign)} foreign files"
    yield Row("the ledger", f"{requests} whole entries", told, sound)
    left = [*Store(project.assets).leftovers(0), *Store(project.assets).list("locks")]
    damaged = [path.name for path in project.assets.rglob("*.damaged*")]
    yield Row("files left behind", "none", f"{left + damaged or 'none'}", not left + damaged)
    alive = [
        one.pid for one in psutil.process_iter(["cmdline"]) if str(project.root) in str(one.info["cmdline"])
    ]
    yield Row("processes left behind", "none", f"{alive or 'none'}", not alive)


def _grown(rounds: list[_Round]) -> Iterator[Row]:
    """The second round is the first with everything loaded."""
    faults = [fault for one in rounds for fault in one.faults]
    yield Row(
        f"{len(rounds)} rounds", "every run succeeds", f"{faults[:3] or 'every run succeeded'}", not faults
    )
    early, late = rounds[1], rounds[-1]
    for what, before, after, most in (
        ("peak memory of the commands, MB", early.peak, late.peak, early.peak * 1.3),
        ("memory of the daemon, MB", early.daemon, late.daemon, early.daemon * 1.3),
        ("open files of the daemon", early.files, late.files, early.files + 10),
    ):
        yield Row(
            what,
            f"at most {most:.0f} at the end",
            f"{before} at the start, {after} at the end",
            after <= most,
        )


def _round(project: Project, instance: dg.DagsterInstance, daemon: psutil.Process, force: bool) -> _Round:
    """Two commands and a backfill at once."""
    backfill = _backfill(project, instance)
    commands = [project.start_fresh(*RUN), project.start_fresh(*RUN, *(("--force",) if force else ()))]
    peak = 0
    while any(command.poll() is None for command in commands):
        peak = max(peak, *(peak_mb(command.pid) for command in commands))
        time.sleep(0.1)
    faults = [str(found.errors[:3]) for found in map(ended, commands) if found.code]
    status = _status(instance, backfill)
    if status is not BulkActionStatus.COMPLETED_SUCCESS:
        faults.append(f"backfill {status.value}: {_failed(instance, backfill)}")
    return _Round(faults, peak, resident_mb(daemon), open_files(daemon))


def _backfill(project: Project, instance: dg.DagsterInstance) -> str:
    """Request the question assets of both corpora, as the UI does."""
    definitions = build_definitions(project.settings(profile="remote"))
    backfill = PartitionBackfill.from_asset_partitions(
        backfill_id=uuid.uuid4().hex[:8],
        asset_graph=definitions.resolve_asset_graph(),
        partition_names=[f"{corpus}/facts/textual" for corpus in CORPORA],
        asset_selection=[dg.AssetKey(name) for name in QUESTIONS],
        backfill_timestamp=time.time(),
        tags={},
        dynamic_partitions_store=instance,
        all_partitions=False,
        title=None,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    return backfill.backfill_id


def _status(instance: dg.DagsterInstance, backfill: str) -> BulkActionStatus:
    ends = time.monotonic() + PATIENCE
    while True:
        found = instance.get_backfill(backfill)
        assert found is not None
        if found.status in FINAL or time.monotonic() > ends:
            return found.status
        time.sleep(0.5)


def _failed(instance: dg.DagsterInstance, backfill: str) -> list[str]:
    """Why runs of a backfill failed."""
    runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill}))
    failed = [run for run in runs if run.status is not dg.DagsterRunStatus.SUCCESS]
    events = [entry.dagster_event for run in failed for entry in instance.all_logs(run.run_id)]
    errors: list[Any] = [event.step_failure_data.error for event in events if event and event.is_step_failure]
    return [f"{run.status.value}" for run in failed] + [str(error)[:300] for error in errors]


def _change(project: Project, chance: random.Random) -> str:
    """A document that is edited, added or removed; or none, and the runs find everything up to date."""
    corpus = chance.choice(CORPORA)
    documents = project.corpora / corpus / "documents"
    there = sorted(path.stem for path in documents.iterdir())
    free = [name for name in NAMES if name not in there]
    kind = chance.choice(("edit", "edit", "add", "remove", "nothing"))
    if kind == "add" and free:
        name = chance.choice(free)
        (documents / f"{name}.txt").write_text(waterworks.notes(name, alike=True))
    elif kind == "remove" and len(there) > FEWEST:
        name = chance.choice(there)
        (documents / f"{name}.txt").unlink()
    elif kind == "nothing":
        return "nothing has changed"
    else:
        kind, name = "edit", chance.choice(there)
        valves = chance.sample(waterworks.VALVES, k=4)
        (documents / f"{name}.txt").write_text(waterworks.notes(name, valves, alike=True))
    return f"{kind} {corpus}/{name}.txt"


def _project(folder: Path, server: WireServer) -> Project:
    project = Project.make(folder / "project")
    for corpus in CORPORA:
        documents = {f"{name}.txt": waterworks.notes(name, alike=True) for name in NAMES[: FEWEST + 2]}
        project.corpus(corpus, waterworks.corpus(2), documents)
    project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
    return project


@contextmanager
def _daemon(project: Project) -> Generator[psutil.Process]:
    """The Dagster daemon of the project, which ends with its code server and the runs that it started."""
    command = [
        str(Path(sys.executable).with_name("dagster-daemon")),
        *("run", "--module-name", "qagen_dagster.definitions"),
    ]
    with (project.root / "daemon.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=project.root, env=project.environment(QAGEN_PROFILE="remote"), stdout=log, stderr=log
        )
    daemon = psutil.Process(process.pid)
    try:
        yield daemon
    finally:
        children = daemon.children(recursive=True)
        process.terminate()
        process.wait(60)
        for child in psutil.wait_procs(children, timeout=30)[1]:
            child.kill()


def _set(project: Project, corpus: str) -> dict[str, Any]:
    return {**project.published(f"{corpus}/facts/textual"), "timestamp": ""}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qagen-soak-") as folder:
        rows = list(printed(soak(Path(folder), given.minutes, given.seed), sys.stdout.write))
    return int(not all(row.held for row in rows))


if __name__ == "__main__":
    sys.exit(main())
