"""Keeps the SQLAlchemy engines of Dagster's SQLite storages.

Dagster makes an engine for each event that it stores. A new engine compiles every statement again, which takes longer than
writing the event.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from sqlalchemy import Engine, Pool, create_engine


def keep_engines() -> None:
    """Let the storages of this process keep the engines of the last few databases. They have no pool: none holds a connection."""
    for module in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
        vars(module)["create_engine"] = _kept


def _kept(address: str, poolclass: type[Pool], connect_args: dict[str, Any] | None = None) -> Engine:
    return _engine(address, poolclass, tuple((connect_args or {}).items()))


@lru_cache(maxsize=8)  # a run has a database of its own, and three are shared
def _engine(address: str, poolclass: type[Pool], connect_args: tuple[tuple[str, Any], ...]) -> Engine:
    return create_engine(address, poolclass=poolclass, connect_args=dict(connect_args))
