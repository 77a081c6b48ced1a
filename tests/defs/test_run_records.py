"""What the catalog knows of runs that Dagster made: how they ended, their checks, and what each document gave."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import JobFailureData
from dagster._utils.error import SerializableErrorInfo

from qagen_dagster.catalog.database import TABLES, snapshot
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.run_records import PARTITION_TAG, close_record, was_interrupted
from qagen_dagster.loop.catalog import CATALOG, rebuild_catalog
from qagen_dagster.records.run import RunRecord
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store
from tests.support.history_project import COMBINATION, CORPUS, History, history
from tests.support.project import Project


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
    assert versions == [(1, past.runs[0], 4, False), (2, past.runs[1], 4, False), (3, past.runs[2], 3, True)]
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


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (None, "success", ""),
        (ValueError("the first line\nthe second"), "failure", "ValueError: the first line the second"),
        (dg.DagsterExecutionInterruptedError(), "interrupted", None),
    ],
    ids=["success", "failure", "interrupted"],
)
def test_the_record_says_how_a_run_ended(
    tmp_path: Path, error: BaseException | None, status: str, line: str | None
) -> None:
    project = Project.make(tmp_path / "project")
    run_id = _run(project, project.settings(), error)
    record = Store(str(project.assets)).read(RunRecord.key(run_id), RunRecord)
    assert (record.status, record.partition, record.job) == (status, "somewhere", "work")
    assert record.started <= record.ended
    assert line is None or record.error == line


def test_a_store_that_cannot_be_written_does_not_stop_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = Project.make(tmp_path / "project")
    project.assets.write_text("a file")
    _run(project, project.settings(), None)
    assert "the catalog will not know this run: " in caplog.text


@pytest.mark.parametrize("name", ["in_process", "celery"])
def test_a_run_whose_ops_have_processes_of_their_own_ends_with_its_last_asset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    project = Project.make(tmp_path / "project")
    store = Store(project.assets)
    found: list[str] = []

    @dg.asset
    def first(workspace: WorkspaceResource) -> None: ...

    @dg.asset(deps=[first])
    def second(context, workspace: WorkspaceResource) -> None:
        close_record(Layout(), store, context.instance, context.run)  # as the process of `first` did
        found.append(store.read(RunRecord.key(context.run.run_id), RunRecord).status.value)

    monkeypatch.setenv("QAGEN_EXECUTOR", name)
    with project.instance() as instance:
        resources = {"workspace": WorkspaceResource.of(project.settings(), Layout())}
        tags = {PARTITION_TAG: "somewhere"}
        run = dg.materialize([first, second], instance=instance, resources=resources, tags=tags)
    assert found == (["success"] if name == "in_process" else ["started"])
    assert store.read(RunRecord.key(run.run_id), RunRecord).status.value == "success"


def _run(project: Project, settings: Settings, error: BaseException | None) -> str:
    """A run of a job with the project's resource; its id."""

    @dg.op
    def step(workspace: WorkspaceResource) -> None:
        if error is not None:
            raise error

    @dg.job
    def work() -> None:
        step()

    with project.instance() as instance:
        with contextlib.suppress(dg.DagsterExecutionInterruptedError):
            work.execute_in_process(
                instance=instance,
                tags={PARTITION_TAG: "somewhere"},
                resources={"workspace": WorkspaceResource.of(settings, Layout())},
                raise_on_error=False,
            )
        (run,) = instance.get_runs()
    return run.run_id


def test_a_run_that_is_interrupted_before_its_first_step_counts_as_interrupted() -> None:
    def ended(error: str) -> dg.DagsterEvent:
        told = SerializableErrorInfo(message=f"{error}\n", stack=[], cls_name=error)
        return dg.DagsterEvent(
            event_type_value=dg.DagsterEventType.RUN_FAILURE.value,
            job_name="work",
            event_specific_data=JobFailureData(error=told, failure_reason=None),
        )

    assert was_interrupted([ended("DagsterExecutionInterruptedError")])
    assert not was_interrupted([ended("DagsterInvariantViolationError")])
