"""What the catalog knows of runs that Dagster made: how they ended, their checks, and what each document gave."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.catalog.database import TABLES, snapshot
from qagen_dagster.defs.run_records import record_killed
from qagen_dagster.loop.catalog.source import CATALOG, rebuild_catalog
from qagen_dagster.records.run import RunRecord, RunStatus
from qagen_dagster.store import Store
from tests.support.history_project import COMBINATION, CORPUS, History, history


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return history(tmp_path_factory)


def rows(catalog: Path, query: str) -> list[tuple[Any, ...]]:
    with snapshot(catalog) as connection:
        return connection.execute(query).fetchall()


def everything(catalog: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {table: rows(catalog, f"FROM {table}") for table in TABLES}


def test_each_run_has_its_own_pass_rate_models_and_cost(past: History) -> None:
    found = rows(
        past.catalog,
        "SELECT run_id, status, documents, accepted, rejected, round(pass_rate, 4), models['validator'], "
        f"set_version, usd > 0 FROM run_totals WHERE combination = '{COMBINATION}'",
    )
    model = "openai_compatible:"
    assert found == [
        (past.runs[0], "success", 2, 4, 0, 1.0, f"{model}judge", 1, True),
        (past.runs[1], "success", 2, 4, 2, 0.6667, f"{model}strict", 2, True),
        (past.runs[2], "success", 2, 3, 5, 0.375, f"{model}harsh", 3, True),
        (past.runs[3], "failure", 0, 0, 0, None, f"{model}judge", 3, False),
    ]


def test_a_failed_run_has_its_error_and_what_it_was_asked_for(past: History) -> None:
    found = rows(
        past.catalog,
        "SELECT run_id, \"partition\", profile, error, scenario_description, list_contains(assets, 'candidate_qa') "
        "FROM runs WHERE status = 'failure'",
    )
    error = found[0][3]
    assert found == [(past.runs[3], COMBINATION, "remote", error, "Single facts.", True)]
    assert error.startswith("2 of 2 documents failed")
    assert "\n" not in error


def test_every_version_of_the_set_stays(past: History) -> None:
    versions = rows(past.catalog, "SELECT version, run_id, questions, current FROM sets")
    assert versions == [
        (1, past.runs[0], 4, False),
        (2, past.runs[1], 4, False),
        (3, past.runs[2], 3, True),
    ]
    changed = rows(
        past.catalog,
        "SELECT version, change, source_document, regexp_extract(question, 'the (\\w+) valve', 1) FROM set_changes "
        "WHERE version = 2 ORDER BY change, source_document",
    )
    assert changed == [(2, "added", f"documents/{name}.txt", "bypass") for name in ("quay", "ridge")] + [
        (2, "removed", f"documents/{name}.txt", "intake") for name in ("quay", "ridge")
    ]
    assert rows(past.catalog, "SELECT DISTINCT question_type, document_id FROM set_questions ORDER BY 2") == [
        ("factual", "quay.txt"),
        ("factual", "ridge.txt"),
    ]


def test_checks_are_known_by_run(past: History) -> None:
    found = rows(
        past.catalog,
        "SELECT check_name, passed, (numbers->>'pass_rate')::DOUBLE FROM checks "
        f"WHERE run_id = '{past.runs[1]}' ORDER BY check_name",
    )
    assert {name: passed for name, passed, _ in found} == dict.fromkeys(
        ("evidence_in_document", "grade", "measured", "no_duplicates", "pass_rate", "validator_differs"), True
    )
    assert [rate for name, _, rate in found if name == "pass_rate"] == [0.6667]
    assert rows(past.catalog, f"FROM checks WHERE run_id = '{past.runs[3]}'") == []


def test_versions_of_documents_are_known_with_the_run_that_found_them(past: History) -> None:
    found = rows(
        past.catalog,
        "SELECT document_id, current, removed_at IS NULL, run_id IN (SELECT run_id FROM runs WHERE "
        f"\"partition\" = '{CORPUS}') FROM document_versions ORDER BY document_id, first_seen",
    )
    assert found == [
        ("quay.txt", False, True, True),
        ("quay.txt", True, True, True),
        ("ridge.txt", True, True, True),
    ]


def test_a_catalog_built_anew_has_the_same_history(past: History, tmp_path: Path) -> None:
    copy = Store(shutil.copytree(past.project.assets, tmp_path / "assets"))
    Path(copy.path(CATALOG)).unlink()
    rebuild_catalog(copy)
    assert everything(Path(copy.path(CATALOG))) == everything(past.catalog)


def test_a_store_without_history_still_has_its_runs(past: History, tmp_path: Path) -> None:
    """As versions before the history wrote it; and older still, with the current set alone."""
    copy = shutil.copytree(past.project.assets, tmp_path / "assets")
    for path in (
        *copy.rglob("plan.json"),
        *copy.rglob("results.json"),
        *copy.rglob("removed.json"),
        *copy.rglob("run.json"),
    ):
        path.unlink()
    rebuild_catalog(Store(copy))
    query = "SELECT run_id, accepted, round(pass_rate, 4), set_version FROM run_totals WHERE status IS NULL"
    assert rows(copy / CATALOG, query)[:3] == [
        (past.runs[0], 4, 1.0, 1),
        (past.runs[1], 4, 0.6667, 2),
        (past.runs[2], 3, 0.375, 3),
    ]
    for folder in ("runs", "history"):
        shutil.rmtree(copy / folder)
    rebuild_catalog(Store(copy))
    assert rows(copy / CATALOG, f"{query} AND status IS NULL AND documents = 2 AND profile IS NOT NULL") == [
        (past.runs[2], 3, 0.375, 1)
    ]
    assert rows(copy / CATALOG, "SELECT version, run_id, current FROM sets") == [(1, past.runs[2], True)]


def test_a_killed_run_is_known_as_failed_once_its_death_is_found(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    started = RunRecord(
        run_id="r1",
        job="j",
        assets=("candidate_qa",),
        partition=COMBINATION,
        started="2026-01-02T03:04:05+00:00",
    )
    store.write(RunRecord.key("r1"), started)
    record_killed(store, ["r1", "r2"], "the process of this run was killed")
    found = store.read(RunRecord.key("r1"), RunRecord)
    assert (found.status, found.error) == (RunStatus.FAILURE, "the process of this run was killed")
    assert not store.exists(RunRecord.key("r2"))
