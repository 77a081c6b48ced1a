"""How time and memory grow with the corpus: 10, 100, 1,000 and 10,000 small documents with a scripted model that answers at once.

`python -m benchmarks.growth [COUNT ...]` runs the asset graph for each count in a process of its own: parsing, the questions, the
published set, then all of it again when nothing is left to do. The slope is the exponent of the growth of the seconds of CPU
from one count to the next: 1.0 is linear. Memory is the peak of the process; the slope beside it is in MB per 1,000 documents.

Then `qagen run` runs for each count as a process of its own, once when only the catalog is missing and once when nothing is left to do.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import project
from benchmarks.engine import COMBINATION, SET_ASSETS, Cost, measured, prepare
from qagen_dagster.definitions import open_graph
from qagen_dagster.loop.catalog import CATALOG
from qagen_dagster.settings import Settings, export

COUNTS = (10, 100, 1_000, 10_000)
_STARTER = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Command(NamedTuple):
    """Seconds on the clock and peak memory in MB of a process."""

    wall: float
    peak: float


class Size(NamedTuple):
    """What a corpus of `count` documents costs; `peak` in MB."""

    count: int
    parsing: Cost
    questions: Cost
    publishing: Cost
    again: Cost
    peak: float
    catalog: Command
    nothing: Command


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", type=int, nargs="*", default=COUNTS)
    parser.add_argument("--one", type=int, help="measure one count, and print it as JSON")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(_size(given.one)))
        return
    print("| documents | parsing | questions | published set | again | all | slope | peak | slope |")
    print("|---|---|---|---|---|---|---|---|---|")
    sizes: list[Size] = []
    for count in given.counts:
        sizes.append(_apart(count))
        _show(sizes[-1], sizes[-2] if len(sizes) > 1 else None)
    print("\n| documents | only the catalog is missing | peak | slope | nothing to do | peak | slope |")
    print("|---|---|---|---|---|---|---|")
    for before, size in zip([None, *sizes], sizes, strict=False):
        _show_commands(size, before)


def _apart(count: int) -> Size:
    command = [sys.executable, "-m", "benchmarks.growth", "--one", str(count)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    number, *costs, peak, catalog, nothing = json.loads(said)
    return Size(number, *(Cost(*one) for one in costs), peak, Command(*catalog), Command(*nothing))


def _size(count: int) -> Size:
    with tempfile.TemporaryDirectory() as folder:
        settings = prepare(Path(folder), count)
        with open_graph(settings, project.Quiet()) as graph:
            parts = (("candidate_qa",), SET_ASSETS, ("candidate_qa", *SET_ASSETS))
            parsing = measured(lambda: project.check(graph.documents(COMBINATION.corpus)))
            costs = [
                measured(lambda part=part: project.check(graph.materialize("", part, COMBINATION.key)))
                for part in parts
            ]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        _run(settings)
        (Path(settings.assets) / CATALOG).unlink()
        return Size(count, parsing, *costs, peak, catalog=_run(settings), nothing=_run(settings))


def _run(settings: Settings) -> Command:
    """`qagen run` in a process of its own, started by a small one: a process begins with the peak of the one that starts it."""
    started = time.perf_counter()
    command = [sys.executable, "-c", _STARTER, str(Path(sys.executable).with_name("qagen")), "run"]
    environment = {**os.environ, **export(settings)}
    said = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
    return Command(time.perf_counter() - started, int(said) / 1024)


def _show(size: Size, before: Size | None) -> None:
    parts = (size.parsing, size.questions, size.publishing, size.again)
    each = [f"{1000 * one.cpu / size.count:.1f} ms" for one in parts]
    slopes = ["", ""]
    if before is not None:
        more = size.count - before.count
        slopes = [
            f"{math.log(_cpu(size) / _cpu(before)) / math.log(size.count / before.count):.2f}",
            _slope(size.peak - before.peak, more),
        ]
    row = (f"{size.count:,}", *each, f"{_cpu(size):.1f} s", slopes[0], f"{size.peak:.0f} MB", slopes[1])
    print(f"| {' | '.join(row)} |", flush=True)


def _show_commands(size: Size, before: Size | None) -> None:
    row = [f"{size.count:,}"]
    for name in ("catalog", "nothing"):
        one: Command = getattr(size, name)
        more = 0.0 if before is None else one.peak - getattr(before, name).peak
        slope = "" if before is None else _slope(more, size.count - before.count)
        row += [f"{one.wall:.1f} s", f"{one.peak:.0f} MB", slope]
    print(f"| {' | '.join(row)} |")


def _slope(megabytes: float, documents: int) -> str:
    return f"{1000 * megabytes / documents:.1f} MB"


def _cpu(size: Size) -> float:
    return sum(one.cpu for one in (size.parsing, size.questions, size.publishing, size.again))


if __name__ == "__main__":
    main()
