"""Files that are made to be expensive or to lead elsewhere cost themselves alone, and an interrupt ends the work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.corpus_files import discover, open_view
from qagen_dagster.ingest.parsing import build_manifests, is_current, parse_corpus
from qagen_dagster.records.corpus_options import DocumentOptions
from qagen_dagster.records.document import CorpusIndex, Outcome
from tests.ingest.conftest import Desk

HUGE = 40_000_000_000


def sparse(path: Path, size: int = HUGE) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def test_a_file_that_is_too_large_is_not_read(desk: Desk) -> None:
    desk.add("a.txt", "one")
    sparse(desk.documents / "b.txt")
    started = time.monotonic()
    index = desk.parse().index
    entries = {entry.source: entry for entry in index.documents}
    build_manifests(desk.corpus, index, desk.store, desk.pool, desk.settings)
    assert is_current(desk.corpus, desk.store, desk.settings)
    assert time.monotonic() - started < 10
    huge = entries["b.txt"]
    assert (entries["a.txt"].outcome, huge.outcome, huge.bytes) == (Outcome.PARSED, Outcome.TOO_LARGE, HUGE)
    assert huge.detail == "40,000,000,000 bytes; the limit is 200,000,000"
    assert desk.pool.parsed == ["a.txt"]


def test_the_entry_of_an_earlier_version_for_a_large_file_stays(desk: Desk) -> None:
    """Earlier versions stored the hash of such a file."""
    desk.options = DocumentOptions(max_megabytes=0.001)
    desk.add("a.txt", "x" * 2_000)
    (entry,) = desk.parse().index.documents
    old = CorpusIndex(corpus="notes", documents=(entry.model_copy(update={"source_sha256": "ab" * 32}),))
    desk.store.write(CorpusIndex.key("notes"), old)
    assert is_current(desk.corpus, desk.store, desk.settings)
    assert desk.parse().index == old


@pytest.mark.parametrize("folder", [False, True])
def test_a_file_that_becomes_a_link_after_it_was_found_is_not_read(
    desk: Desk, tmp_path: Path, folder: bool
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("secret")
    desk.add("a.txt", "one")
    desk.add("sub/b.txt", "two")

    def swap(name: str) -> None:
        if name == "a.txt":
            (desk.documents / "sub" / "b.txt").unlink()
            if folder:
                (desk.documents / "sub").rmdir()
                (desk.documents / "sub").symlink_to(tmp_path / "outside")
            else:
                (desk.documents / "sub" / "b.txt").symlink_to(tmp_path / "outside" / "b.txt")

    desk.pool.before = swap
    first, second = desk.parse(parser_workers=1).index.documents
    assert (first.outcome, second.outcome) == (Outcome.PARSED, Outcome.CORRUPT)
    assert second.detail == "cannot be read: it is a link out of documents/"


def test_a_worker_does_not_follow_a_link_that_came_after_the_hash(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    path = desk.add("a.txt", "one")

    def swap(_: str) -> None:
        path.unlink()
        path.symlink_to(tmp_path / "secret.txt")

    desk.pool.before = swap
    (entry,) = desk.parse().index.documents
    assert (entry.outcome, entry.text_sha256) == (Outcome.CORRUPT, "")
    assert entry.detail == "the file cannot be read: it is a link out of documents/"


def test_the_hash_is_of_what_was_parsed(desk: Desk) -> None:
    path = desk.add("a.txt", "one")
    desk.pool.before = lambda _: path.write_text("two")
    (changed,) = desk.parse().index.documents
    desk.pool.before = str
    assert desk.parse().index.documents == (changed,)
    assert desk.pool.parsed == []


def test_a_path_that_is_too_long_costs_itself_alone(desk: Desk) -> None:
    desk.add("a.txt", "one")
    place = os.open(desk.documents, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=place)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=place)
        os.close(os.open("b.txt", os.O_WRONLY | os.O_CREAT, dir_fd=deeper))
        os.close(place)
        place = deeper
    os.close(place)
    entries = desk.parse().index.documents
    assert entries[0].outcome is Outcome.PARSED
    refused = [entry for entry in entries if entry.outcome is Outcome.UNSUPPORTED]
    assert [entry.detail for entry in refused] == ["the folder cannot be listed: File name too long"]
    assert len(refused[0].source) > 3_500
    assert {entry.outcome for entry in entries} == {Outcome.PARSED, Outcome.UNSUPPORTED, Outcome.EMPTY}


def test_documents_that_become_a_link_out_are_not_listed(desk: Desk) -> None:
    desk.add("a.txt", "one")
    (entry,) = desk.parse().index.documents
    desk.documents.rename(desk.folder / "old")
    desk.documents.symlink_to("/etc")
    attempts: tuple[Callable[[Corpus], object], ...] = (
        discover,
        lambda corpus: open_view(corpus, entry, desk.store, desk.pool, max_image_pixels=1_000),
    )
    for attempt in attempts:
        with pytest.raises(ConfigError, match="documents/ is a link to /etc"):
            attempt(desk.corpus)


def interrupted(desk: Desk) -> float:
    """Seconds until the work ends that is interrupted after its first file."""
    started = 0.0

    def interrupt(done: int, total: int, name: str) -> None:
        nonlocal started
        started = time.monotonic()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parse_corpus(desk.corpus, desk.store, desk.pool, desk.settings, interrupt)
    return time.monotonic() - started


def test_an_interrupt_does_not_wait_for_other_files(desk: Desk) -> None:
    for name in "abcdefgh":
        desk.add(f"{name}.txt", name)
    desk.pool.before = lambda name: time.sleep(0 if name == "a.txt" else 1.5)
    assert interrupted(desk) < 1


def test_an_interrupt_ends_the_hashing_of_a_large_file(desk: Desk) -> None:
    desk.options = DocumentOptions(max_megabytes=1_000_000)
    desk.add("a.txt", "one")
    sparse(desk.documents / "b.txt")
    before = set(threading.enumerate())
    assert interrupted(desk) < 1
    for thread in set(threading.enumerate()) - before:
        thread.join(1)
        assert not thread.is_alive(), thread
