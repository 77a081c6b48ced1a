from __future__ import annotations

import base64
import re
from pathlib import Path

from tests.defs.conftest import Made
from tests.support import waterworks
from tests.support.graph import DOCUMENTS, GraphRun, metadata, version
from tests.support.project import Project

_PICTURE = re.compile(r"data:(image/\w+);base64,([A-Za-z0-9+/=]+)")


def test_parsed_documents_show_every_file_with_its_outcome(made: Made) -> None:
    assert made.runs["documents"].success
    shown = metadata(made.runs["documents"], "parsed_documents")
    assert (shown["dagster/partition_row_count"], shown["files_parsed_now"], shown["not_usable"]) == (4, 4, 1)
    lines = sum(
        (made.project.assets / f"documents/water/{name}/text.txt").read_text().count("\n") + 1
        for name in ("ridge.txt", "quay.txt", "mill.pdf")
    )
    assert shown["lines"] == lines
    rows = shown["documents"].splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == ["scan.pdf", "mill.pdf", "quay.txt", "ridge.txt"]
    assert "not_what_it_says" in rows[0]
    assert "named .pdf, but the content is" in rows[0]
    (link,) = shown["index"].code_references
    assert link.file_path == f"{made.project.assets}/documents/water/index.json"
    assert Path(link.file_path).is_file()
    assert shown["outcomes"].startswith("![documents by outcome](data:image/svg+xml;base64,")


def test_visual_manifests_show_tables_figures_and_their_crops(made: Made) -> None:
    shown = metadata(made.runs["documents"], "visual_manifests")
    assert shown["dagster/partition_row_count"] == 2
    assert shown["documents_without_visuals"] == 2
    rows = shown["visuals"].splitlines()[2:]
    assert [[cell.strip() for cell in row.split("|")[1:5]] for row in rows] == [
        ["mill.pdf", "Table 1", "table", "1"],
        ["mill.pdf", "Figure 1", "figure", "1"],
    ]
    assert "Table 1. Opening pressure of the valves of the mill station, in bar." in rows[0]
    pictures = _PICTURE.findall(shown["crops"])
    assert len(pictures) == 2
    for media_type, data in pictures:
        head = base64.b64decode(data)[:4]
        assert head == {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff\xe0"}[media_type]


def test_unchanged_files_are_not_parsed_again_and_keep_the_data_version(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = project.corpus(
        "water",
        waterworks.corpus(),
        {"ridge.txt": waterworks.notes("ridge"), "quay.txt": waterworks.notes("quay")},
    )
    with GraphRun(project) as graph:
        first = graph.materialize("water", *DOCUMENTS)
        again = graph.materialize("water", *DOCUMENTS)
        (folder / "documents/quay.txt").write_text(waterworks.notes("quay", ["intake"]))
        changed = graph.materialize("water", *DOCUMENTS)
        (folder / "documents/ridge.txt").unlink()
        fewer = graph.materialize("water", *DOCUMENTS)
    runs = (first, again, changed, fewer)
    assert [metadata(run, "parsed_documents")["files_parsed_now"] for run in runs] == [2, 0, 1, 0]
    assert [metadata(run, "parsed_documents")["dagster/partition_row_count"] for run in runs] == [2, 2, 2, 1]
    versions = [version(run, "parsed_documents") for run in runs]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3


def test_a_corpus_that_broke_since_the_graph_was_loaded_fails_with_its_place(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    with GraphRun(project) as graph:
        (folder / "corpus.yaml").write_text(waterworks.corpus() + "topic: valves\n")
        result = graph.materialize("water", *DOCUMENTS)
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    assert f"{folder}/corpus.yaml:5: topic: unknown key" in error.cause.message
