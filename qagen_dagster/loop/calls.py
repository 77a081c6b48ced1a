"""Calls as they are counted and paid: each request once, whatever results it went into. What they add up to is others'."""

from __future__ import annotations

from collections.abc import Iterable

from qagen_dagster.records.question import CallSummary


def each_once(calls: Iterable[CallSummary]) -> list[CallSummary]:
    """The calls without repetitions of a request; of those that were never sent each counts."""
    return list({call.request_key or str(number): call for number, call in enumerate(calls)}.values())
