from __future__ import annotations

import threading

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest import early
from qagen_dagster.records.document import CorpusIndex, VisualManifest
from tests.ingest.conftest import Desk


def _work(desk: Desk, run_id: str) -> early.EarlyParsing:
    begun = early.announce(run_id)
    begun.work(desk.corpus, desk.store, desk.pool, desk.settings, run_id)
    return begun


def test_a_run_waits_for_what_was_announced_for_it(desk: Desk) -> None:
    desk.add("a.txt", "one")
    begun = early.announce("run-1")
    assert early.announced("run-1") is begun
    worker = threading.Timer(0.05, lambda: _work(desk, "run-1"))
    worker.start()
    told: list[str] = []
    result = begun.wait_for_text(lambda done, total, name: told.append(f"{done}/{total} {name}"))
    begun.wait_for_visuals(lambda done, total, name: None)
    worker.join()
    early.forget("run-1")
    assert early.announced("run-1") is None
    assert told == ["1/1 a.txt"]
    assert desk.store.read(CorpusIndex.key("notes"), CorpusIndex) == result.index
    assert desk.store.exists(VisualManifest.key("notes", "a.txt"))


def test_those_who_wait_get_the_error(desk: Desk) -> None:
    desk.documents.rmdir()
    begun = _work(desk, "run-2")
    early.forget("run-2")
    for wait in (begun.wait_for_text, begun.wait_for_visuals):
        with pytest.raises(ConfigError, match="documents"):
            wait(lambda done, total, name: None)
