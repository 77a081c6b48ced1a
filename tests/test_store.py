from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import StoreError
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Combination, Mode, document_id
from qagen_dagster.store import Keys, Store


class Note(Record):
    text: str
    number: int = 0


COMBINATION = Combination(corpus="bells", scenario="exam", mode=Mode.VISUAL)


@pytest.fixture(params=["folder", "memory", "file-url"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    roots = {
        "folder": str(tmp_path / "assets"),
        "memory": f"memory://{uuid.uuid4().hex}/assets",
        "file-url": f"file://{tmp_path}/assets/",
    }
    return Store(roots[str(request.param)])


def test_records_come_back_as_they_were(store: Store) -> None:
    store.write("a/b/note.json", Note(text="é\n\u2028", number=3))
    assert store.read("a/b/note.json", Note) == Note(text="é\n\u2028", number=3)
    assert store.find("a/b/note.json", Note) == Note(text="é\n\u2028", number=3)
    assert store.exists("a/b/note.json")
    assert store.read_bytes("a/b/note.json").endswith(b"}\n")


def test_what_is_missing_is_named(store: Store) -> None:
    assert store.find("a/note.json", Note) is None
    assert store.get("a/note.json") is None
    assert not store.exists("a/note.json")
    for read in (lambda: store.read("a/note.json", Note), lambda: store.read_bytes("a/note.json")):
        with pytest.raises(StoreError, match=r"assets/a/note\.json is missing"):
            read()


@pytest.mark.parametrize("data", [b"", b"{", b'{"text": 1}', b'{"text": "x", "colour": "red"}', b"\xff\xfe"])
def test_what_is_not_of_its_kind_is_named(store: Store, data: bytes) -> None:
    store.write_bytes("a/note.json", data)
    with pytest.raises(StoreError, match=r"assets/a/note\.json is not a valid Note \(\d errors\)"):
        store.read("a/note.json", Note)
    with pytest.raises(StoreError, match="is not a valid Note"):
        store.find("a/note.json", Note)


def test_keys_are_listed_in_order_under_a_folder(store: Store) -> None:
    for key in ("b/2", "b/10", "a/x/y", "ba/1", "b/c/1"):
        store.write_bytes(key, b"x")
    assert store.list("b") == ["b/10", "b/2", "b/c/1"]
    assert store.list("") == ["a/x/y", "b/10", "b/2", "b/c/1", "ba/1"]
    assert store.list("absent") == []


def test_a_value_is_overwritten_whole(store: Store) -> None:
    store.write_bytes("a", b"x" * 100)
    store.write_bytes("a", b"y")
    assert store.read_bytes("a") == b"y"


def test_what_did_not_change_is_not_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.write_if_changed("a", b"x")
    os.utime(tmp_path / "a", (1, 1))
    assert not store.write_if_changed("a", b"x")
    assert (tmp_path / "a").stat().st_mtime == 1
    assert store.write_if_changed("a", b"y")
    assert store.get("a") == b"y"


def test_a_finished_file_is_moved_in(store: Store, tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        file = tmp_path / "made.duckdb"
        file.write_bytes(content)
        store.publish_file("deep/catalog.duckdb", file)
        assert store.read_bytes("deep/catalog.duckdb") == content
        assert not file.exists()


def test_what_is_removed_is_gone(store: Store) -> None:
    store.write_bytes("a/b", b"x")
    store.remove("a/b")
    assert store.get("a/b") is None
    store.remove("a/b")
    store.remove("never/there")


def test_people_are_told_where_things_are(tmp_path: Path) -> None:
    assert Store(tmp_path).path("a/b") == f"{tmp_path}/a/b"
    assert Store(tmp_path).local_path("a/b") == tmp_path / "a/b"
    assert Store("memory://x/").path("a/b") == "memory://x/a/b"
    assert Store("memory://x/").local_path("a/b") is None


def test_a_relative_root_is_a_folder_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store("assets").write_bytes("a/b", b"x")
    assert (tmp_path / "assets/a/b").read_bytes() == b"x"
    assert Store("assets").list("a") == ["a/b"]


# Whole or not at all.


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write_bytes("a/b", b"x")
    with pytest.raises(OSError, match="directory"):
        store.write_bytes("a", b"y")
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b"]


def test_many_writers_of_one_key_leave_one_whole_value(tmp_path: Path) -> None:
    store = Store(tmp_path)
    values = [bytes([number]) * 50_000 for number in range(8)]
    start = threading.Barrier(len(values))

    def write(value: bytes) -> None:
        start.wait()
        for _ in range(5):
            store.write_bytes("a/key", value)

    threads = [threading.Thread(target=write, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read_bytes("a/key") in values
    assert store.list("") == ["a/key"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["key"]


WRITER = """
import sys
from qagen_dagster.store import Store
store = Store(sys.argv[1])
old, new = b"o" * 3_000_000, b"n" * 4_000_000
print("ready", flush=True)
while True:
    store.write_bytes("a/key", old)
    store.write_bytes("a/key", new)
"""


def test_a_writer_killed_at_any_moment_leaves_the_old_or_the_new_value(tmp_path: Path) -> None:
    store = Store(tmp_path)
    whole = {b"o" * 3_000_000, b"n" * 4_000_000, None}
    for attempt in range(4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        for _ in range(20 + 7 * attempt):
            assert store.get("a/key") in whole
            time.sleep(0.002)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert store.get("a/key") in whole
        assert store.list("") in ([], ["a/key"])
    store.write_bytes("a/key", b"after")
    assert store.read_bytes("a/key") == b"after"


# Names.

MAKERS: dict[str, Callable[[str], str]] = {
    "document's corpus": lambda name: Keys.document(name, "d", "f"),
    "document": lambda name: Keys.document("c", name, "f"),
    "document's file": lambda name: Keys.document("c", "d", name),
    "text": lambda name: Keys.text("c", name),
    "record": lambda name: Keys.record(name, "d"),
    "visuals": lambda name: Keys.visuals("c", name),
    "index": Keys.corpus_index,
    "result": lambda name: Keys.result(COMBINATION, name, "f"),
    "result's fingerprint": lambda name: Keys.result(COMBINATION, "d", name),
    "journal": lambda name: Keys.journal(COMBINATION, name, "f"),
    "run": lambda name: Keys.run(name, COMBINATION),
    "history": lambda name: Keys.history(COMBINATION, name, "f"),
}
PATHS: dict[str, Callable[[str], str]] = {
    "published": lambda path: Keys.published(COMBINATION, path),
    "history": lambda path: Keys.history(COMBINATION, "r", path),
}
BAD = ["..", ".", "", "a/b", "../x", "a\\b", "a b", "\0", "...", "~", "/etc"]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("name", BAD)
def test_a_name_that_could_leave_its_folder_makes_no_key(make: Callable[[str], str], name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        make(name)


@pytest.mark.parametrize("make", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("path", ["../x", "a/../b", "/etc/passwd", "a//b", "", "a/.", "a/b/"])
def test_a_path_that_could_leave_its_folder_makes_no_key(make: Callable[[str], str], path: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        make(path)


@given(st.text(st.sampled_from("ab./\\-~\0 é"), max_size=8), st.sampled_from(sorted({**MAKERS, **PATHS})))
def test_every_key_stays_under_the_root(name: str, which: str) -> None:
    try:
        key = {**MAKERS, **PATHS}[which](name)
    except ValueError:
        return
    root = Path("/root/of/it")
    assert (root / key).is_relative_to(root)
    assert ".." not in Path(key).parts
    assert os.path.normpath(root / key) == str(root / key)


def test_the_layout_is_a_contract() -> None:
    assert Keys.text("bells", "d.txt") == "documents/bells/d.txt/text.txt"
    assert Keys.record("bells", "d.txt") == "documents/bells/d.txt/document.json"
    assert Keys.visuals("bells", "d.txt") == "documents/bells/d.txt/visuals.json"
    assert Keys.corpus_index("bells") == "documents/bells/index.json"
    assert Keys.published(COMBINATION, "corpus.json") == "published/bells/exam/visual/corpus.json"
    assert Keys.result(COMBINATION, "d.txt", "f") == "candidates/bells/exam/visual/d.txt/f.json"
    assert Keys.candidate_set(COMBINATION) == "candidates/bells/exam/visual/set.json"
    assert Keys.validated_set(COMBINATION) == "validated/bells/exam/visual/set.json"
    assert Keys.journal(COMBINATION, "d.txt", "f") == "journals/bells/exam/visual/d.txt/f.json"
    assert Keys.CATALOG == "catalog.duckdb"


def test_two_combinations_of_a_run_never_share_a_key() -> None:
    one = Combination(corpus="a--b", scenario="c", mode=Mode.TEXTUAL)
    other = Combination(corpus="a", scenario="b--c", mode=Mode.TEXTUAL)
    assert Keys.run("r", one) != Keys.run("r", other)


@pytest.mark.parametrize("key", [Keys.corpus_index("c"), Keys.candidate_set(COMBINATION)])
def test_no_document_is_called_like_a_file_beside_the_documents(key: str) -> None:
    """A stray index.json among a corpus' files must not stand where the index belongs."""
    folder, _, name = key.rpartition("/")
    taken = {Keys.record("c", document_id(name)), Keys.result(COMBINATION, document_id(name), "f")}
    assert not any(one.startswith(f"{folder}/{name}/") for one in taken)


# Blobs.


def test_blobs_are_spread_and_listed(store: Store) -> None:
    blobs = store.blobs("ledger")
    assert blobs.get("abcd") is None
    assert list(blobs.keys()) == []
    blobs.put("abcd", b"1")
    blobs.put("ab00", b"2")
    blobs.put("ff00", b"3")
    assert (blobs.get("abcd"), blobs.get("ab00")) == (b"1", b"2")
    assert sorted(blobs.keys()) == ["ab00", "abcd", "ff00"]
    assert store.list("ledger") == ["ledger/ab/ab00", "ledger/ab/abcd", "ledger/ff/ff00"]


@pytest.mark.parametrize("key", ["", "..", "../../etc", "a/b", "a b"])
def test_a_blob_key_is_a_name(store: Store, key: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        store.blobs("ledger").put(key, b"x")
    with pytest.raises(ValueError, match="is not a name"):
        store.blobs("ledger").get(key)
