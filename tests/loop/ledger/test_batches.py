from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from qagen_dagster.loop import ledger
from qagen_dagster.models.batch_jobs import Job, JobBook, JobState
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Store

KEYS = [digest(str(number)) for number in range(4)]


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path / "assets" if request.param == "folder" else f"memory://{uuid.uuid4().hex}/assets")


def book(store: Store) -> JobBook:
    return JobBook(store.blobs("batches"))


def aged(store: Store, job: Job, days: float) -> Job:
    older = job.model_copy(update={"created": datetime.now(UTC) - timedelta(days=days)})
    store.blobs("batches").put(job.tag, older.model_dump_json().encode())
    return older


def test_without_batches_there_is_nothing_to_tell(store: Store) -> None:
    assert ledger.batch_statistics(store) == ledger.BatchStats()
    assert ledger.check(store).good
    assert ledger.prunable(store).count == 0


def test_batches_are_counted_by_what_is_known_of_them(store: Store) -> None:
    jobs = book(store)
    jobs.begin("openai:m", KEYS[:1])
    older = aged(store, jobs.sent(jobs.begin("openai:m", KEYS[1:3]), "b"), 1)
    jobs.close(jobs.sent(jobs.begin("openai:m", KEYS[3:]), "c"), lost={}, note="")
    store.blobs("batches").put("job-" + 32 * "f", b"{")
    found = ledger.statistics(store).batches
    assert (found.sending, found.open, found.finished, found.corrupt) == (1, 1, 1, 1)
    assert (found.requests, found.uncharged) == (3, 4)
    assert found.oldest == older.created.isoformat(timespec="seconds")


def test_what_cannot_be_read_is_named_and_goes(store: Store) -> None:
    jobs = book(store)
    bad = jobs.begin("openai:m", KEYS[:1])
    jobs.begin("openai:m", KEYS[1:])
    blobs = store.blobs("batches")
    blobs.put(bad.tag, (blobs.get(bad.tag) or b"")[:-20])
    store.write_bytes("batches/README", b"notes")
    found = ledger.check(store)
    assert [fault.path for fault in found.corrupt] == [blobs.path(bad.tag)]
    assert (found.good, found.batches) == (False, 1)
    assert found.foreign == (store.path("batches/README"),)
    assert ledger.prune(store, ledger.prunable(store)) == 1
    assert ledger.check(store).good


def test_finished_batches_go_once_nobody_asks_for_them(store: Store) -> None:
    jobs = book(store)
    ended = [
        aged(store, jobs.close(jobs.sent(jobs.begin("openai:m", [key]), key), lost={}, note=""), days)
        for key, days in zip(KEYS, (9, 9, 9, 1), strict=True)
    ]
    for key in (KEYS[0], KEYS[1], KEYS[3]):
        jobs.unmark(key)
    sending = jobs.begin("openai:m", [digest("another")])
    assert ledger.prunable(store).finished_batches == ()  # it may be found out by what it is not
    jobs.sent(sending, "d")
    found = ledger.prunable(store)
    assert set(found.finished_batches) == {ended[0].tag, ended[1].tag}
    assert ledger.prune(store, found) == found.count == 2
    assert {tag for tag, _ in jobs.records()} == {ended[2].tag, ended[3].tag, sending.tag}
    assert {state.state for _, state in jobs.records() if state} == {JobState.CLOSED, JobState.OPEN}
