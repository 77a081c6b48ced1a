"""The search index, measured: building it, building it again, and searching one document among many.

    python -m benchmarks.index [PLACE]   # a folder of documents or a file; without one it makes 300

Search is timed without embedding the query, which would hide the difference between a small and a large index, and the two
take turns, so that a slow moment of the machine hits both. Ratios are what counts.
"""

from __future__ import annotations

import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import project
from qagen_dagster.index.chunk_store import ChunkTable, EmbeddedDocument
from qagen_dagster.index.chunks import chunks_of
from qagen_dagster.index.ranking import words_of
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.index import IndexBuild, build_index
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.embedders import DIMENSIONS, Vectors
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.index_options import IndexOptions

CORPUS = "measured"
CONFIG = """\
name: Measured
corpus_context: Documents to measure with.
scenarios:
  facts: {name: Facts, description: Short facts.}
"""
SMALL, LARGE, ROUNDS = 15, 1_500, 400
MOST_SLOWER, MOST_AGAIN = 1.5, 0.02


def main() -> int:
    ratio = _print_search()
    again = _print_build(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    good = ratio <= MOST_SLOWER and again <= MOST_AGAIN
    print("within the bounds" if good else "OUT OF BOUNDS")
    return 0 if good else 1


def _print_search() -> float:
    """p95 of a search in one document, of 15 and of 1,500; the ratio."""
    draw = random.Random(5)
    tables = {count: ChunkTable.of_documents(list(_documents(count, draw))) for count in (SMALL, LARGE)}
    times: dict[int, list[float]] = {count: [] for count in tables}
    for _ in range(ROUNDS):
        query, vector = words_of(_sentence(draw)), _vectors(1, draw)[0]
        for count, table in tables.items():
            began = time.perf_counter()
            table.search(
                f"d{draw.randrange(count)}", query, vector, limit=5, threshold=0.0, ranking=Ranking.BOTH
            )
            times[count].append(time.perf_counter() - began)
    print(f"{'search in one document of':28} {'p50 ms':>8} {'p95 ms':>8}")
    for count, taken in times.items():
        print(f"{count:28,} {_percentile(taken, 50):8.2f} {_percentile(taken, 95):8.2f}")
    ratio = _percentile(times[LARGE], 95) / _percentile(times[SMALL], 95)
    print(f"p95 ratio {ratio:.2f} (at most {MOST_SLOWER})\n")
    return ratio


def _print_build(folder: Path | None) -> float:
    """Time of the first build and of one that has nothing to do; the share."""
    with tempfile.TemporaryDirectory() as root:
        draw = random.Random(7)
        texts = {} if folder else {f"d{n}.txt": _text(draw) for n in range(300)}
        settings = project.make(Path(root), CORPUS, CONFIG, texts, "embedded")
        for file in _files(folder):
            shutil.copy(file, settings.corpora / CORPUS / "documents")
        space = Workspace(settings)
        parsed = parse_corpus(space.corpus(CORPUS), space.store, space.parsers(), settings).index
        before = _peak()
        worked = time.process_time()
        first, seconds = _timed(lambda: build_index(space, CORPUS))
        worked = time.process_time() - worked
        again, idle = _timed(lambda: build_index(space, CORPUS))
    documents = len(parsed.documents)
    chunks = sum(one.chunks for one in first.index.documents)
    failed = sum(one.failure is not None for one in first.index.documents)
    print(
        f"{documents:,} documents, {chunks:,} chunks, {failed} failed; embedded {len(first.embedded)}, then {len(again.embedded)}"
    )
    print(
        f"first build {seconds:.1f} s: {documents / seconds:.1f} documents/s, {chunks / seconds:.1f} chunks/s"
    )
    print(
        f"of it {worked:.1f} s on CPUs: {chunks / worked:.1f} chunks/s of a CPU, whatever else the machine does"
    )
    print(f"memory peak {_peak():.0f} MB, of it {before:.0f} MB before")
    print(
        f"build with nothing to do {idle:.3f} s: {idle / seconds:.2%} of the first (at most {MOST_AGAIN:.0%})"
    )
    return idle / seconds


def _files(place: Path | None) -> list[Path]:
    if place is None or place.is_file():
        return [] if place is None else [place]
    return [path for path in place.iterdir() if path.is_file()]


def _timed(work: Callable[[], IndexBuild]) -> tuple[IndexBuild, float]:
    began = time.perf_counter()
    done = work()
    return done, time.perf_counter() - began


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3  # macOS counts bytes, Linux kilobytes


def _percentile(values: list[float], share: int) -> float:
    return float(np.percentile(values, share)) * 1e3


def _documents(count: int, draw: random.Random) -> Iterator[EmbeddedDocument]:
    for number in range(count):
        text = _text(draw)
        chunks = chunks_of(text, IndexOptions())
        words = tuple(words_of(text[chunk.start : chunk.end]) for chunk in chunks)
        yield EmbeddedDocument(f"d{number}", "", chunks, words, _vectors(len(chunks), draw))


def _vectors(count: int, draw: random.Random) -> Vectors:
    found = np.random.default_rng(draw.randrange(2**32)).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _text(draw: random.Random) -> str:
    return "\n".join(_sentence(draw) for _ in range(40))


def _sentence(draw: random.Random) -> str:
    """Words as rare and as common as in a text: by Zipf's law."""
    return " ".join(f"w{int(draw.paretovariate(0.9)) % 20_000}" for _ in range(14)).capitalize() + "."


if __name__ == "__main__":
    sys.exit(main())
