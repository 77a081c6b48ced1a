"""What model calls cost, as the metadata of every paid asset shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg

from qagen_dagster.defs.metadata import Metadata, markdown_table
from qagen_dagster.loop.calls import unique_calls
from qagen_dagster.records.questions.results import CallSummary
from qagen_dagster.records.run import Usage

_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def cost(calls: Iterable[CallSummary], accepted: int | None = None) -> Metadata:
    """Calls, tokens, cost, time and retries, each request counted once; a row per role and model.

    `accepted`, a count of what was accepted, adds the cost per accepted one. The cost is "unknown" when the price of a call is.
    Without paid calls only their count is a number: the UI draws a chart of every number, and these would be zeros.
    """
    every = unique_calls(calls)
    usd = _money(every)
    if usd == 0:
        return {"model_calls": len(every), "usd": shown_money(usd), "cost_by_role": _by_role(every)}
    shown: Metadata = {
        "model_calls": len(every),
        **{name: sum(getattr(call, name) for call in every) for name in _TOKENS},
        "model_seconds": round(float(sum(call.seconds for call in every)), 3),
        "retries": sum(call.retries for call in every),
        "usd": shown_money(usd),
        "cost_by_role": _by_role(every),
    }
    unused = [call for call in every if call.unused]
    if unused:
        shown |= {"unused_calls": len(unused), "unused_usd": shown_money(_money(unused))}
    if accepted:
        shown["usd_per_accepted"] = shown_money(None if usd is None else usd / accepted)
    return shown


def shown_money(usd: float | None) -> str | float:
    if usd is None:
        return "unknown price"
    return round(usd, 6) if usd else "nothing was paid"


def _by_role(calls: Sequence[Usage]) -> dg.MarkdownMetadataValue:
    parts: dict[tuple[str, str], list[Usage]] = {}
    for call in calls:
        parts.setdefault((call.role, call.model), []).append(call)
    rows = [
        (
            *key,
            len(part),
            *(sum(getattr(call, name) for call in part) for name in _TOKENS),
            round(sum(call.seconds for call in part), 1),
            sum(call.retries for call in part),
            "unknown price" if (usd := _money(part)) is None else f"{usd:.4f}",
        )
        for key, part in sorted(parts.items())
    ]
    header = ("role", "model", "calls", "input", "cached", "output", "reasoning", "seconds", "retries", "USD")
    return markdown_table(header, rows)


def _money(calls: Sequence[Usage]) -> float | None:
    """What the calls cost; None when the price of one is unknown."""
    if any(call.usd is None for call in calls):
        return None
    return float(sum(call.usd or 0.0 for call in calls))
