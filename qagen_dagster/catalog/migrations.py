"""The version of the catalog's tables and views. Nothing is migrated in place.

Everything in a catalog is derived from the store's records, so a catalog of another version is rebuilt.
Raise SCHEMA_VERSION with every change of the columns or the meaning of a table or view.
"""

from __future__ import annotations

from importlib.resources import files

import duckdb

SCHEMA_VERSION = 10


def sql(name: str) -> str:
    """The text of one file of `sql/`."""
    return files(__package__ or "").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of the present version."""
    # The version is no parameter: for parameters DuckDB imports pandas, which takes as long as the rest of a small catalog.
    connection.execute(sql("schema").replace("$version", str(SCHEMA_VERSION)))
    connection.execute(sql("history_schema"))


def version_of(connection: duckdb.DuckDBPyConnection) -> int | None:
    """The version of an open catalog; None if it is not a catalog."""
    try:
        row = connection.execute("SELECT schema_version FROM catalog_info").fetchone()
    except duckdb.CatalogException:
        return None
    return None if row is None else int(row[0])
