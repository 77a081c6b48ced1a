from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.files import CorpusFile, discover, file_hash, options_fingerprint, parse_options
from qagen_dagster.records.corpus import DocumentOptions
from qagen_dagster.records.ids import document_id
from tests.ingest.conftest import Desk


def names(desk: Desk) -> dict[str, bool]:
    """Files found, and whether they may be read."""
    return {file.name: file.refused is None for file in discover(desk.corpus)}


def test_files_are_found_by_name_at_any_depth(desk: Desk) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "B.txt", "ü.txt"):
        desk.add(name, "x")
    assert list(names(desk)) == ["B.txt", "a/b/c.txt", "a/z.txt", "b.txt", "ü.txt"]
    assert all(names(desk).values())


def test_hidden_files_and_folders_are_left_out(desk: Desk) -> None:
    for name in (".DS_Store", ".git/config", "a/.b/c.txt", "a/..d.txt", "seen.txt"):
        desk.add(name, "x")
    assert names(desk) == {"seen.txt": True}


def test_an_empty_corpus_has_no_files(desk: Desk) -> None:
    assert discover(desk.corpus) == []


def test_links_that_lead_out_are_refused_and_said(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "secrets"
    outside.mkdir()
    (outside / "key.txt").write_text("secret")
    (desk.documents / "file.txt").symlink_to(outside / "key.txt")
    (desk.documents / "folder").symlink_to(outside)
    (desk.documents / "up.txt").symlink_to("../../secrets/key.txt")
    (desk.documents / "dangling.txt").symlink_to(tmp_path / "absent.txt")
    (desk.documents / "loop.txt").symlink_to(desk.documents / "loop.txt")
    assert names(desk) == dict.fromkeys(("dangling.txt", "file.txt", "folder", "loop.txt", "up.txt"), False)
    assert {file.refused for file in discover(desk.corpus)} == {"is a link out of documents/ or not a file"}


def test_a_link_that_stays_inside_is_a_file(desk: Desk) -> None:
    desk.add("a/real.txt", "x")
    (desk.documents / "again.txt").symlink_to("a/real.txt")
    assert names(desk) == {"a/real.txt": True, "again.txt": True}


def test_the_documents_folder_itself_may_be_a_link(desk: Desk, tmp_path: Path) -> None:
    desk.add("a.txt", "x")
    desk.documents.rename(tmp_path / "elsewhere")
    desk.documents.symlink_to(tmp_path / "elsewhere")
    assert names(desk) == {"a.txt": True}


def test_what_is_not_a_file_is_refused(desk: Desk) -> None:
    os.mkfifo(desk.documents / "pipe.txt")
    assert names(desk) == {"pipe.txt": False}


def test_a_name_that_is_not_text_is_refused_under_a_name_that_is(desk: Desk) -> None:
    """Linux takes any bytes as a name; JSON does not."""
    (Path(os.fsencode(desk.documents).decode()) / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    (file,) = discover(desk.corpus)
    assert file.refused == "its name is not UTF-8"
    assert file.name.encode() == "caf\ufffd.txt".encode()
    assert document_id(file.name)


def test_reading_options_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDF_PASSWORD", "wool")
    options = DocumentOptions(
        ocr=False,
        ocr_languages="deu+eng",
        passwords={"a.pdf": "PDF_PASSWORD"},
        max_megabytes=0.5,
        max_pages=7,
    )
    found = parse_options(options)
    assert (found.passwords, found.max_bytes, found.max_pages) == ({"a.pdf": "wool"}, 500_000, 7)
    assert (found.ocr, found.ocr_languages) == (False, "deu+eng")
    monkeypatch.delenv("PDF_PASSWORD")
    with pytest.raises(ConfigError, match="PDF_PASSWORD"):
        parse_options(options)


def test_options_and_limits_have_a_mark_without_secrets(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    options = DocumentOptions(passwords={"a.pdf": "PDF_PASSWORD"})
    marks = {
        options_fingerprint(options, desk.settings),
        options_fingerprint(options.model_copy(update={"max_pages": 3}), desk.settings),
        options_fingerprint(options, replace(desk.settings, parser_seconds=1.0)),
        options_fingerprint(options, replace(desk.settings, parser_memory_mb=1)),
    }
    assert len(marks) == 4
    monkeypatch.setenv("PDF_PASSWORD", "wool")
    assert options_fingerprint(options, desk.settings) in marks
    assert options_fingerprint(options, replace(desk.settings, profile="x", parser_workers=9)) in marks


def test_a_files_hash_is_its_contents(tmp_path: Path) -> None:
    data = b"x" * 3_000_000
    (tmp_path / "a").write_bytes(data)
    found = file_hash(CorpusFile("a", tmp_path / "a"), len(data), Event())
    assert found == hashlib.sha256(data).hexdigest()
