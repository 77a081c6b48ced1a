from __future__ import annotations

import fcntl
import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop import ledger
from qagen_dagster.models.batch_records import Job, JobBook, JobState
from qagen_dagster.models.file_locks import lock
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Store
from tests.support.wire_server import Reply, wire_body

ASKER, CLAUDE = "openai_compatible:asker", "anthropic:judge"


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path / "assets" if request.param == "folder" else f"memory://{uuid.uuid4().hex}/assets")


def pay(store: Store, question: str, model: str = ASKER, body: dict[str, Any] | None = None) -> str:
    path = "/v1/messages" if model == CLAUDE else "/v1/chat/completions"
    key = digest(question)
    Ledger(store.blobs("ledger")).put(
        key, body or wire_body(path, Reply(text="yes"), {}, 1), model=model, seconds=1.5, retries=0
    )
    return key


def damage(store: Store, key: str) -> str:
    blobs = store.blobs("ledger")
    whole = blobs.get(key)
    assert whole is not None
    blobs.put(key, whole[:-9])
    return store.path(f"ledger/{key[:2]}/{key}")


def test_an_empty_ledger_is_in_order(store: Store) -> None:
    found = ledger.check(store)
    assert (found.whole, found.corrupt, found.batches) == (0, (), 0)
    assert ledger.prunable(store, unused=True).count == 0


def test_every_file_is_judged(store: Store) -> None:
    whole, other = pay(store, "a"), pay(store, "b")
    bad = damage(store, pay(store, "c"))
    moved = digest("d")
    data = store.blobs("ledger").get(whole)
    assert data is not None
    store.blobs("ledger").put(moved, data)
    strays = [f"ledger/{whole[:2]}/notes.txt", "ledger/README", f"ledger/00/{other}"]
    for stray in strays:
        store.write_bytes(stray, data)
    found = ledger.check(store)
    assert (found.whole, not found.corrupt) == (2, False)
    assert {one.path: one.reason for one in found.corrupt} == {
        bad: "half written or damaged",
        store.path(f"ledger/{moved[:2]}/{moved}"): f"the entry of another request, {whole}",
    }
    assert set(found.foreign) == {store.path(stray) for stray in strays}


def test_corrupt_entries_go_and_whole_ones_stay(store: Store) -> None:
    kept, repaired, gone = (pay(store, question) for question in "abc")
    for key in (repaired, gone):
        damage(store, key)
    found = ledger.prunable(store)
    assert set(found.corrupt) == {repaired, gone}
    assert found.unused == ()
    pay(store, "b")  # by a run, after the look
    assert ledger.remove(store, found) == 1
    assert set(store.blobs("ledger").keys()) == {kept, repaired}
    assert ledger.check(store).corrupt == ()
    assert store.list("locks") == []


def test_entries_that_no_run_can_use_are_named_and_go(store: Store) -> None:
    emulated = {"tools": ["look"], "body": wire_body("/v1/chat/completions", Reply(text="yes"), {}, 1)}
    vectors = {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    kept = {pay(store, "a"), pay(store, "b", CLAUDE), pay(store, "c", "retired:model", {"usage": 3})}
    kept |= {pay(store, "d", body=emulated), pay(store, "e", "openai:vectors", vectors)}
    bodies: list[dict[str, Any]] = [{"choices": []}, {"status": "signed out"}, {"data": [{"index": 5}]}]
    bodies += [{"tools": ["look"], "body": {"choices": []}}]
    bad = [pay(store, f"bad {number}", body=body) for number, body in enumerate(bodies)]
    found = ledger.check(store)
    assert (found.whole, not found.corrupt) == (5, True)
    assert {one.path for one in found.unusable} == {store.path(f"ledger/{key[:2]}/{key}") for key in bad}
    assert all(one.reason.endswith("; it is asked for again") for one in found.unusable)
    gone = ledger.prunable(store)
    assert (set(gone.unusable), gone.count, gone.corrupt) == (set(bad), 4, ())
    pay(store, "bad 0")  # by a run, after the look
    assert ledger.remove(store, gone) == 3
    assert set(store.blobs("ledger").keys()) == kept | {bad[0]}


def test_what_any_record_refers_to_is_used(store: Store) -> None:
    keys = {name: pay(store, name) for name in ("journal", "result", "partial", "set", "idle", "text")}
    refer = '{{"calls": [{{"request_key":{space}"{key}"}}]}}'
    places = {
        "journal": "journals/c/s/textual/d/1.json",
        "result": "candidates/c/s/textual/d/1.json",
        "partial": "candidates/c/s/textual/d/1.partial.json",
        "set": "validated/c/s/textual/set.json",
        "text": "documents/c/d/document.json",  # a document that speaks of an address uses nothing
    }
    for name, place in places.items():
        store.write_bytes(place, refer.format(space=" " * (len(name) % 2), key=keys[name]).encode())
    idle = {keys["idle"], keys["text"]}
    assert ledger.prunable(store, unused=True).unused == ()  # too young to tell
    found = ledger.prunable(store, unused=True, older_than_days=0)
    assert set(found.unused) == idle
    assert found.bytes > 0
    assert ledger.prunable(store, older_than_days=0).unused == ()
    assert ledger.remove(store, found) == 2
    assert set(store.blobs("ledger").keys()) == set(keys.values()) - idle


def test_leftovers_of_dead_processes_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    store = Store(tmp_path)
    pay(store, "a")
    old, new = tmp_path / "ledger/ab/.abc.1.2.3.tmp", tmp_path / "journals/.j.1.2.3.tmp"
    for file in (old, new):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 4000,) * 2)
    for name in ("dead", "held"):
        (tmp_path / "locks/ledger").mkdir(parents=True, exist_ok=True)
        (tmp_path / "locks/ledger" / name).touch()
    held = lock(tmp_path / "locks/ledger/held", fcntl.LOCK_EX)
    try:
        found = ledger.prunable(store)
        assert (found.leftovers, found.locks) == (("ledger/ab/.abc.1.2.3.tmp",), ("locks/ledger/dead",))
        assert old.exists()
        assert ledger.remove(store, found) == 2
    finally:
        os.close(held)
    assert not old.exists()
    assert new.exists()
    assert [path.name for path in (tmp_path / "locks/ledger").iterdir()] == ["held"]


KEYS = [digest(str(number)) for number in range(4)]


def book(store: Store) -> JobBook:
    return JobBook(store.blobs("batches"))


def aged(store: Store, job: Job, days: float) -> Job:
    older = job.model_copy(update={"created": datetime.now(UTC) - timedelta(days=days)})
    store.blobs("batches").put(job.tag, older.model_dump_json().encode())
    return older


def test_what_cannot_be_read_is_named_and_goes(store: Store) -> None:
    jobs = book(store)
    bad = jobs.begin("openai:m", KEYS[:1])
    jobs.begin("openai:m", KEYS[1:])
    blobs = store.blobs("batches")
    blobs.put(bad.tag, (blobs.get(bad.tag) or b"")[:-20])
    store.write_bytes("batches/README", b"notes")
    found = ledger.check(store)
    assert [fault.path for fault in found.corrupt] == [blobs.path(bad.tag)]
    assert (not found.corrupt, found.batches) == (False, 1)
    assert found.foreign == (store.path("batches/README"),)
    assert ledger.remove(store, ledger.prunable(store)) == 1
    assert ledger.check(store).corrupt == ()


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
    assert ledger.remove(store, found) == found.count == 2
    assert {tag for tag, _ in jobs.records()} == {ended[2].tag, ended[3].tag, sending.tag}
    assert {state.state for _, state in jobs.records() if state} == {JobState.CLOSED, JobState.OPEN}
