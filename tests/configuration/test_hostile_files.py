"""Configuration files that are no regular files, and folders that lead elsewhere, do not affect their neighbours."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.configuration.exams import read_schemas
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.errors import ConfigError
from tests.configuration.test_corpora import add
from tests.configuration.test_problems import make


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(40_000_000_000)


MAKERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "fifo": (os.mkfifo, "cannot be read: it is not a regular file"),
    "device": (endless, "cannot be read: it is not a regular file"),
    "sparse": (huge, "is larger than 1 MB"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_configuration_that_is_no_small_file_is_one_line(tmp_path: Path, kind: str) -> None:
    create, said = MAKERS[kind]
    add(tmp_path, "good")
    add(tmp_path, "bad")
    make(tmp_path, "good")
    make(tmp_path, "bad")
    for path in (tmp_path / "bad" / "corpus.yaml", tmp_path / "problems" / "bad" / "problems.yaml"):
        path.unlink()
        create(path)
    for found, faults in (
        (load_corpora(tmp_path).corpora, load_corpora(tmp_path).faults),
        (load_problem_sets(tmp_path).sets, load_problem_sets(tmp_path).faults),
    ):
        assert list(found) == ["good"]
        assert [fault.message for fault in faults] == [said]
    create(tmp_path / "schemas.md")
    with pytest.raises(ConfigError, match=said):
        read_schemas(tmp_path / "schemas.md")


@pytest.mark.parametrize("target", ["/etc", "loop"])
def test_documents_and_sources_do_not_lead_out(tmp_path: Path, target: str) -> None:
    add(tmp_path, "good")
    add(tmp_path, "bad")
    make(tmp_path, "bad")
    (tmp_path / "bad" / "documents").rmdir()
    (tmp_path / "problems" / "bad" / "sources").rename(tmp_path / "old")
    for folder, name in ((tmp_path / "bad", "documents"), (tmp_path / "problems" / "bad", "sources")):
        (folder / name).symlink_to(name if target == "loop" else target)
    corpora = load_corpora(tmp_path)
    said = "is a link to itself" if target == "loop" else "is a link to /etc, which is outside"
    assert list(corpora.corpora) == ["good"]
    for fault in (*corpora.faults, *load_problem_sets(tmp_path).faults):
        assert said in fault.message
    assert len(load_problem_sets(tmp_path).faults) == 1


def test_a_corpus_folder_may_be_a_link_and_documents_a_link_beside(tmp_path: Path) -> None:
    add(tmp_path / "elsewhere", "linked")
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "linked").symlink_to(tmp_path / "elsewhere" / "linked")
    add(tmp_path / "corpora", "shared")
    (tmp_path / "corpora" / "shared" / "documents").rmdir()
    (tmp_path / "corpora" / "papers").mkdir()
    (tmp_path / "corpora" / "shared" / "documents").symlink_to("../papers")
    corpora = load_corpora(tmp_path / "corpora")
    assert (list(corpora.corpora), corpora.faults) == (["linked", "shared"], ())


@pytest.mark.parametrize("kind", ["fifo", "device", "long"])
def test_a_problem_source_that_is_no_file_breaks_its_set_alone(tmp_path: Path, kind: str) -> None:
    make(tmp_path, "good")
    name = "x" * 300 + ".tex" if kind == "long" else "b.tex"
    folder = make(tmp_path, "bad", f"name: Bad\nsources:\n  - file: {name}\n")
    if kind != "long":
        MAKERS[kind][0](folder / "sources" / name)
    found = load_problem_sets(tmp_path)
    assert list(found.sets) == ["good"]
    said = {"fifo": "it is not a regular file", "device": "it is a link out of sources/", "long": "too long"}
    assert [fault.key for fault in found.faults] == ["sources.0.file"]
    assert said[kind] in found.faults[0].message
