from __future__ import annotations

from pathlib import Path

from qagen_dagster.catalog import stats
from tests.defs.conftest import TEXTUAL, VISUAL, Made
from tests.support.graph import metadata


def test_the_catalog_shows_its_rows_and_combinations(made: Made) -> None:
    assert made.runs["catalog"].success
    shown = metadata(made.runs["catalog"], "catalog")
    assert shown["file"] == f"{made.project.assets}/catalog.duckdb"
    assert shown["rows"]["documents"] == 4
    assert shown["rows"]["visuals"] == 2
    assert shown["rows"]["questions"] == 6
    assert shown["dagster/row_count"] == sum(shown["rows"].values())
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in shown["combinations"].splitlines()[2:]]
    assert [row[:5] for row in rows] == [[TEXTUAL, "4", "6", "0", "100%"], [VISUAL, "4", "0", "0", ""]]
    found = stats.status(Path(shown["file"]))
    assert [str(row[5]) for row in rows] == [str(one.calls) for one in found.combinations]
