"""Says which share of answers was decided, by whom, and how often such decisions were right on public sets."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.records.grading import Decided, ErrorRate


def told(decided: Decided | None, rates: Sequence[ErrorRate]) -> list[str]:
    """Lines for a person. Empty for a report of an earlier version."""
    if decided is None or decided.share is None:
        return []
    whole = decided.code + decided.judge + decided.nobody
    first = (
        f"decided: {decided.share:.0%} of {whole:,} answers ({decided.code:,} by code, {decided.judge:,} by the judge, "
        f"{decided.nobody:,} not measured)"
    )
    return [first, *(_rate(one) for one in rates if decided.code)]


def _rate(one: ErrorRate) -> str:
    documents = "one or two sentences" if one.documents == "short" else "more sentences"
    return (
        f"code's verdict `{one.verdict}` was right in {one.precision:.2f} of the cases ({one.low:.2f} to {one.high:.2f}) on "
        f"public sets with documents of {documents}"
    )
