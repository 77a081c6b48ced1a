"""The comments on tables, views and columns, from `comments.toml`. A column without its own entry has that of its name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import duckdb


@cache
def texts() -> dict[str, dict[str, str]]:
    """The entries of `comments.toml`: `relations`, `macros`, and `columns` by name or by `relation.name`."""
    text = files(__package__ or "").joinpath("comments.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def comment(connection: duckdb.DuckDBPyConnection) -> None:
    """Comment on everything in the catalog. Raises KeyError for what has no entry."""
    found = texts()
    said: list[str] = []
    for relation, kind, columns in _relations(connection):
        said.append(_comment(f"{kind} {relation}", found["relations"][relation]))
        for name in columns:
            own = found["columns"].get(f"{relation}.{name}")
            said.append(_comment(f'COLUMN {relation}."{name}"', own or found["columns"][name]))
    said += [_comment(f"MACRO {macro}", text) for macro, text in found["macros"].items()]
    connection.execute("".join(said))


def _relations(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, list[str]]]:
    """The tables and views in order of creation, with their columns."""
    rows = connection.execute(
        "SELECT table_name, if(table_name IN (SELECT table_name FROM duckdb_tables()), 'TABLE', 'VIEW'), "
        "list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "WHERE NOT internal AND database_name <> 'temp' GROUP BY table_name, table_oid ORDER BY 2, table_oid"
    ).fetchall()
    yield from rows


def _comment(what: str, text: str) -> str:
    quoted = text.replace("'", "''")
    return f"COMMENT ON {what} IS '{quoted}';\n"
