"""What a rerun costs when everything has been paid: the same work again from results, from journals, from the ledger alone.

`python -m benchmarks.resume [--documents 1500]` works small documents through the real asset graph against a model server in a
process of its own that answers at once, over HTTP with the SDK, and counts requests. Then it works them again: as they are;
without results; without results and journals. The server's own thinking takes no time here, so the
ratios are the worst there can be: a real model makes the first run longer, and no other.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks import project
from qagen_dagster.definitions import open_graph
from qagen_dagster.loop import ledger
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.wire_server import WireServer

COMBINATION = Combination(corpus="water", scenario="facts", mode=Mode.TEXTUAL)
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""


class Run(NamedTuple):
    """Seconds on the clock and of this process' CPU, and requests that reached the server."""

    wall: float
    cpu: float
    requests: int


class Server:
    """The model server; it answers a line on its input with the requests so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def requests(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--serve", action="store_true", help="be the model server")
    given = parser.parse_args()
    if given.serve:
        _serve()
        return
    with tempfile.TemporaryDirectory() as folder, _server() as server:
        settings = _prepare(Path(folder), given.documents, server.url)
        runs = _runs(settings, server)
        found = ledger.check(Store(settings.assets))
        print(f"{given.documents} documents, {found.whole} ledger entries")
    _table(runs, given.documents)


def _runs(settings: Settings, server: Server) -> dict[str, Run]:
    assets = Path(settings.assets)
    runs: dict[str, Run] = {}
    with open_graph(settings, project.Quiet()) as graph:
        project.check(graph.documents(COMBINATION.corpus))

        def work(title: str) -> None:
            run = _measured(
                lambda: project.check(graph.materialize(title, ("candidate_qa",), COMBINATION.key)), server
            )
            runs[title] = run

        work("first run")
        wanted = _given(assets)
        work("again, all finished")
        shutil.rmtree(assets / "candidates")
        work("again, from the journals")
        for part in ("candidates", "journals"):
            shutil.rmtree(assets / part)
        work("again, from the ledger alone")
        if _given(assets) != wanted:
            raise SystemExit("the documents gave something else")
    return runs


def _given(assets: Path) -> dict[str, list[object]]:
    """What every document gave, by its result's name; when and at what cost is left out."""
    files = assets.glob("candidates/*/*/*/*/*.json")
    results = {file.relative_to(assets).as_posix(): json.loads(file.read_bytes()) for file in files}
    return {
        name: [result[key] for key in ("accepted", "rejected", "verdicts", "end")]
        for name, result in results.items()
    }


def _measured(work: Callable[[], None], server: Server) -> Run:
    before, wall, cpu = server.requests(), time.perf_counter(), time.process_time()
    work()
    return Run(time.perf_counter() - wall, time.process_time() - cpu, server.requests() - before)


def _table(runs: dict[str, Run], count: int) -> None:
    first = runs["first run"]
    for title, run in runs.items():
        print(
            f"{title:<30} {run.wall:8.2f} s {1000 * run.wall / count:8.2f} ms wall {1000 * run.cpu / count:8.2f} ms cpu"
            f" per document {run.requests:7} model calls {run.wall / first.wall:7.3f} of the first run"
        )


def _prepare(root: Path, count: int, url: str) -> Settings:
    names = [f"station{number:05d}" for number in range(count)]
    documents = {f"{name}.txt": waterworks.notes(name, alike=True) for name in names}
    settings = project.make(root, COMBINATION.corpus, waterworks.corpus(1), documents, "remote")
    (root / "profiles" / "remote.yaml").write_text(PROFILE.format(url=url), encoding="utf-8")
    return settings


@contextmanager
def _server() -> Generator[Server]:
    command = [sys.executable, "-m", "benchmarks.resume", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def _serve() -> None:
    answered = 0

    with WireServer(waterworks.answer) as server:
        print(server.url("openai_compatible"), flush=True)
        for _ in sys.stdin:
            answered += len(server.requests)
            server.requests.clear()
            print(answered, flush=True)


if __name__ == "__main__":
    main()
