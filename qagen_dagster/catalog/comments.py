"""Writes the comments of `comments.toml` on tables, views, macros and columns into the catalog, and reads them from it.

A column without its own entry in `comments.toml` has the entry of its name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import duckdb

_RELATIONS = """
SELECT own.table_name, coalesce(tables.comment, views.comment), tables.table_name IS NULL, column_name, data_type, own.comment
FROM duckdb_columns() AS own
LEFT JOIN duckdb_tables() AS tables USING (table_name)
LEFT JOIN (FROM duckdb_views() WHERE NOT internal) AS views ON views.view_name = own.table_name
WHERE NOT own.internal
ORDER BY 3, own.table_name, column_index
"""
_MACROS = """
SELECT function_name || '(' || array_to_string(parameters, ', ') || ')', comment
FROM duckdb_functions() WHERE function_type = 'table_macro' AND NOT internal ORDER BY 1
"""


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    comment: str


@dataclass(frozen=True)
class Relation:
    """A table, a view or a table macro with its comment. A macro has no columns."""

    name: str
    kind: str
    comment: str
    columns: tuple[Column, ...] = ()


def dictionary(connection: duckdb.DuckDBPyConnection) -> Mapping[str, Relation]:
    """Everything that a reader of the catalog can select from, by name: tables, then views, then macros."""
    found: dict[str, Relation] = {}
    for name, text, is_view, *column in connection.execute(_RELATIONS).fetchall():
        known = found.get(name, Relation(name, "view" if is_view else "table", text))
        found[name] = replace(known, columns=(*known.columns, Column(*column)))
    for call, text in connection.execute(_MACROS).fetchall():
        found[call.partition("(")[0]] = Relation(call, "macro", text)
    return found


@cache
def texts() -> dict[str, dict[str, str]]:
    """The entries of `comments.toml`: `relations`, `macros`, and `columns` by name or by `relation.name`."""
    text = files(__package__ or "").joinpath("comments.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def comment(connection: duckdb.DuckDBPyConnection) -> None:
    """Comment on everything in the catalog. Raises KeyError if something has no entry."""
    found = texts()
    statements: list[str] = []
    relations = connection.execute(  # in order of creation
        "SELECT table_name, if(table_name IN (SELECT table_name FROM duckdb_tables()), 'TABLE', 'VIEW'), "
        "list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "WHERE NOT internal AND database_name <> 'temp' GROUP BY table_name, table_oid ORDER BY 2, table_oid"
    ).fetchall()
    for relation, kind, columns in relations:
        statements.append(_comment(f"{kind} {relation}", found["relations"][relation]))
        for name in columns:
            own = found["columns"].get(f"{relation}.{name}")
            statements.append(_comment(f'COLUMN {relation}."{name}"', own or found["columns"][name]))
    statements += [_comment(f"MACRO {macro}", text) for macro, text in found["macros"].items()]
    connection.execute("".join(statements))


def _comment(what: str, text: str) -> str:
    quoted = text.replace("'", "''")
    return f"COMMENT ON {what} IS '{quoted}';\n"
