"""The file of the catalog in the store, for readers."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from qagen_dagster.errors import StoreError
from qagen_dagster.store import Store

CATALOG = "catalog.duckdb"


@contextmanager
def catalog_file(store: Store) -> Generator[Path]:
    """The catalog as a local file. Raises StoreError when there is none."""
    local = store.local_path(CATALOG)
    if local is not None:
        yield local
        return
    data = store.get(CATALOG)
    if data is None:
        raise StoreError(f"{store.path(CATALOG)} is missing: run `qagen run` first")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / CATALOG
        file.write_bytes(data)
        yield file
