"""Opens the catalog read-only: a finished snapshot, which never changes while it is open. `stats` queries it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from qagen_dagster.catalog.migrations import SCHEMA_VERSION, version_of
from qagen_dagster.errors import StoreError

REBUILD_HINT = "`qagen run`, or materializing the asset `catalog`, makes it"
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


@contextmanager
def snapshot(path: Path) -> Generator[duckdb.DuckDBPyConnection]:
    """The published catalog, read-only. Raises StoreError when it is missing or has another schema version."""
    if not path.is_file():
        raise StoreError(f"there is no catalog at {path}: {REBUILD_HINT}")
    with duckdb.connect(":memory:", config=CONFIG) as connection:
        _attach(connection, path)
        found = version_of(connection)
        if found != SCHEMA_VERSION:
            raise StoreError(
                f"{path} has catalog schema {found}, this version reads {SCHEMA_VERSION}: {REBUILD_HINT} anew"
            )
        yield connection


def _attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach the file as a separate database.

    `duckdb.connect(path)` shares one database per path within a process: while a reader has the old file open,
    new readers would see the old file, too.
    """
    quoted = str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS published (READ_ONLY)")
        connection.execute("USE published")
    except (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException) as error:
        raise StoreError(
            f"{path} cannot be read as a catalog ({str(error)[:120]}): {REBUILD_HINT} anew"
        ) from None
