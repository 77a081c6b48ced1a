"""Many tiny files: time and memory per file of parsing a corpus, and of a rerun that finds nothing to do.

`python -m benchmarks.tiny_files 20000 200000` does what the asset `parsed_documents` does, with one process for each
figure. `cpu` is of that process and its parser processes; `memory` is the peak of the process above that of a corpus of one file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.ingest.parsing import is_current, parse_corpus
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

WORKERS = 2
CORPUS = "name: Tiny\ncorpus_context: Tiny notes.\nscenarios: {s: {name: s, description: s}}\n"
STEPS = ("parse", "rerun", "is current")


class Cost(NamedTuple):
    """Seconds on the clock, CPU seconds of the process and its children, and the peak memory of the process in kB."""

    wall: float
    cpu: float
    memory: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", type=int, nargs="*", default=[20_000])
    parser.add_argument("--step", nargs=2, metavar=("STEP", "FOLDER"), help="run one step in this process")
    given = parser.parse_args()
    if given.step:
        print(json.dumps(_run(given.step[0], Path(given.step[1]))))
        return
    least = _costs(1)
    for count in given.counts:
        for step, cost in _costs(count).items():
            base = least[step]
            print(
                f"{count:7} files, {step:<10} {1000 * cost.wall / count:7.2f} ms wall {1000 * cost.cpu / count:7.2f} ms cpu"
                f" {(cost.memory - base.memory) / count:7.2f} kB per file; {cost.wall:.0f} s, peak {cost.memory / 1000:.0f} MB",
                flush=True,
            )


def _costs(count: int) -> dict[str, Cost]:
    with tempfile.TemporaryDirectory(prefix="qagen-tiny-") as folder:
        for number in range(count):
            path = Path(folder, "corpora", "tiny", "documents", f"{number // 1000:04d}", f"{number:07d}.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"The mast of station {number} is nine metres high.\n", encoding="utf-8")
        Path(folder, "corpora", "tiny", "corpus.yaml").write_text(CORPUS, encoding="utf-8")
        return {step: _step(step, folder) for step in STEPS}


def _step(step: str, folder: str) -> Cost:
    command = [sys.executable, "-m", "benchmarks.tiny_files", "--step", step, folder]
    return Cost(*json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def _run(step: str, folder: Path) -> Cost:
    settings = Settings(
        corpora=folder / "corpora", assets=str(folder / "assets"), parser_workers=WORKERS, parser_seconds=60
    )
    corpus, store = load_corpora(settings.corpora).corpora["tiny"], Store(settings.assets)
    begun = time.perf_counter()
    with ParserPool(WORKERS) as pool:
        if step == "is current":
            is_current(corpus, store, settings)  # false: the visuals were not listed
        else:
            parsed = parse_corpus(corpus, store, pool, settings).parsed_files
            assert bool(parsed) == (step == "parse"), parsed
    wall = time.perf_counter() - begun
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return Cost(wall, sum(one.ru_utime + one.ru_stime for one in used), used[0].ru_maxrss)


if __name__ == "__main__":
    main()
