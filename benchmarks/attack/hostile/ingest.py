"""Does with one corpus what `qagen run` does before any model is asked, and writes what became of each file.

`python -m benchmarks.attack.hostile.ingest FOLDER CORPUS`, in a process of its own, so that a hang or a crash ends it alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.attack.hostile.places import SWAPPED
from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions, RenderOptions, Source
from qagen_dagster.formats.parser_pool import FileSource, ParserPool
from qagen_dagster.formats.registry import ParsedFile
from qagen_dagster.ingest.corpus_files import open_view
from qagen_dagster.ingest.parsing import build_manifests, is_current, parse_corpus
from qagen_dagster.records.document import Outcome
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

SECONDS, MEMORY_MB, WORKERS = 20, 1_000, 2
CONFIG = "name: Hostile\ncorpus_context: Hostile files.\nscenarios: {s: {name: s, description: s}}\n"
SECRET = "outside.txt"  # beside the corpora
T = TypeVar("T")


class SwappingPool(ParserPool):
    """Replaces some files, or their folder, by a link after they were found and hashed. Takes the time of each file."""

    def __init__(self) -> None:
        super().__init__(WORKERS, SECONDS, MEMORY_MB * 1_000_000)
        self.seconds: dict[str, float] = {}

    def parse(self, source: Source | FileSource, options: ParseOptions) -> ParsedFile:
        if isinstance(source, FileSource) and SWAPPED in source.path.name:
            _swap(source.path)
        found, self.seconds[source.name] = _timed(lambda: super(SwappingPool, self).parse(source, options))
        return found


def _swap(path: Path) -> None:
    secret = path.parents[4 if "-inside" in path.name else 3] / SECRET
    path.unlink()
    if "-inside" in path.name:
        path.parent.rmdir()
        secret.with_name(path.name).write_bytes(secret.read_bytes())
        path.parent.symlink_to(secret.parent)
    else:
        path.symlink_to(secret)


def main(root: Path, key: str) -> None:
    settings = Settings(
        corpora=root / "corpora",
        assets=str(root / "assets"),
        parser_workers=WORKERS,
        parser_seconds=SECONDS,
        parser_memory_mb=MEMORY_MB,
    )
    corpus, store = load_corpora(settings.corpora).corpora[key], Store(settings.assets)
    with SwappingPool() as pool:
        index, parsing = _timed(lambda: parse_corpus(corpus, store, pool, settings).index)
        manifests, listing = _timed(lambda: build_manifests(corpus, index, store, pool, settings))
        failures = {one.document_id: one.failure for one in manifests}
        files: list[dict[str, object]] = []
        for entry in index.documents[:2_000]:
            drawn, drawing = "", 0.0
            if entry.id in failures and entry.row is None:
                view = open_view(corpus, entry, store, pool, max_image_pixels=1_000_000)
                drawn, drawing = _timed(lambda view=view: _named(view.render))
            files.append(
                {
                    "source": entry.source,
                    "outcome": entry.outcome,
                    "detail": entry.detail,
                    "seconds": max(pool.seconds.get(entry.source, 0.0), drawing),
                    "visuals": failures.get(entry.id),
                    "page": drawn,
                }
            )
        current, checking = _timed(lambda: is_current(corpus, store, settings))
    seconds = {"parse": parsing, "visuals": listing, "current": checking}
    (root / f"{key}.json").write_text(json.dumps({"files": files, "current": current, "seconds": seconds}))


def _named(render: Callable[[int, RenderOptions], object]) -> str:
    try:
        render(1, RenderOptions())
    except DocumentError as error:
        return Outcome(error.outcome).value
    return "drawn"


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begun = time.monotonic()
    return work(), time.monotonic() - begun


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
