from __future__ import annotations

import shutil
from pathlib import Path

from qagen_dagster.catalog import queries
from qagen_dagster.loop.catalog import CATALOG, catalog_knows, rebuild_catalog
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import CandidateSet
from qagen_dagster.store import Store
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
    found = queries.status(Path(shown["file"]))
    assert [str(row[5]) for row in rows] == [str(one.calls) for one in found.combinations]


def test_a_catalog_that_missed_a_run_is_known_to_be_old(made: Made, tmp_path: Path) -> None:
    """As it is after a run that was killed before its catalog."""
    store = Store(shutil.copytree(made.project.assets, tmp_path / "assets"))
    rebuild_catalog(store)  # other tests may have materialized something again
    both = [Combination.from_key(key) for key in (TEXTUAL, VISUAL)]
    never = Combination.from_key("water/reading/textual")
    assert catalog_knows(store, both)
    assert not catalog_knows(store, [*both, never])
    newer = store.read(CandidateSet.key(both[0]), CandidateSet).model_copy(update={"run_id": "newer"})
    store.write(CandidateSet.key(both[0]), newer)
    assert not catalog_knows(store, both)
    assert catalog_knows(store, both[1:])
    Path(store.path(CATALOG)).unlink()
    assert not catalog_knows(store, both[1:])
