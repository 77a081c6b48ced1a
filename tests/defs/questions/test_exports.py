from __future__ import annotations

from pathlib import Path

from tests.support import waterworks
from tests.support.graph import DOCUMENTS, QUESTIONS, GraphRun, metadata, version
from tests.support.project import Project

KEY = "water/facts/textual"


def test_exports_are_beside_the_published_set(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    with GraphRun(project) as graph:
        assert graph.materialize("water", *DOCUMENTS).success
        early = graph.materialize(KEY, "exports")
        assert not early.success
        assert graph.materialize(KEY, *QUESTIONS).success
        made = graph.materialize(KEY, "exports")
        again = graph.materialize(KEY, "exports")
    shown = metadata(made, "exports")
    assert shown["dagster/row_count"] == len(project.published(KEY)["questions"])
    assert shown["formats"].count("\n") == 1 + 12
    assert version(made, "exports") == version(again, "exports")
    assert (project.assets / "published" / KEY / "exports" / "ragas" / "testset.jsonl").is_file()
