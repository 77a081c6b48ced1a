"""Waits while another process holds the SQLite files of a Dagster instance, and says so in one line."""

import logging
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from qagen_dagster.errors import StoreError

SECONDS = 60.0  # maximum wait for one access; a backup or copy of a large instance takes less
_SILENT = 2.0  # seconds of waiting that are not reported, because other runs hold the files this long when they write
_FILES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
_LOG = logging.getLogger(__name__)


def wait_for_instance(home: Path) -> None:
    """Wait until nobody holds the instance. Raises StoreError after SECONDS, and for a file that cannot be written."""
    begun, reported = time.monotonic(), False
    for file in (home / name for name in _FILES):
        while file.exists() and _is_held(file):
            waited = time.monotonic() - begun
            if waited >= SECONDS:
                raise StoreError(held_line(home))
            if waited >= min(_SILENT, SECONDS / 2) and not reported:
                reported = True
                _LOG.warning(
                    "another process holds the Dagster instance %s: waiting up to %.0f s", home, SECONDS
                )
            time.sleep(0.2)


@contextmanager
def patient(home: Path) -> Generator[None]:
    """Run the body. Its accesses to SQLite wait for other processes, up to SECONDS. Raises StoreError if the files were still held then."""

    def connected(connection: Any, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute(f"PRAGMA busy_timeout = {SECONDS * 1000:.0f}")

    event.listen(Engine, "connect", connected)
    try:
        yield
    except Exception as error:
        if is_locked(error):
            raise StoreError(held_line(home)) from None
        raise
    finally:
        event.remove(Engine, "connect", connected)


def is_locked(error: BaseException | None) -> bool:
    """Whether an error is, or comes from, a lock of SQLite that another process holds."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if says_locked(str(error)):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def says_locked(text: str) -> bool:
    """Whether the text of an error is from a lock of SQLite that another process holds."""
    return ("OperationalError" in text and "database is locked" in text) or text == "database is locked"


def _is_held(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            return True
        fault = f"{file} of the Dagster instance cannot be used ({error})"
    else:
        return False
    raise StoreError(
        f"{fault}: correct its permissions, or move it away; then Dagster has no history of runs, and all sets stay"
    )


def held_line(home: Path) -> str:
    return (
        f"another process holds the Dagster instance {home}; what is done is stored: "
        "run the same command again when that process has ended, and it goes on"
    )
