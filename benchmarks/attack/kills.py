"""Runs that are killed at random points, beside an unkilled run of the same documents.

A killed run may pay again for the calls that were in flight, and for nothing else. It leaves no process behind, and the
run that resumes it ends with the same set and the same results.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.attack.table import Row
from qagen_dagster.loop import ledger as entries
from qagen_dagster.store import Store
from tests.support.killed import (
    KEY,
    RUN,
    TWELVE,
    WORKERS,
    Bench,
    Watch,
    left_over,
    published,
    reached,
    results,
    wait_until,
)
from tests.support.project import Project, ended
from tests.support.warm import Command
from tests.support.wire_server import WireServer

JOBS, KILLS, PAIRS = 4, 5, 2  # jobs of one process, kills of each; jobs of two processes, four kills of each
PLACES = (f"published/{KEY}/corpus.json", "building")
SIGNALS = (  # signal, how often it is sent, after which part of the requests
    (signal.SIGINT, 1, 0.0),
    (signal.SIGTERM, 1, 0.1),
    (signal.SIGINT, 1, 0.3),
    (signal.SIGHUP, 1, 0.5),
    (signal.SIGINT, 2, 0.7),
    (signal.SIGTERM, 1, 0.9),
)
TOLD = "qagen: error: interrupted; finished work is kept, run the same command again to resume"
SAME = "the set of an unkilled run"


@dataclass(frozen=True)
class _Whole:
    """The bench after its unkilled run, and the requests of that run."""

    bench: Bench
    requests: int

    @property
    def asked(self) -> int:
        return len(self.bench.watch.received)

    def next_job(self, number: int) -> Project:
        self.bench.watch.received = []
        return self.bench.project.another(number)


def kills(folder: Path, short: bool) -> Iterator[Row]:
    """`kill -9` of one process, of one of two processes that work on the same set, and other signals."""
    watch = Watch()
    with WireServer(watch) as server:
        bench = Bench(folder, server, watch, TWELVE[:4] if short else TWELVE, 2)
        whole = _Whole(bench, bench.unkilled())
        for seed in range(0 if short else JOBS):  # in the short form, tests/e2e/test_kill.py does this
            yield _killed(whole, seed, KILLS)
        for seed in range(1 if short else PAIRS):
            yield _one_of_two_killed(whole, seed, 1 if short else 4)
        if not short:
            yield from _signals(whole)


def _killed(whole: _Whole, seed: int, count: int) -> Row:
    """The first kill comes while the run starts or parses, the last one while it publishes or builds the catalog."""
    chance, project = random.Random(seed), whole.next_job(10 + seed)
    for number in range(count):
        if 0 < number < count - 1:
            now = _asked(whole, chance)
        elif number:
            now = reached(project, chance.choice(PLACES))
        else:
            now = _after(chance.uniform(0.05, 1.5))
        whole.bench.killed(project, now)
    code = ended(project.start(*RUN)).code
    return _row(f"seed {seed}: kill -9, {count} times", whole, project, count, [code])


def _one_of_two_killed(whole: _Whole, seed: int, count: int) -> Row:
    """Two processes run the same set on the same store; one is killed and started again, and again."""
    chance, project = random.Random(seed), whole.next_job(20 + seed)
    both = [project.start(*RUN) for _ in range(2)]
    left: list[psutil.Process] = []
    for number in range(count):
        requests = (number + 1) * whole.requests // (count + 2)
        wait_until(lambda requests=requests: whole.asked >= requests, both[0])
        left += _killed_at_once(both.pop(chance.randrange(2)))
        both.append(project.start(*RUN))
    codes = [ended(process).code for process in both]
    return _row(f"seed {seed}: kill -9 of one of two, {count} times", whole, project, count, codes, left)


def _signals(whole: _Whole) -> Iterator[Row]:
    """Each signal stops a run that the next one resumes. Its moment is when calls are in flight that nobody answers."""
    project, watch = whole.next_job(30), whole.bench.watch
    for number, times, part in SIGNALS:
        process = project.start(*RUN)
        if part:
            watch.allow(max(1, int(part * whole.requests) - whole.asked))
            wait_until(watch.silent.is_set, process)
        else:
            time.sleep(0.5)  # it opens the graph or parses
        started = time.monotonic()
        children = psutil.Process(process.pid).children(recursive=True)
        for _ in range(times):
            process.send_signal(number)
        stopped = ended(process)
        seconds, left = time.monotonic() - started, left_over(children)
        polite = number is not signal.SIGINT or (stopped.code, stopped.errors[-1:]) == (130, [TOLD])
        watch.allow(None)
        yield Row(
            f"{number.name} x {times} at {part:.0%} of the requests",
            "it ends within 10 s, for SIGINT with code 130 and one line, and no process is left",
            f"exit code {stopped.code} after {seconds:.1f} s, {len(left)} processes left",
            stopped.code != 0 and polite and seconds < 10 and not left,
        )
    code = ended(project.start(*RUN)).code
    yield _row(f"resumed after {len(SIGNALS)} signals", whole, project, len(SIGNALS), [code])


def _row(
    attack: str,
    whole: _Whole,
    project: Project,
    count: int,
    codes: list[int],
    left: list[psutil.Process] | None = None,
) -> Row:
    asked, most = whole.asked, whole.requests + count * WORKERS
    ledger = entries.check(Store(project.assets))
    with project.instance() as instance:
        unfinished = sum(not run.is_finished for run in instance.get_runs())
    clean = whole.bench.project
    faults = {
        f"exit codes {codes}": any(codes),
        "another set": published(project) != published(clean),
        "other results": results(project) != results(clean),
        f"ledger: {ledger.whole} whole, {len(ledger.corrupt)} corrupt, {len(ledger.foreign)} foreign": (
            (ledger.whole, ledger.corrupt, ledger.foreign) != (whole.requests, (), ())
        ),
        f"{unfinished} unfinished runs": bool(unfinished),
        f"{len(left or ())} processes left": bool(left),
    }
    wrong = [fault for fault, there in faults.items() if there]
    return Row(
        attack,
        f"{SAME}, {whole.requests} to {most} requests",
        f"{', '.join(wrong) or SAME}, {asked} requests ({whole.requests} of an unkilled run, at most {most})",
        not wrong and whole.requests <= asked <= most,
    )


def _killed_at_once(process: Command) -> list[psutil.Process]:
    """Its parsers that are left; none if it has ended by itself."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    process.send_signal(signal.SIGKILL)
    ended(process)
    return left_over(children)


def _after(seconds: float) -> Callable[[], bool]:
    ends = time.monotonic() + seconds
    return lambda: time.monotonic() > ends


def _asked(whole: _Whole, chance: random.Random) -> Callable[[], bool]:
    """Soon after some further request."""
    left = whole.requests - whole.asked
    requests, pause = whole.asked + chance.randrange(1, max(2, left // 2)), chance.uniform(0, 0.03)

    def now() -> bool:
        if whole.asked < requests:
            return False
        time.sleep(pause)
        return True

    return now
