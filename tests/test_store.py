from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import uuid
from pathlib import Path

import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import content_hash
from qagen_dagster.store import Store
from tests.support.machines import bucket_root, bucket_roots


class Note(Record):
    text: str
    number: int = 0


class Line(Record):
    text: str
    notes: tuple[Note, ...] = ()


class Book(Record):
    title: str
    lines: tuple[Line, ...]
    notes: tuple[Note, ...] = ()


BOOK = Book(
    title='"lines": [',
    lines=(
        Line(text="é\n ]\n  }\u2028", notes=(Note(text="}"), Note(text=""))),
        Line(text=""),
        Line(text='  },\n"lines": ['),
    ),
    notes=(Note(text="last"),),
)


@pytest.fixture(params=["folder", "memory", "file-url", *bucket_roots()])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    roots = {
        "folder": str(tmp_path / "assets"),
        "memory": f"memory://{uuid.uuid4().hex}/assets",
        "file-url": f"file://{tmp_path}/assets/",
    }
    if request.param == "bucket":
        return Store(f"{bucket_root()}/{uuid.uuid4().hex}/assets")
    return Store(roots[str(request.param)])


def test_records_come_back_as_they_were(store: Store) -> None:
    store.write("a/b/note.json", Note(text="é\n\u2028", number=3))
    assert store.read("a/b/note.json", Note) == Note(text="é\n\u2028", number=3)
    assert store.find("a/b/note.json", Note) == Note(text="é\n\u2028", number=3)
    assert store.exists("a/b/note.json")
    assert store.read_bytes("a/b/note.json").endswith(b"}\n")


@pytest.mark.parametrize("indent", [None, 1, 2])
@pytest.mark.parametrize("book", [BOOK, BOOK.model_copy(update={"lines": ()})])
def test_rows_are_read_one_at_a_time(store: Store, book: Book, indent: int | None) -> None:
    store.write_bytes("book.json", book.model_dump_json(indent=indent).encode())
    assert tuple(store.rows("book.json", Book, Line)) == book.lines
    assert tuple(store.rows("book.json", Book, Note)) == book.notes
    assert store.read_head("book.json", Book, Line) == book.model_copy(update={"lines": ()})


def test_a_record_of_many_rows_is_never_whole_in_memory(tmp_path: Path) -> None:
    store = Store(tmp_path)
    lines = tuple(Line(text=f"{number} {'x' * 1000}") for number in range(2000))
    store.write("book.json", Book(title="long", lines=lines))
    tracemalloc.start()
    assert sum(1 for _ in store.rows("book.json", Book, Line)) == 2000
    assert store.read_head("book.json", Book, Line).title == "long"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000  # the file has 2 MB


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b' "title"', b' "name"'),
        (b'   "text": ""', b'   "text": 3'),
        (b"  },\n  {", b"  }\n  x\n  {"),
        (b"  }\n ],", b"  }\n  3\n ],"),
        (b"  }\n ],", b""),
        (b"\n}", b""),
    ],
)
def test_damage_anywhere_in_a_record_is_found_without_its_rows(store: Store, good: bytes, bad: bytes) -> None:
    data = BOOK.model_dump_json(indent=1).encode()
    assert good in data
    store.write_bytes("book.json", data.replace(good, bad, 1))
    assert store.find_head("book.json", Book, Line) is None
    with pytest.raises(StoreError, match=r"book\.json is not a valid (Book|Line)"):
        list(store.rows("book.json", Book, Line))
    assert store.find_head("none.json", Book, Line) is None
    with pytest.raises(StoreError, match=r"none\.json is missing"):
        list(store.rows("none.json", Book, Line))


def test_the_hash_of_a_value(store: Store) -> None:
    store.write_bytes("a/value", b"x" * 300_000)
    assert store.hash_of("a/value") == content_hash(b"x" * 300_000)
    assert store.hash_of("a/none") is None


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


DAMAGED = [b"", b'{"text": "cu', b"\xff\x00", b"[1]"]


@pytest.mark.parametrize("data", DAMAGED)
def test_a_damaged_record_is_set_aside_when_it_is_written_again(
    store: Store, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store.write_bytes("a/note.json", data)
    assert store.find_valid("a/note.json", Note) is None
    assert (store.get("a/note.json"), caplog.messages) == (data, []), "a reader changes nothing"
    store.write("a/note.json", Note(text="new"))
    assert store.read("a/note.json", Note) == Note(text="new")
    assert store.get("a/note.json.damaged") == data
    (line,) = caplog.messages
    assert line.startswith(f"{store.path('a/note.json')} is not a valid Note (")
    assert line.endswith(" errors): renamed to note.json.damaged, and made again")
    store.write_bytes("a/note.json", data)
    store.write("a/note.json", Note(text="new"))
    assert store.get("a/note.json.damaged-2") == data
    assert store.list("a") == ["a/note.json"], "what is set aside is no value of the store"


def test_what_another_process_has_repaired_is_left_alone(store: Store) -> None:
    store.write("note.json", Note(text="whole"))
    store.set_aside("note.json", b"{", "it was damaged")
    store.set_aside("gone.json", b"{", "it was damaged")
    assert store.read("note.json", Note).text == "whole"
    assert store.list("") == ["note.json"]
    assert not store.exists("note.json.damaged")


def test_two_processes_that_see_the_same_damage_leave_one_whole_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)
    for _ in range(20):
        store.write_bytes("note.json", b"{")
        start = threading.Barrier(4)

        def write(start: threading.Barrier = start) -> None:
            start.wait()
            store.write("note.json", Note(text="whole"))

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.read("note.json", Note).text == "whole"
        assert (tmp_path / "note.json.damaged").read_bytes() == b"{"
        (tmp_path / "note.json.damaged").unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["note.json"]
    assert len(caplog.messages) == 20


def test_a_damaged_record_of_a_store_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    store = Store(tmp_path)
    store.write_bytes("note.json", b"{")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(
        StoreError, match=r"note\.json is not a valid Note .*cannot be renamed: Permission denied"
    ):
        store.find_or_set_aside("note.json", Note)


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
    with pytest.raises(StoreError, match=r"/a cannot be written: Is a directory"):
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
