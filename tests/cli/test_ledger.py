from __future__ import annotations

from datetime import UTC, datetime, timedelta

from qagen_dagster.models.batch_records import JobBook, JobState
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Blobs, Store
from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_server import Reply, wire_body


def fill(qagen: Command, *questions: str) -> Blobs:
    blobs = Store(qagen.project.assets).blobs("ledger")
    for question in questions:
        body = wire_body("/v1/chat/completions", Reply(text="yes"), {}, 1)
        Ledger(blobs).put(digest(question), body, model="openai_compatible:asker", seconds=1, retries=0)
    return blobs


def test_the_doctor_names_a_corrupt_entry_and_fails(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    blobs = fill(qagen, "a", "b")
    assert _of_ledger(qagen) == (0, ["ok   ledger: 2 entries and 0 records of batches are intact"])
    blobs.put(digest("b"), b'{"sha256": "0"')
    Store(qagen.project.assets).write_bytes("ledger/README", b"notes")
    assert _of_ledger(qagen) == (
        1,
        [
            "ok   ledger: 1 entries and 0 records of batches are intact",
            f"FAIL ledger: {blobs.path(digest('b'))}: half written or damaged",
            f"-    ledger: {qagen.project.assets}/ledger/README: not a file of the ledger",
        ],
    )


def _of_ledger(qagen: Command) -> tuple[int, list[str]]:
    """The exit code of `qagen doctor`, and its lines about the ledger."""
    ended = qagen("doctor", "--offline")
    return ended.code, [line for line in ended.out.splitlines() if line[5:].startswith("ledger:")]


def test_nothing_goes_without_yes(qagen: Command) -> None:
    blobs = fill(qagen, "a", "b")
    blobs.put(digest("b"), b"")
    assert qagen("ledger", "prune").out.splitlines()[-1] == "would remove 1 (0 B); use --yes to remove"
    assert len(list(blobs.keys())) == 2
    assert qagen("ledger", "prune", "--yes").out.splitlines() == [
        "1 corrupt entries",
        "0 unusable entries",
        "0 unused entries",
        "0 corrupt batch records",
        "0 records of finished batches",
        "0 temporary files",
        "0 locks of dead processes",
        "removed: 1",
    ]
    unused = qagen("ledger", "prune", "--unused", "--older-than", "0", "--yes", "--json").value
    assert (unused["removed"], unused["unused"]) == (1, [digest("a")])
    assert list(blobs.keys()) == []


def test_batches_are_checked_and_tidied_up(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    blobs = Store(qagen.project.assets).blobs("batches")
    book = JobBook(blobs)
    keys = [digest(str(number)) for number in range(3)]
    job = book.sent(book.begin("openai:m", keys), "batch_1")
    long_ago = datetime.now(UTC) - timedelta(days=9)
    old = job.model_copy(update={"tag": "job-" + 32 * "0", "created": long_ago, "state": JobState.CLOSED})
    blobs.put(old.tag, old.model_dump_json().encode())
    assert _of_ledger(qagen) == (0, ["ok   ledger: 0 entries and 2 records of batches are intact"])
    blobs.put(job.tag, b"{")
    code, lines = _of_ledger(qagen)
    assert code == 1
    assert lines[1].startswith(f"FAIL ledger: {blobs.path(job.tag)}: a batch's record, half written")
    assert qagen("ledger", "prune", "--yes").out.splitlines()[3:5] == [
        "1 corrupt batch records",
        "1 records of finished batches",
    ]
    assert _of_ledger(qagen)[0] == 0
