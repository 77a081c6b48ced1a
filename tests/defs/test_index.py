from __future__ import annotations

from pathlib import Path

from tests.support import waterworks
from tests.support.graph import DOCUMENTS, GraphRun, metadata, version
from tests.support.project import Project


def test_the_index_of_a_corpus_shows_what_was_embedded_and_what_was_kept(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    documents = {"ridge.txt": waterworks.notes("ridge"), "quay.txt": waterworks.notes("quay")}
    folder = project.corpus("water", waterworks.corpus(), documents)
    with GraphRun(project) as graph:
        graph.materialize("water", *DOCUMENTS)
        first = graph.materialize("water", "document_index")
        again = graph.materialize("water", "document_index")
        (folder / "documents/quay.txt").write_text(waterworks.notes("quay", ["intake"]))
        graph.materialize("water", *DOCUMENTS)
        assert graph.stale("document_index", ["water"]) == ["water"]
        changed = graph.materialize("water", "document_index")
    shown = [metadata(run, "document_index") for run in (first, again, changed)]
    assert [(one["embedded_now"], one["reused"], one["failed"]) for one in shown] == [
        (2, 0, 0),
        (0, 2, 0),
        (1, 1, 0),
    ]
    assert shown[0]["embedder"] == "embedded:minilm"
    assert (shown[0]["paid_calls"], shown[0]["usd"]) == (0, "nothing was paid")
    assert shown[0]["dagster/partition_row_count"] >= shown[0]["indexed_documents"] == 2
    assert [row.split("|")[3].strip() for row in shown[2]["documents"].splitlines()[2:]] == ["new", "reused"]
    assert Path(shown[0]["index"].code_references[0].file_path).is_file()
    versions = [version(run, "document_index") for run in (first, again, changed)]
    assert versions[0] == versions[1] != versions[2]


def test_a_corpus_that_was_not_parsed_says_what_to_do(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    with GraphRun(project) as graph:
        result = graph.materialize("water", "document_index")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    assert "materialize parsed_documents first" in error.cause.message


def test_automation_keeps_an_index_but_never_begins_one(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    with GraphRun(project) as graph:
        graph.settle()
        assert not (project.assets / "search").exists()
        graph.materialize("water", "document_index")
        assert graph.settle() == [["catalog"]]
        (folder / "documents/ridge.txt").write_text(waterworks.notes("ridge", ["intake"]))
        first, second, *_ = graph.settle()
    assert first == ["documents water"]
    assert second == ["index water", "questions water/facts/textual"]
