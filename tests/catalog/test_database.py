from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import duckdb
import pytest
from filelock import FileLock

from qagen_dagster.catalog import database, queries
from qagen_dagster.catalog.database import TABLES, rebuild, snapshot, texts
from qagen_dagster.errors import StoreError
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.records.questions.results import DocumentEnd, VerdictRecord
from tests.catalog.conftest import Source


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with snapshot(path) as connection:
        return {table: connection.table(table).fetchall() for table in TABLES}


def test_records_round_trip(tmp_path: Path, make_world) -> None:
    path = tmp_path / "new" / "catalog.duckdb"
    counts = rebuild(make_world(size=3).source(), path)
    assert counts == {
        "documents": 3, "document_versions": 3, "sections": 0, "visuals": 6, "runs": 1, "run_results": 0, "checks": 0,
        "sets": 0, "set_questions": 0, "outcomes": 4, "candidates": 9, "verdicts": 9,
        "questions": 4, "retired_questions": 0, "decisions": 0, "grades": 0, "evaluations": 0, "closed_book": 0,
        "retrievals": 0, "relevance_labels": 0, "panel_questions": 0, "baseline_answers": 0, "model_calls": 3 * 3 * 2 + 2,
        "exam_items": 0, "exam_attempts": 0, "exam_calls": 0, "exam_statistics": 0, "problem_items": 0, "problem_tasks": 0,
        "problem_calls": 0,
    }  # fmt: skip
    tables = everything(path)
    assert {table: len(rows) for table, rows in tables.items()} == counts
    with snapshot(path) as connection:
        row = connection.execute(
            "SELECT authors, title, version FROM documents WHERE document_id = 'd1'"
        ).fetchone()
        assert row == (["A", "B"], "Title 1", f"{1:064d}"[:16] + "+text-1")
        assert connection.execute("SELECT position, label, box FROM visuals LIMIT 2").fetchall() == [
            (1, "Table 0", None),
            (2, "Table 1", [0.0, 0.0, 1.0, None]),
        ]
        assert connection.execute("SELECT outcome, detail FROM outcomes ORDER BY 1").fetchall()[0] == (
            "model_error", "refused",
        )  # fmt: skip


def test_repeats_within_the_corpus_are_rejected_candidates(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(size=3).source(), path)
    with snapshot(path) as connection:
        rows = connection.execute(
            "SELECT status, reason, stage, count(*) FROM candidates GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert rows == [
        ("accepted", None, None, 4),
        ("rejected", "duplicate", "corpus", 2),
        ("rejected", "trivial", "document", 3),
    ]


def test_a_criterion_that_was_not_judged_is_null(tmp_path: Path, make_world) -> None:
    """The validator compares nothing when it finds no answer of its own."""
    row = make_world(size=1).result(0)
    stored = ({**dict(one), "answerable": False} for one in row.result.verdicts[:1])
    verdicts = map(VerdictRecord.model_validate, stored)
    result = row.result.model_copy(update={"verdicts": (*verdicts, *row.result.verdicts[1:])})
    path = tmp_path / "catalog.duckdb"
    rebuild(Source(results=[row.model_copy(update={"result": result})]), path)
    with snapshot(path) as connection:
        found = connection.execute(
            "SELECT attempt, answerable, matches, non_trivial, unambiguous, relevant, passed FROM verdicts"
        ).fetchall()
    assert found == [
        (1, False, None, None, True, None, False),
        (2, True, True, False, True, True, False),
        (3, True, True, True, True, True, True),
    ]


def test_a_rejected_candidate_keeps_its_type_and_evidence(tmp_path: Path, make_world) -> None:
    row = make_world(size=1).result(0)
    evidence = row.result.accepted[0].evidence
    kept = row.result.rejected[0].model_copy(update={"question_type": "causal", "evidence": evidence})
    result = row.result.model_copy(update={"rejected": (kept, row.result.rejected[0])})
    path = tmp_path / "catalog.duckdb"
    rebuild(Source(results=[row.model_copy(update={"result": result})]), path)
    with snapshot(path) as connection:
        found = connection.execute(
            "SELECT question_type, evidence->0->>'start_line' FROM candidates WHERE status = 'rejected' ORDER BY 1"
        ).fetchall()
    assert found == [("causal", "3"), (None, None)]


def test_every_view_of_a_published_catalog_can_be_read(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(size=1).source(), path)
    with duckdb.connect(path, read_only=True) as connection:
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        assert len(views) >= 9
        for (view,) in views:
            connection.table(view).fetchall()


def test_rebuilding_changes_nothing(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world().source(), path)
    first = everything(path)
    rebuild(make_world().source(), path)
    assert everything(path) == first
    assert sorted(file.name for file in tmp_path.iterdir()) == [".catalog.duckdb.lock", "catalog.duckdb"]


def test_the_result_recorded_last_counts_and_all_calls_do(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    world = make_world(size=2)
    world.results.append(world.result(1, run_id="r2", later=60, key="other", end=DocumentEnd.MAX_ATTEMPTS))
    counts = rebuild(world.source(), path)
    assert counts["outcomes"] == 3
    assert counts["candidates"] == 6
    assert counts["model_calls"] == 3 * 6 + 1
    with snapshot(path) as connection:
        rows = connection.execute("SELECT outcome, run_id FROM outcomes WHERE document_id = 'd1'").fetchall()
        stale = connection.execute("SELECT count(*) FROM model_calls WHERE NOT current").fetchone()
    assert rows == [("max_attempts", "r2")]
    assert stale == (6,)


def test_of_equal_requests_the_first_that_was_not_replayed_counts(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    world = make_world(size=1)
    first, again = world.result(0, run_id="r0"), world.result(0, run_id="r2")
    replayed = tuple(one.model_copy(update={"replayed": True}) for one in first.result.calls)
    first = first.model_copy(update={"result": first.result.model_copy(update={"calls": replayed})})
    source = replace(world.source(), results=iter([first, world.result(0), again]))
    rebuild(source, path)
    with snapshot(path) as connection:
        rows = connection.execute(
            "SELECT run_id, count(*) FROM model_calls WHERE counted AND stage = 'document' GROUP BY ALL"
        ).fetchall()
    assert rows == [("r1", 6)]


def test_rows_of_several_megabytes_keep_their_order(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    world = make_world(size=3)
    rows = [world.result(n, key="k" * 500_000) for n in range(3)]
    rebuild(replace(world.source(), results=iter(rows)), path)
    with snapshot(path) as connection:
        found = connection.execute("SELECT request_key FROM model_calls WHERE stage = 'document'").fetchall()
    assert [key for (key,) in found] == [call.request_key for row in rows for call in row.result.calls]


def test_a_small_catalog_is_a_small_file(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(size=2).source(), path)
    assert path.stat().st_size < 4_500_000


def test_an_empty_source_makes_an_empty_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.duckdb"
    assert set(rebuild(Source(), path).values()) == {0}
    assert queries.status(path).combinations == ()


def test_a_reader_keeps_its_snapshot_during_a_rebuild(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(size=2).source(), path)
    with snapshot(path) as reader:
        rebuild(make_world(size=5).source(), path)
        assert reader.execute("SELECT count(*) FROM documents").fetchone() == (2,)
        assert reader.execute("SELECT count(*) FROM question_lineage").fetchone() == (3,)
        assert len(everything(path)["documents"]) == 5
    assert len(everything(path)["documents"]) == 5


def test_a_reader_in_another_process_keeps_its_snapshot(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(size=2).source(), path)
    code = (
        "import sys, duckdb; c = duckdb.connect(sys.argv[1], read_only=True); print('open', flush=True);"
        "sys.stdin.readline(); print(c.execute('SELECT count(*) FROM documents').fetchone()[0])"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        rebuild(make_world(size=5).source(), path)
        assert len(everything(path)["documents"]) == 5
        assert reader.communicate("go\n")[0] == "2\n"
    assert reader.returncode == 0


def test_a_path_with_quotes(tmp_path: Path, make_world) -> None:
    path = tmp_path / "it's" / "catalog.duckdb"
    rebuild(make_world(size=1).source(), path)
    assert queries.status(path).questions == 2


def test_builders_take_turns(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    worlds = [make_world(size=size) for size in (1, 2, 3, 4)]
    threads = [threading.Thread(target=rebuild, args=(world.source(), path)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(everything(path)["documents"]) in {1, 2, 3, 4}
    with FileLock(tmp_path / ".catalog.duckdb.lock"), pytest.raises(StoreError, match="another process"):
        rebuild(worlds[0].source(), path, lock_seconds=0.05)


def test_a_failed_build_leaves_the_published_one(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(size=2).source(), path)

    def broken():
        raise StoreError("a record is unreadable")
        yield

    with pytest.raises(StoreError, match="unreadable"):
        rebuild(Source(documents=broken()), path)
    assert len(everything(path)["documents"]) == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == [".catalog.duckdb.lock", "catalog.duckdb"]


def test_left_overs_of_a_killed_builder_go(tmp_path: Path, make_world) -> None:
    left_over = tmp_path / ".catalog.duckdb.building-abc"
    left_over.mkdir()
    (left_over / "catalog.duckdb").write_bytes(b"half")
    (tmp_path / "catalog.duckdb.wal").write_bytes(b"foreign")
    rebuild(make_world().source(), tmp_path / "catalog.duckdb")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".catalog.duckdb.lock", "catalog.duckdb"]


def test_missing_foreign_and_old_catalogs_say_what_to_do(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    with pytest.raises(StoreError, match=r"no catalog at.*qagen run"):
        queries.status(path)
    path.write_bytes(b"this is not a database" * 500)
    with pytest.raises(StoreError, match=r"cannot be read.*qagen run"):
        queries.status(path)
    path.unlink()
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE x (i INTEGER)")
    with pytest.raises(StoreError, match="schema None"):
        queries.status(path)
    rebuild(make_world().source(), path)
    queries.status(path)
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE catalog_info SET schema_version = 0")
    with pytest.raises(StoreError, match=r"schema 0, this version reads \d+.*anew"):
        queries.status(path)
    rebuild(make_world().source(), path)
    queries.status(path)


def test_a_snapshot_cannot_be_written(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world().source(), path)
    with snapshot(path) as connection, pytest.raises(duckdb.InvalidInputException, match="read-only"):
        connection.execute("DELETE FROM documents")


def test_times_are_stored_in_utc(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    world = make_world(size=1)
    row = world.result(0)
    assert row.recorded_at is not None
    elsewhere = row.recorded_at.astimezone(timezone(timedelta(hours=5)))
    rebuild(Source(results=[row.model_copy(update={"recorded_at": elsewhere})]), path)
    with snapshot(path) as connection:
        stored = connection.execute("SELECT recorded_at FROM outcomes").fetchone()
    assert stored == (row.recorded_at.replace(tzinfo=None),)


def test_there_is_no_nan_anywhere(tmp_path: Path, make_world) -> None:
    path = tmp_path / "catalog.duckdb"
    rebuild(make_world(usd=float("nan")).source(), path)
    with snapshot(path) as connection:
        assert connection.execute("SELECT count(*) FROM model_calls WHERE isnan(usd)").fetchone() == (0,)
        assert connection.execute("SELECT count(usd) FROM model_calls").fetchone() == (0,)


def test_every_table_is_loaded() -> None:
    folder = Path(database.__file__).parent / "sql"
    text = "".join(
        (folder / f"{name}.sql").read_text(encoding="utf-8")
        for name in ("counted_calls", "load", "load_history")
    )
    assert all(f"INSERT INTO {table} BY NAME" in text for table in TABLES)


@pytest.fixture
def catalog(tmp_path: Path):
    path = tmp_path / "catalog.duckdb"
    rebuild((), path)
    with duckdb.connect(path, read_only=True) as connection:
        yield connection


def test_every_table_view_column_and_macro_has_a_comment(catalog: duckdb.DuckDBPyConnection) -> None:
    relations = catalog.execute(
        "SELECT table_name, comment FROM duckdb_tables() "
        "UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal "
        "UNION ALL SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal AND function_type ILIKE '%macro'"
    ).fetchall()
    columns = catalog.execute(
        "SELECT table_name || '.' || column_name, comment FROM duckdb_columns() WHERE NOT internal"
    ).fetchall()
    assert {name for name, _ in relations} >= {*TABLES, "set_difference", "totals", "run_totals"}
    assert [name for name, said in (*relations, *columns) if not said] == []


def test_every_comment_is_used(catalog: duckdb.DuckDBPyConnection) -> None:
    columns = catalog.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
    ).fetchall()
    found = texts()
    own = {f"{table}.{column}" for table, column in columns}
    own |= {f"corpus_json.{field}" for field in PublishedQuestion.model_fields}
    by_name = {column for table, column in columns if f"{table}.{column}" not in found["columns"]}
    assert set(found["columns"]) <= own | by_name
    assert set(found["relations"]) == {table for table, _ in columns}


def test_nothing_is_left_of_the_raw_rows(catalog: duckdb.DuckDBPyConnection) -> None:
    names = catalog.execute(
        "SELECT table_name FROM duckdb_columns() UNION SELECT view_name FROM duckdb_views()"
    ).fetchall()
    assert [name for (name,) in names if name.startswith("raw_")] == []
