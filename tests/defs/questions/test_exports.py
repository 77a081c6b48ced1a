from __future__ import annotations

from tests.defs.conftest import TEXTUAL, Made
from tests.support.graph import metadata, version


def test_exports_are_beside_the_published_set(made: Made) -> None:
    run = made.runs["exports"]
    assert run.success
    shown = metadata(run, "exports")
    folder = made.project.assets / "published" / TEXTUAL / "exports"
    assert shown["dagster/uri"] == folder.absolute().as_uri()
    assert shown["dagster/table_name"] == "catalog.main.questions"
    assert shown["dagster/partition_row_count"] == len(made.project.published(TEXTUAL)["questions"])
    assert shown["formats"].count("\n") == 1 + 14
    stored = made.project.stored("published")
    assert f"published/{TEXTUAL}/exports/ragas/testset.jsonl" in stored
    again = made.graph.materialize(TEXTUAL, "exports")
    assert version(again, "exports") == version(run, "exports")
    assert made.project.stored("published") == stored
