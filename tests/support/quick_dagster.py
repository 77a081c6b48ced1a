"""Dagster's databases in tests: the same tables and statements, without what costs time and is not looked at.

They do not wait for the disk: what they hold outlives a killed process, not a power cut. And what is thrown away and made
again for each event, of which a run has a hundred, is kept: the engine of a database, the list of known migrations.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from sqlalchemy import Engine, create_engine, event

_engines: dict[tuple[str, bool], Engine] = {}
_migrations: dict[str | None, ScriptDirectory] = {}
_from_config = ScriptDirectory.from_config


def hurry() -> None:
    """Do so in this process, from now on."""
    event.listen(Engine, "connect", _relax)
    storages: Any = (sqlite_event_log, sqlite_run_storage)
    for storage in storages:
        storage.create_engine = _engine
    scripts: Any = ScriptDirectory
    scripts.from_config = _known


def _relax(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


def _engine(url: str, **options: Any) -> Engine:
    key = url, "connect_args" in options
    if key not in _engines:
        _engines[key] = create_engine(url, **options)
    return _engines[key]


def _known(config: Config) -> ScriptDirectory:
    place = config.get_main_option("script_location")
    if place not in _migrations:
        _migrations[place] = _from_config(config)
    return _migrations[place]
