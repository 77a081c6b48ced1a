"""What the engine itself costs per document: the real asset graph with a scripted model that answers at once.

`python -m benchmarks.engine [--documents 1500]` makes small documents in a temporary folder, runs one combination on a real
Dagster instance, then runs it again when all is done. Beside it, the same documents through the loop
without Dagster, and one durable write, so that the machine's share can be told from ours.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks import project
from qagen_dagster.definitions import open_graph
from qagen_dagster.loop.questions.plan import RunOptions, plan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.settings import Settings
from tests.support import cloze
from tests.support.shards import run_shard

SET_ASSETS = ("validated_qa", "corpus_json")
COMBINATION = Combination(corpus="small", scenario="facts", mode=Mode.TEXTUAL)
CORPUS = """\
name: Small documents
corpus_context: Many small documents.
scenarios:
  facts: {name: Facts, description: Single facts., modes: [textual], target_count: 1}
"""


class Cost(NamedTuple):
    """Seconds: on the clock, and of this process' CPU."""

    wall: float
    cpu: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1500)
    count: int = parser.parse_args().documents
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        settings = prepare(root, count)
        print(f"{count} documents, profile dry_run, {settings.document_workers} workers")
        durable = measured(lambda: _writes(settings, 200)).wall / 200
        with open_graph(settings, project.Quiet()) as graph:
            parse = measured(lambda: project.check(graph.documents("small")))
            first = measured(
                lambda: project.check(graph.materialize("first", ("candidate_qa",), COMBINATION.key))
            )
            again = measured(
                lambda: project.check(graph.materialize("again", ("candidate_qa",), COMBINATION.key))
            )
            rest = measured(lambda: project.check(graph.materialize("set", SET_ASSETS, COMBINATION.key)))
            catalog = measured(lambda: project.check(graph.catalog()))
        plain = measured(lambda: _without_dagster(replace(settings, assets=str(root / "assets-2")), settings))
    _row("parsed_documents + visual_manifests", parse, count)
    _row("candidate_qa", first, count)
    _row("candidate_qa again, all documents done", again, count)
    _row("validated_qa + corpus_json", rest, count)
    _row("documents without Dagster", plain, count)
    _row("catalog", catalog, count)
    print(f"one durable write: {1000 * durable:.2f} ms")
    print(f"graph / loop alone: {first.wall / plain.wall:.2f}; again / first: {again.wall / first.wall:.2f}")


def prepare(root: Path, count: int) -> Settings:
    documents = {
        f"station_{number:05d}.txt": f"Station {number} lies {number + 3} metres above the sea on the northern shore of the bay.\n"
        f"It was built by a crew of {number % 17 + 2} workers and has measured the tide ever since.\n"
        for number in range(count)
    }
    settings = project.make(root, "small", CORPUS, documents, "dry_run")
    (root / "profiles" / "dry_run.yaml").write_text(cloze.PROFILE.read_text())
    os.environ["QAGEN_SCRIPTS"] = cloze.__name__
    return settings


def _without_dagster(settings: Settings, parsed: Settings) -> None:
    """The documents of the combination through the loop, reading what the graph has parsed."""
    Path(settings.assets).mkdir()
    (Path(settings.assets) / "documents").symlink_to(Path(parsed.assets) / "documents")
    space = Workspace(settings)
    planned = plan(space, COMBINATION, RunOptions())
    run_shard(space, planned, [entry.id for entry in planned.documents], "benchmark")


def _writes(settings: Settings, count: int) -> None:
    store = Workspace(settings).store
    for number in range(count):
        store.write_bytes(f"probe/{number}", b"x" * 2000)


def measured(work: Callable[[], None]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def _row(what: str, cost: Cost, count: int) -> None:
    wall, cpu = 1000 * cost.wall / count, 1000 * cost.cpu / count
    print(f"{what:<42} {cost.wall:8.2f} s {wall:8.2f} ms wall {cpu:8.2f} ms cpu per document")


if __name__ == "__main__":
    main()
