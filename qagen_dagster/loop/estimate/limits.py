"""Estimates how long a run takes with its workers and rate limits, and where a budget is likely to end it."""

from collections.abc import Iterator, Mapping

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.amounts import NOTHING, Amounts, Range, Use, total
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS, Allowance
from qagen_dagster.records.base import Record

_USED_PACE = 0.95  # share of a limit that is used, see models/rate_limits.py
_LOCAL_WORKERS = 2  # models in this process share its interpreter, so more parallel documents hardly help
_LOCAL_STEP = 0.003  # seconds per call for tools and journal, besides the model
_LOCAL_START = 3.0  # seconds that models in this process may take to load
_UNEVEN = 0.3  # share of a document's time by which the last worker ends after the others


def run_time(
    specs: Mapping[Role, ModelSpec], uses: Mapping[Role, Use], around: Range, *, documents: int, workers: int
) -> Range:
    """Wall-clock seconds for `documents` documents with `workers` in parallel. `uses` has the total amounts of each role.

    `around` is the range of the amounts, as factors.
    """
    parallel, everything = max(1, min(workers, documents)), total(uses.values())
    if not documents or not everything.calls:
        return NOTHING
    if all(spec.provider in FREE_PROVIDERS for spec in specs.values()):
        # The seconds of past documents include waiting for a model to load, so the lower end is far below.
        own = _LOCAL_STEP * everything.calls
        return Range(
            low=around.low * everything.seconds / parallel / 2,
            expected=everything.seconds / min(parallel, _LOCAL_WORKERS) + own,
            high=around.high * (everything.seconds + own) + _LOCAL_START,
        )
    shared: dict[tuple[str, str | None], tuple[ModelSpec, Use]] = {}  # roles of a model share its limits
    for role, use in uses.items():
        spec = specs[role]
        _, others = shared.get((spec.name, spec.base_url), (spec, Use()))
        shared[spec.name, spec.base_url] = spec, others.plus(use)
    uneven = (1 / parallel + _UNEVEN / documents) * everything.seconds
    return around.times(max(uneven, *(_least(spec, use) for spec, use in shared.values())))


def _least(spec: ModelSpec, use: Use) -> float:
    """The shortest time in seconds that the limits of a model allow."""
    bounds = [0.0]
    if spec.requests_per_minute is not None:
        bounds.append(use.calls * 60 / (_USED_PACE * spec.requests_per_minute))
    if spec.tokens_per_minute is not None:
        bounds.append((use.input_tokens + use.output_tokens) * 60 / (_USED_PACE * spec.tokens_per_minute))
    if spec.concurrency is not None:
        bounds.append(use.seconds / spec.concurrency)
    return max(bounds)


class BudgetEnd(Record):
    """A limit that is likely to end the work, and the point at which it ends it.

    `documents` is the number of documents, out of `of`, that are finished when the limit is reached. For the scope `document`, each
    document stops at its own limit, and `documents` is the total work that is done until then, in documents.
    """

    scope: str  # run, partition or document
    combination: str | None  # None: the whole run
    limit: str  # max_usd, max_tokens or max_calls
    allowed: float
    of: int
    documents: Range


def budget_ends(
    scope: str, combination: str | None, allowance: Allowance, amounts: Amounts, of: int
) -> Iterator[BudgetEnd]:
    """The limits of `allowance` that the upper ends of `amounts` exceed. A limit per document is multiplied by `of`."""
    expected = {
        "max_usd": amounts.usd,
        "max_tokens": amounts.input_tokens.plus(amounts.output_tokens),
        "max_calls": amounts.calls,
    }
    for limit, taken in expected.items():
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
