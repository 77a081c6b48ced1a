"""Dagster's databases in tests: the same tables and statements, without what costs time and is not looked at.

They do not wait for the disk, and neither does the store: what they hold outlives a killed process, not a power cut. And
what is thrown away and made again for each event, of which a run has a hundred, is kept: the connection to a database,
until something else changes its file, the list of known migrations, the statement that inserts an event, the columns of a new
database, and the schema of a class of configuration, which each resource of each step infers again. The database of a run begins
as a copy of an empty one. A test that damages the files calls `close` first.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections import OrderedDict
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._config.pythonic_config import config as pythonic_config
from dagster._config.pythonic_config import resource as pythonic_resource
from dagster._core.events import ASSET_CHECK_EVENTS, ASSET_EVENTS, EVENT_TYPE_TO_PIPELINE_RUN_STATUS
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

_MOST = 8  # databases whose connections are kept
_engines: OrderedDict[tuple[str, bool], Engine] = OrderedDict()
_taking = Lock()
_migrations: dict[str | None, ScriptDirectory] = {}
_empty: list[bytes] = []  # the database of a run without events
_from_config = ScriptDirectory.from_config
_infer: Any = pythonic_config.infer_schema_from_config_class
_schema_of = cache(_infer)
_Storage: Any = sqlite_event_log.SqliteEventLogStorage
_make_tables = _Storage._initdb
_store_event = _Storage.store_event
_insert = SqlEventLogStorageTable.insert()
_MIRRORED = {
    *ASSET_EVENTS,
    *ASSET_CHECK_EVENTS,
    *EVENT_TYPE_TO_PIPELINE_RUN_STATUS,
}  # in the database of all runs


def hurry() -> None:
    """Do so in this process, from now on."""
    os.fsync = lambda fd: None
    event.listen(Engine, "connect", _relax)
    storages: Any = (sqlite_event_log, sqlite_run_storage)
    for storage in storages:
        storage.create_engine = _engine
    scripts: Any = ScriptDirectory
    scripts.from_config = _known
    for module in (pythonic_config, pythonic_resource):
        vars(module)["infer_schema_from_config_class"] = _schema
    _Storage._initdb = _begin
    _Storage.store_event = _store
    _Storage._has_asset_key_col_on_connection = lambda *_: True


def prepare() -> None:
    """Make what all processes that are forked from this one need."""
    with tempfile.TemporaryDirectory() as folder, _Storage(folder).run_connection("none"):
        pass
    close()


def close() -> None:
    """End the connections, so that the files hold everything."""
    while _engines:
        Engine.dispose(_engines.popitem()[1])


def _relax(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


def _engine(url: str, **options: Any) -> Engine:
    key = url, "connect_args" in options
    with _taking:
        if key not in _engines:
            kept: Any = create_engine(url, **options | {"poolclass": QueuePool, "pool_size": 0})
            kept.dispose = lambda: None  # Dagster does so after each event
            path = Path(str(kept.url.database))
            event.listen(kept, "checkin", partial(_note, path))
            event.listen(kept, "checkout", partial(_compare, path))
            _engines[key] = kept
            if len(_engines) > _MOST:
                Engine.dispose(_engines.popitem(last=False)[1])
        _engines.move_to_end(key)
        return _engines[key]


def _note(path: Path, _connection: object, record: ConnectionPoolEntry) -> None:
    record.info["file"] = _state(path)


def _compare(path: Path, _connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
    if "file" in record.info and record.info["file"] != _state(path):
        raise DisconnectionError  # the pool connects again


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _begin(storage: Any, engine: Engine, for_index_shard: bool = False) -> None:
    path = Path(str(engine.url.database))
    if for_index_shard or path.exists():
        _make_tables(storage, engine, for_index_shard)
    elif _empty:
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(_empty[0])
        os.link(fresh, path)
        fresh.unlink()
    else:
        _make_tables(storage, engine)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        _empty.append(path.read_bytes())


def _store(storage: Any, event: Any) -> None:
    if event.dagster_event_type in _MIRRORED:
        _store_event(storage, event)
        return
    with storage.run_connection(event.run_id) as connection:
        connection.execute(_insert, storage._event_to_row(event))


def _schema(model: type[Any], *given: Any, **named: Any) -> Any:
    return _infer(model, *given, **named) if any((*given, *named.values())) else _schema_of(model)


def _known(config: Config) -> ScriptDirectory:
    place = config.get_main_option("script_location")
    if place not in _migrations:
        _migrations[place] = _from_config(config)
    return _migrations[place]
