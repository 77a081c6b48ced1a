"""Compares two runs, profiles or versions of published sets, combination by combination."""

from __future__ import annotations

from pathlib import Path

import duckdb

from qagen_dagster.catalog.migrations import sql
from qagen_dagster.catalog.snapshot import snapshot
from qagen_dagster.catalog.stats import Utc, query
from qagen_dagster.errors import StoreError
from qagen_dagster.records.base import Record


class Side(Record):
    """A run of a combination, and the version of the published set after it. None: not known."""

    combination: str
    run_id: str | None
    version: int | None
    started: Utc | None
    ended: Utc | None
    status: str | None
    profile: str | None
    documents: int | None
    reused_documents: int | None
    candidates: int | None
    accepted: int | None
    rejected: int | None
    rejected_by_reason: dict[str, int]
    validated: int | None
    pass_rate: float | None
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    unknown_price_calls: int | None


class OneSided(Record):
    """A question that is in the set of one side only.

    If it was retired because its document changed: the reason, and what each quote was and is now with the text around it.
    """

    question_id: str
    source_document: str
    question: str
    answer: str
    reason: str | None = None
    detail: str | None = None
    text_before: tuple[str, ...] | None = None
    text_now: tuple[str, ...] | None = None


class Version(Record):
    """A version of a published set, and the run that made it. None: not known."""

    version: int
    published: Utc
    questions: int
    run_id: str | None
    profile: str | None


class Comparison(Record):
    """Two sides of one combination."""

    first: Side
    second: Side
    in_both: int  # questions; 0 also when a side has no set
    only_in_first: tuple[OneSided, ...]
    only_in_second: tuple[OneSided, ...]


def versions(catalog: Path, combination: str) -> tuple[Version, ...]:
    """The versions of a published set, the latest first. Raises StoreError when there is no catalog."""
    with snapshot(catalog) as connection:
        return tuple(Version(**row) for row in query(connection, sql("versions"), [combination]))


def compare(catalog: Path, first: str, second: str) -> tuple[Comparison, ...]:
    """Compare what `first` and `second` name, for each combination that both have.

    Raises StoreError when there is no catalog, a name is unknown or ambiguous, or they have no combination in common.
    """
    with snapshot(catalog) as connection:
        left, right = _sides(connection, first), _sides(connection, second)
        common = sorted(left.keys() & right.keys())
        if not common:
            raise StoreError(f"{first} and {second} have no combination in common")
        return tuple(_compared(connection, left[key], right[key]) for key in common)


def _sides(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Side]:
    found = [Side(**row) for row in query(connection, sql("sides"), [name])] if name else []
    if not found:
        raise StoreError(
            f"there is no run, profile or version {name!r} in the catalog; a version is corpus/scenario/mode@number"
        )
    sides = {one.combination: one for one in found}
    if len(sides) < len(found):
        raise StoreError(f"more than one run begins with {name!r}: give more of its id")
    return sides


def _compared(connection: duckdb.DuckDBPyConnection, first: Side, second: Side) -> Comparison:
    rows = query(connection, sql("only_in"), [first.combination, first.version, second.version])
    (common,) = query(connection, sql("in_both"), [first.combination, first.version, second.version])
    found: dict[int, list[OneSided]] = {}
    for row in rows:
        found.setdefault(row.pop("only_in"), []).append(OneSided(**row))
    return Comparison(
        first=first,
        second=second,
        in_both=common["questions"],
        only_in_first=tuple(found.get(first.version or 0, ())),
        only_in_second=tuple(found.get(second.version or 0, ())),
    )
