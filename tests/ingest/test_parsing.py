from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.parallel import apply_to_all
from qagen_dagster.ingest.parsing import (
    build_manifests,
    files_version,
    is_current,
    parse_corpus,
    why_outdated,
)
from qagen_dagster.records.corpus_options import DocumentOptions
from qagen_dagster.records.document import CorpusIndex, Document, Outcome, VisualManifest
from qagen_dagster.records.ids import content_hash
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store
from tests.ingest.conftest import Desk

ROWS = '{"id": "a", "text": "First notice."}\n{"id": "b", "text": "Second notice."}\n'


def outcomes(desk: Desk) -> dict[str, Outcome]:
    return {entry.id: entry.outcome for entry in desk.parse().index.documents}


def encrypted_pdf(password: str) -> bytes:
    library: Any = pymupdf
    document = library.open()
    document.new_page().insert_text((72, 72), "The gate opens at noon.")
    data = document.tobytes(encryption=library.PDF_ENCRYPT_AES_256, user_pw=password, owner_pw=password)
    document.close()
    return bytes(data)


def test_text_is_stored_exactly_as_its_lines_are_counted(desk: Desk) -> None:
    desk.add("sub/a.txt", "one\r\ntwo\r\n\r\nfour\n")
    (entry,) = desk.parse().index.documents
    text = desk.store.read_bytes(Document.text_key("notes", "sub--a.txt"))
    assert text == b"one\ntwo\n\nfour"
    assert (entry.id, entry.source, entry.format, entry.outcome) == (
        "sub--a.txt",
        "sub/a.txt",
        "text",
        Outcome.PARSED,
    )
    assert (entry.line_count, entry.char_count, entry.text_sha256) == (4, 13, content_hash(text))
    document = desk.store.read(Document.key("notes", "sub--a.txt"), Document)
    assert document.version == entry.version
    assert (document.line_count, document.text_sha256, document.parser) == (
        4,
        content_hash(text),
        entry.parser,
    )
    assert desk.store.read(CorpusIndex.key("notes"), CorpusIndex).documents == (entry,)


def test_each_row_is_a_document(desk: Desk) -> None:
    desk.add("n.jsonl", ROWS + "{broken\n" + '{"id": "d", "text": ""}\n')
    entries = desk.parse().index.documents
    assert [entry.source for entry in entries] == ["n.jsonl"] * 4
    assert [entry.outcome for entry in entries[:3]] == [Outcome.PARSED, Outcome.PARSED, Outcome.CORRUPT]
    assert entries[3].outcome is Outcome.EMPTY
    assert len({entry.id for entry in entries}) == 4
    assert desk.store.read_bytes(Document.text_key("notes", entries[1].id)) == b"Second notice."
    records = [desk.store.read(Document.key("notes", entry.id), Document) for entry in entries]
    assert [record.row for record in records] == [entry.row for entry in entries]
    assert records[2].detail
    assert not desk.store.exists(Document.text_key("notes", entries[2].id))


def test_every_bad_file_has_its_outcome_and_a_record(desk: Desk, tmp_path: Path) -> None:
    desk.options = DocumentOptions(max_megabytes=0.1)
    for name, content in {
        "empty.txt": b"",
        "binary.txt": bytes(range(256)) * 20,
        "fake.pdf": b"<!doctype html><title>404</title>",
        "broken.pdf": b"%PDF-1.7\nthis is all there is",
        "strange.xyz": b"x",
        "locked.pdf": encrypted_pdf("wool"),
        "large.txt": b"many words " * 20_000,
        "index.json": b"{}",
        "wait... what.txt": b"fine",
    }.items():
        desk.add(name, content)
    (tmp_path / "key.txt").write_text("secret")
    (desk.documents / "link.txt").symlink_to(tmp_path / "key.txt")
    entries = {entry.source: entry for entry in desk.parse().index.documents}
    assert {name: entry.outcome.value for name, entry in entries.items()} == {
        "empty.txt": "empty",
        "binary.txt": "binary",
        "fake.pdf": "not_what_it_says",
        "broken.pdf": "corrupt",
        "strange.xyz": "unsupported",
        "locked.pdf": "encrypted",
        "large.txt": "too_large",
        "index.json": "unsupported",
        "link.txt": "unsupported",
        "wait... what.txt": "parsed",
    }
    for entry in entries.values():
        record = desk.store.read(Document.key("notes", entry.id), Document)
        assert (record.outcome, record.detail, record.source) == (entry.outcome, entry.detail, entry.source)
        assert bool(entry.detail) == (entry.outcome is not Outcome.PARSED)
    everything = b"".join(desk.store.read_bytes(key) for key in desk.store.list(""))
    assert b"secret" not in everything


def test_what_did_not_change_is_not_parsed_again(desk: Desk) -> None:
    desk.add("a.txt", "one")
    desk.add("n.jsonl", ROWS)
    desk.add("empty.txt", "")
    first = desk.parse()
    assert first.parsed_files == 3
    for key in desk.store.list(""):
        os.utime(desk.store.path(key), (1, 1))
    second = desk.parse()
    assert (second.parsed_files, desk.pool.parsed, second.index) == (0, [], first.index)
    assert {os.stat(desk.store.path(key)).st_mtime for key in desk.store.list("")} == {1}


def test_a_second_parse_gives_the_same_bytes(desk: Desk, tmp_path: Path) -> None:
    desk.add("a.txt", "Alpha beta gamma delta.\n")
    desk.add("broken.pdf", b"%PDF-1.4 nothing")
    desk.parse()
    other = replace(desk, store=Store(tmp_path / "other"))
    other.parse()
    first, second = ({key: one.get(key) for key in one.list("")} for one in (desk.store, other.store))
    assert first == second


def test_only_what_changed_is_parsed_again(desk: Desk) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        desk.add(name, f"text of {name}")
    before = {entry.id: entry for entry in desk.parse().index.documents}
    desk.add("b.txt", "another text")
    desk.add("d.txt", "new")
    (desk.documents / "c.txt").unlink()
    result = desk.parse()
    assert sorted(desk.pool.parsed) == ["b.txt", "d.txt"]
    assert result.parsed_files == 2
    after = {entry.id: entry for entry in result.index.documents}
    assert list(after) == ["a.txt", "b.txt", "d.txt"]
    assert after["a.txt"] == before["a.txt"]
    assert after["b.txt"].version != before["b.txt"].version
    assert desk.store.read_bytes(Document.text_key("notes", "b.txt")) == b"another text"


def test_a_touched_file_is_not_a_changed_one(desk: Desk) -> None:
    path = desk.add("a.txt", "one")
    desk.parse()
    os.utime(path, (5, 5))
    assert desk.parse().parsed_files == 0


def test_other_options_or_limits_parse_everything_again(desk: Desk) -> None:
    desk.add("a.txt", "one")
    desk.parse()
    assert desk.parse(parser_seconds=5.0).parsed_files == 1
    desk.parse()
    desk.options = DocumentOptions(max_pages=3)
    assert desk.parse().parsed_files == 1
    assert desk.parse(document_workers=3, profile="x").parsed_files == 0


@pytest.mark.parametrize("lost", ["document.json", "text.txt"])
def test_what_was_lost_from_the_store_is_made_again(desk: Desk, lost: str) -> None:
    desk.add("a.txt", "one")
    desk.add("b.txt", "two")
    desk.parse()
    Path(desk.store.path(Document.file_key("notes", "a.txt", lost))).unlink()
    assert desk.parse().parsed_files == 1
    assert desk.store.exists(Document.file_key("notes", "a.txt", lost))


def test_a_password_that_came_later_opens_the_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.add("locked.pdf", encrypted_pdf("wool"))
    desk.add("a.txt", "one")
    monkeypatch.setenv("PDF_PASSWORD", "silk")
    desk.options = DocumentOptions(passwords={"locked.pdf": "PDF_PASSWORD"})
    assert outcomes(desk) == {"a.txt": Outcome.PARSED, "locked.pdf": Outcome.ENCRYPTED}
    assert "locked.pdf" not in str(why_outdated(desk.corpus, desk.store, desk.settings))
    monkeypatch.setenv("PDF_PASSWORD", "wool")
    assert "locked.pdf" in str(why_outdated(desk.corpus, desk.store, desk.settings))
    assert outcomes(desk)["locked.pdf"] is Outcome.PARSED
    assert desk.pool.parsed == ["locked.pdf"]
    assert b"opens at noon" in desk.store.read_bytes(Document.text_key("notes", "locked.pdf"))
    everything = b"".join(desk.store.read_bytes(key) for key in desk.store.list(""))
    assert b"wool" not in everything
    assert b"silk" not in everything


def test_a_password_that_is_not_set_is_said_before_anything_is_read(desk: Desk) -> None:
    desk.add("a.txt", "one")
    desk.options = DocumentOptions(passwords={"*": "NO_SUCH_VARIABLE_HERE"})
    with pytest.raises(ConfigError, match="NO_SUCH_VARIABLE_HERE"):
        desk.parse()


def test_a_file_that_broke_keeps_no_old_text(desk: Desk) -> None:
    desk.add("a.txt", "one")
    desk.parse()
    desk.add("a.txt", b"\x00\x01\x02" * 500)
    entry = desk.entry("a.txt")
    assert (entry.outcome, entry.text_sha256) == (Outcome.BINARY, "")
    assert not desk.store.get(Document.text_key("notes", "a.txt"))


def test_a_file_that_cannot_be_read_costs_itself_alone(desk: Desk) -> None:
    desk.add("a.txt", "one")
    gone = desk.add("b.txt", "two")
    desk.add("c.txt", "three")
    desk.pool.before = lambda name: gone.unlink() if name == "a.txt" else None
    entries = desk.parse(parser_workers=1).index.documents
    assert [(entry.id, entry.outcome.value) for entry in entries] == [
        ("a.txt", "parsed"),
        ("b.txt", "corrupt"),
        ("c.txt", "parsed"),
    ]
    assert entries[1].detail == "cannot be read: No such file or directory"
    desk.pool.before = str
    desk.add("b.txt", "two again")
    assert outcomes(desk)["b.txt"] is Outcome.PARSED


def test_progress_counts_files(desk: Desk) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        desk.add(name, "x")
    seen: list[tuple[int, int, str]] = []

    def note(done: int, total: int, name: str) -> None:
        seen.append((done, total, name))

    parse_corpus(desk.corpus, desk.store, desk.pool, desk.settings, note)
    assert seen == [(1, 3, "a.txt"), (2, 3, "b.txt"), (3, 3, "c.txt")]


def test_results_are_in_order_with_more_items_than_are_submitted_at_once() -> None:
    items, told = list(range(3_000)), list[int]()
    results = apply_to_all(
        str, items, [str(one) for one in items], 2, lambda done, _all, _name: told.append(done)
    )
    assert (results, told) == ([str(one) for one in items], list(range(1, 3_001)))


def test_the_index_is_in_order_whatever_finishes_first(desk: Desk) -> None:
    desk.add(
        "a.jsonl", "".join(json.dumps({"id": str(n), "text": f"text {n} " * 50}) + "\n" for n in range(300))
    )
    for name in ("b.txt", "c.txt", "d.txt"):
        desk.add(name, "short")
    sources = [entry.source for entry in desk.parse().index.documents]
    assert sources == ["a.jsonl"] * 300 + ["b.txt", "c.txt", "d.txt"]
    rows = [entry.row for entry in desk.parse().index.documents if entry.row is not None]
    assert rows == [str(n) for n in range(300)]


def current(desk: Desk, **settings: Any) -> bool:
    return is_current(desk.corpus, desk.store, Settings(**{**vars(desk.settings), **settings}))


def make_current(desk: Desk) -> None:
    index = desk.parse().index
    build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings)
    assert current(desk)


def change_text(desk: Desk) -> None:
    desk.add("a.txt", "other")


def add_file(desk: Desk) -> None:
    desk.add("new.txt", "x")


def remove_file(desk: Desk) -> None:
    (desk.documents / "n.jsonl").unlink()


def put_link_in_place(desk: Desk) -> None:
    (desk.documents / "a.txt").unlink()
    (desk.documents / "a.txt").symlink_to("/etc/hostname")


def lose_text(desk: Desk) -> None:
    desk.store.remove(Document.text_key("notes", "a.txt"))


def lose_manifest(desk: Desk) -> None:
    desk.store.remove(VisualManifest.key("notes", "a.txt"))


def stop_before_manifests(desk: Desk) -> None:
    change_text(desk)
    desk.parse()


def configure(desk: Desk) -> None:
    desk.options = DocumentOptions(max_pages=3)


@pytest.mark.parametrize(
    ("change", "reason", "of_files"),
    [
        (change_text, "changed files (1): a.txt", True),
        (add_file, "new files (1): new.txt", True),
        (remove_file, "removed files (1): n.jsonl", True),
        (put_link_in_place, "changed files (1): a.txt", True),
        (lose_text, "files with a damaged or missing record (1): a.txt", False),
        (lose_manifest, "documents without a list of their tables and figures (1): a.txt", False),
        (stop_before_manifests, "documents without a list of their tables and figures (1): a.txt", True),
        (configure, "files parsed with other options (4): a.txt, empty.txt, n.jsonl and 1 more", True),
    ],
)
def test_a_corpus_is_current_until_something_changes(
    desk: Desk, change: Callable[[Desk], None], reason: str, of_files: bool
) -> None:
    desk.add("a.txt", "one")
    desk.add("n.jsonl", ROWS)
    desk.add("empty.txt", "")
    desk.add("strange.xyz", "x")
    (desk.documents / "link.txt").symlink_to("/etc/hostname")
    assert not current(desk)
    make_current(desk)
    version = files_version(desk.corpus, desk.settings)
    assert files_version(desk.corpus, desk.settings) == version
    change(desk)
    assert why_outdated(desk.corpus, desk.store, desk.settings) == (reason,)
    assert (files_version(desk.corpus, desk.settings) != version) is of_files
    make_current(desk)
    assert current(desk, document_workers=1, profile="other")


DAMAGED = (b"", b'{"id', b"\xff\x00", b"[1]")


@pytest.mark.parametrize("data", DAMAGED)
@pytest.mark.parametrize("file", ["index.json", "a.txt/document.json", "a.txt/text.txt"])
def test_a_damaged_file_is_made_again(
    desk: Desk, file: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    desk.add("a.txt", "The gate opens at noon.")
    desk.add("b.txt", "The bell rings at six.")
    before = desk.parse()
    key = f"documents/notes/{file}"
    whole = desk.store.read_bytes(key)
    desk.store.write_bytes(key, data)
    assert not is_current(desk.corpus, desk.store, desk.settings)
    assert (desk.store.get(key), caplog.messages) == (data, [])
    desk.pool.parsed.clear()
    after = desk.parse()
    assert sorted(desk.pool.parsed) == (["a.txt", "b.txt"] if file == "index.json" else ["a.txt"])
    assert [one.version for one in after.index.documents] == [one.version for one in before.index.documents]
    assert desk.store.get(f"{key}.damaged") == data
    assert len(caplog.messages) == 1
    assert key in caplog.messages[0]
    if file != "index.json":
        assert desk.store.read_bytes(key) == whole
    desk.pool.parsed.clear()
    assert (desk.parse().parsed_files, desk.pool.parsed) == (0, [])


def test_an_edited_document_sets_nothing_aside(desk: Desk) -> None:
    for text in ("The gate opens at noon.", "The gate opens at one."):
        desk.add("a.txt", text)
        desk.parse()
    assert not list(desk.folder.parent.rglob("*.damaged"))


@pytest.mark.parametrize("data", DAMAGED)
def test_a_damaged_list_of_visuals_is_made_again(desk: Desk, data: bytes) -> None:
    desk.add("a.txt", "The gate opens at noon.")
    index = desk.parse().index
    build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings)
    key = VisualManifest.key("notes", "a.txt")
    whole = desk.store.read_bytes(key)
    desk.store.write_bytes(key, data)
    assert not is_current(desk.corpus, desk.store, desk.settings)
    build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings)
    assert (desk.store.read_bytes(key), desk.store.get(f"{key}.damaged")) == (whole, data)
    assert is_current(desk.corpus, desk.store, desk.settings)
