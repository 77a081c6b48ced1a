"""Parsing that a command begins before the Dagster run that records it. The run finds it by its id, and waits for it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.ingest.parallel import Progress
from qagen_dagster.ingest.parsing import ParsingResult, build_manifests, parse_corpus
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

_ANNOUNCED: dict[str, EarlyParsing] = {}  # by run id


@dataclass(eq=False)
class EarlyParsing:
    """The parsing of a corpus, and the search for its visuals."""

    _parsed: Future[ParsingResult] = field(default_factory=Future[ParsingResult])
    _looked: Future[None] = field(default_factory=Future[None])
    _listener: Progress | None = None

    def work(self, corpus: Corpus, store: Store, pool: ParserPool, settings: Settings, run_id: str) -> None:
        """Do it. Those who wait get the error, if there is one."""
        try:
            result = parse_corpus(corpus, store, pool, settings, self._tell, run_id=run_id)
            self._parsed.set_result(result)
            build_manifests(corpus, result.index, store, pool, settings, self._tell)
            self._looked.set_result(None)
        except BaseException as error:
            for one in (self._parsed, self._looked):
                if not one.done():
                    one.set_exception(error)

    def wait_for_text(self, progress: Progress) -> ParsingResult:
        """What was parsed. Raises what `parse_corpus` raises."""
        self._listener = progress
        return self._parsed.result()

    def wait_for_visuals(self, progress: Progress) -> None:
        """Return when the visuals are found. Raises what `build_manifests` raises."""
        self._listener = progress
        self._looked.result()

    def _tell(self, done: int, total: int, name: str) -> None:
        if self._listener is not None:
            self._listener(done, total, name)


def announce(run_id: str) -> EarlyParsing:
    """Let the run wait for parsing that has not begun yet."""
    return _ANNOUNCED.setdefault(run_id, EarlyParsing())


def announced(run_id: str) -> EarlyParsing | None:
    """The parsing that was announced for a run in this process."""
    return _ANNOUNCED.get(run_id)


def forget(run_id: str) -> None:
    _ANNOUNCED.pop(run_id, None)
