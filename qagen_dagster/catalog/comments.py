"""Writes the comments of `comments.toml` on tables, views, macros and columns into the catalog, and reads them from it.

A column without its own entry in `comments.toml` has the entry of its name.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb

# Tables, then views, then macros, each in the order of the alphabet.
_DICTIONARY = """
SELECT
    own.table_name,
    if(any_value(tables.table_name) IS NULL, 'view', 'table') AS kind,
    any_value(coalesce(tables.comment, views.comment)),
    list({'name': column_name, 'type': data_type, 'comment': own.comment} ORDER BY column_index)
FROM duckdb_columns() AS own
LEFT JOIN duckdb_tables() AS tables USING (table_name)
LEFT JOIN (FROM duckdb_views() WHERE NOT internal) AS views ON views.view_name = own.table_name
WHERE NOT own.internal
GROUP BY own.table_name
ORDER BY kind, own.table_name
"""
_MACROS = """
SELECT function_name || '(' || array_to_string(parameters, ', ') || ')', 'macro', comment, []
FROM duckdb_functions() WHERE function_type = 'table_macro' AND NOT internal ORDER BY 1
"""


def dictionary(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Everything that a reader of the catalog can select from, by name: its `name`, `kind`, `comment` and `columns`.

    Each column has a `name`, a `type` and a `comment`. A macro has its parameters in its name, and no columns.
    """
    rows = [row for statement in (_DICTIONARY, _MACROS) for row in connection.execute(statement).fetchall()]
    parts = ("name", "kind", "comment", "columns")
    return {row[0].partition("(")[0]: dict(zip(parts, row, strict=True)) for row in rows}


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
