"""Calls as they are counted and paid: each request once, whatever results it went into; and what a journal's come to."""

from __future__ import annotations

from collections.abc import Iterable

from qagen_dagster.models.budget import Spent
from qagen_dagster.records.call import CallSummary


def each_once(calls: Iterable[CallSummary]) -> list[CallSummary]:
    """The calls without repetitions of a request; of those that were never sent each counts."""
    return list({call.request_key or str(number): call for number, call in enumerate(calls)}.values())


def spent_on(calls: Iterable[CallSummary]) -> Spent:
    """What calls cost that went into one piece of work; money of an unknown price is 0."""
    made = list(calls)
    return Spent(
        usd=sum(call.usd or 0.0 for call in made),
        tokens=sum(call.input_tokens + call.output_tokens for call in made),
        calls=len(made),
    )
