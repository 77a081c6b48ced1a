from __future__ import annotations

from pathlib import Path

from tests.support import waterworks
from tests.support.project import Project


def test_index_reads_what_is_new_and_reports(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    documents = {"ridge.txt": waterworks.notes("ridge"), "broken.pdf": b"no PDF at all"}
    project.corpus("water", waterworks.corpus(), documents)
    first = project.qagen("index", "--corpus", "water", "--json")
    assert (first.code, first.err) == (0, "")
    (corpus,) = first.value["corpora"]
    assert (corpus["corpus"], corpus["documents"], corpus["failed"]) == ("water", 1, {})
    assert corpus["embedder"] == "embedded:minilm"
    assert corpus["chunks"] > 0
    before = project.stored("search")
    assert project.qagen("index").code == 0
    assert project.stored("search") == before


def test_index_refuses_what_is_not_there(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {})
    unknown = project.qagen("index", "--corpus", "wine")
    assert (unknown.code, len(unknown.errors)) == (2, 1)
    assert "there is no corpus 'wine'" in unknown.err
    assert project.qagen("index", "--profile", "none").code == 2
