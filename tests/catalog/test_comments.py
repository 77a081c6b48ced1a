from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from qagen_dagster.catalog.comments import texts
from qagen_dagster.catalog.database import TABLES, rebuild


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
    by_name = {column for table, column in columns if f"{table}.{column}" not in found["columns"]}
    assert set(found["columns"]) <= own | by_name
    assert set(found["relations"]) == {table for table, _ in columns}


def test_nothing_is_left_of_the_raw_rows(catalog: duckdb.DuckDBPyConnection) -> None:
    names = catalog.execute(
        "SELECT table_name FROM duckdb_columns() UNION SELECT view_name FROM duckdb_views()"
    ).fetchall()
    assert [name for (name,) in names if name.startswith("raw_")] == []
