"""Row types of the catalog, and the columns that every product's rows share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from qagen_dagster.records.call import CallSummary
from qagen_dagster.records.ids import Combination

Row = dict[str, Any]
TableRow = tuple[str, Row]


def call_rows(calls: Sequence[CallSummary], keys: Row) -> Iterator[TableRow]:
    """A row for each call, in order; `keys` are the columns that say where the calls belong."""
    for position, call in enumerate(calls, 1):
        yield "model_calls", {**keys, **dict(call), "position": position}


def combination_row(combination: Combination) -> Row:
    """The columns that name a combination."""
    return {"combination": combination.key, **dict(combination)}


def utc(value: datetime | None) -> str | None:
    """The database holds timestamps in UTC, without a zone."""
    return None if value is None else value.astimezone(UTC).replace(tzinfo=None).isoformat()
