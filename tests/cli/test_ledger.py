from __future__ import annotations

from qagen_dagster.models.ledger import Ledger
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Blobs, Store
from tests.cli.conftest import Command
from tests.support.wire_server import Reply, wire_body


def fill(qagen: Command, *questions: str) -> Blobs:
    blobs = Store(qagen.project.assets).blobs("ledger")
    for question in questions:
        body = wire_body("/v1/chat/completions", Reply(text="yes"), {}, 1)
        Ledger(blobs).put(digest(question), body, model="openai_compatible:asker", seconds=1, retries=0)
    return blobs


def test_the_ledger_is_counted(qagen: Command) -> None:
    assert qagen("ledger", "stats", "--json").value["entries"] == 0
    fill(qagen, "a", "b")
    value = qagen("ledger", "stats", "--json").value
    assert (value["entries"], value["models"][0]["input_tokens"]) == (2, 200)
    table = qagen("ledger", "stats")
    assert (table.code, table.err) == (0, "")
    assert "openai_compatible:asker" in table.out
    assert "2 entries" in table.out


def test_a_corrupt_entry_fails_the_check_and_is_named(qagen: Command) -> None:
    blobs = fill(qagen, "a", "b")
    good = qagen("ledger", "verify")
    assert (good.code, good.out, good.err) == (0, "2 whole, 0 corrupt, 0 foreign files\n", "")
    blobs.put(digest("b"), b'{"sha256": "0"')
    Store(qagen.project.assets).write_bytes("ledger/README", b"notes")
    bad = qagen("ledger", "verify", "--json")
    assert bad.code == 1
    assert bad.errors == [f"qagen: error: {blobs.path(digest('b'))}: half written or damaged"]
    assert (bad.value["ok"], bad.value["whole"], len(bad.value["foreign"])) == (False, 1, 1)
    assert f"foreign: {qagen.project.assets}/ledger/README" in qagen("ledger", "verify").out


def test_nothing_goes_without_yes(qagen: Command) -> None:
    blobs = fill(qagen, "a", "b")
    blobs.put(digest("b"), b"")
    for words in ((), ("--dry-run",)):
        shown = qagen("ledger", "prune", *words)
        assert shown.out.splitlines()[-1] == "1 would go (0 B): --yes removes"
    assert len(list(blobs.keys())) == 2
    assert qagen("ledger", "prune", "--yes").out.splitlines() == [
        "1 corrupt entries",
        "0 unused entries",
        "0 temporary files",
        "0 locks of dead processes",
        "removed 1",
    ]
    unused = qagen("ledger", "prune", "--unused", "--older-than", "0", "--yes", "--json").value
    assert (unused["removed"], unused["unused"]) == (1, [digest("a")])
    assert list(blobs.keys()) == []


def test_two_wishes_at_once_are_refused(qagen: Command) -> None:
    ended = qagen("ledger", "prune", "--dry-run", "--yes")
    assert (ended.code, ended.errors) == (2, ["qagen: error: --dry-run and --yes cannot both be meant"])
