"""The cost of forecast tokens, the share of it that goes through provider batches, and where a budget is likely to end the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate import rough_guess
from qagen_dagster.loop.estimate.forecast import NOTHING, Range, Use
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import Allowance, usd
from qagen_dagster.models.messages import Usage
from qagen_dagster.records.base import Record

_FINE = 1000  # parts of a token: forecasts are fractions, usage is in whole tokens
_OF_ONE_TURN = (Role.DEDUPLICATOR, Role.JUDGE)  # roles whose requests can all go through provider batches


def money(spec: ModelSpec, amounts: Mapping[str, Range], by_batch: float) -> Range | None:
    """US dollars; None when a price that is needed is unknown.

    The shares of cached input are the expected ones. `by_batch` is the share of the cost that provider batches reduce.
    """
    if not amounts["calls"].high:
        return NOTHING
    less = 1 - by_batch * spec.batch_discount
    low, expected, high = (_price(spec, amounts, end) for end in ("low", "expected", "high"))
    if low is None or expected is None or high is None:
        return None
    return Range(low=low, expected=expected, high=high).times(less)


def _price(spec: ModelSpec, amounts: Mapping[str, Range], end: str) -> float | None:
    tokens = amounts["input_tokens"]
    given = getattr(tokens, end) * _FINE
    cached, written = (
        min(1.0, amounts[name].expected / tokens.expected) if tokens.expected else 0.0
        for name in ("cached_tokens", "cache_write_tokens")
    )
    usage = Usage(
        input_tokens=round(given),
        cached_tokens=round(cached * given),
        cache_write_tokens=round(written * given),
        output_tokens=round(getattr(amounts["output_tokens"], end) * _FINE),
    )
    found = usd(spec, usage)
    return None if found is None else found / _FINE


def batch_share(role: Role, spec: ModelSpec, task: rough_guess.Task, size: float) -> float:
    """The share of a role's cost that goes through provider batches. Of the two steps of a validator only the comparison does; its
    share is guessed for documents of `size`, even if past runs are known.
    """
    if spec.execution != "batch":
        return 0.0
    if role is not Role.VALIDATOR:
        return float(role in _OF_ONE_TURN)
    blind, judged = rough_guess.validation(task, size, spec)
    both, compared = _cost(spec, blind.plus(judged)), _cost(spec, judged)
    return compared / both if both else 0.0


def _cost(spec: ModelSpec, use: Use) -> float:
    usage = Usage(input_tokens=round(use.input_tokens), output_tokens=round(use.output_tokens))
    return usd(spec, usage) or 0.0


class BudgetEnd(Record):
    """A limit that is likely to end the work, and where.

    `documents` is the number of documents, out of `of`, that are finished when the limit is reached. For the scope `document` it is
    the work of how many documents is done if each one stops at its limit.
    """

    scope: str  # run, partition or document
    combination: str | None  # None: the whole run
    limit: str  # max_usd, max_tokens or max_calls
    allowed: float
    of: int
    documents: Range


def budget_ends(
    scope: str, combination: str | None, allowance: Allowance, amounts: Mapping[str, Range | None], of: int
) -> Iterator[BudgetEnd]:
    """The limits of `allowance` that the upper ends of `amounts` exceed. Limits per document are multiplied by `of`."""
    given, written = amounts["input_tokens"], amounts["output_tokens"]
    tokens = given.plus(written) if given is not None and written is not None else None
    for limit, taken in (
        ("max_usd", amounts["usd"]),
        ("max_tokens", tokens),
        ("max_calls", amounts["calls"]),
    ):
        allowed: float | None = getattr(allowance, limit)
        if allowed is None or taken is None:
            continue
        most = allowed * of if scope == "document" else allowed
        if taken.high > most:
            yield BudgetEnd(
                scope=scope,
                combination=combination,
                limit=limit,
                allowed=allowed,
                of=of,
                documents=Range(
                    low=_reached(most, taken.high, of),
                    expected=_reached(most, taken.expected, of),
                    high=_reached(most, taken.low, of),
                ),
            )


def _reached(allowed: float, taken: float, of: int) -> float:
    return float(of) if taken <= allowed else of * allowed / taken
