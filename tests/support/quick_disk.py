"""Dagster's databases in tests do not wait for the disk: what they hold outlives a killed process, not a power cut."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event


def do_not_wait() -> None:
    """Say so to every SQLite connection that SQLAlchemy opens in this process: a run commits some 500 times."""
    if not event.contains(Engine, "connect", _relax):
        event.listen(Engine, "connect", _relax)


def _relax(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")
