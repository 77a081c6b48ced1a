"""Estimates the wall-clock time of a run from the time of its models, the workers and the rate limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.forecast import NOTHING, Range
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS

Amounts = Mapping[str, Range]
_USED_PACE = 0.95  # share of a limit that is used, see models/rate_limits.py
_LOCAL_WORKERS = 2.0  # models in this process share its interpreter: more parallel documents hardly help
_LOCAL_STEP = Range(low=0.0005, expected=0.003, high=0.01)  # seconds besides the model: tools, journal
_UNEVEN = 0.3  # share of a document by which the last worker ends after the others


def run_time(
    specs: Mapping[Role, ModelSpec], roles: Mapping[Role, Amounts], *, documents: int, workers: int
) -> Range:
    """Seconds for `documents` with `workers` in parallel. `roles` has the total amounts of each role."""
    if not documents or not roles:
        return NOTHING
    parallel = float(max(1, min(workers, documents)))
    times = [amounts["seconds"] for amounts in roles.values()]
    low, expected, high = (sum(getattr(one, end) for one in times) for end in ("low", "expected", "high"))
    uneven = 1 + _UNEVEN * parallel / documents
    found = Range(low=low / parallel, expected=uneven * expected / parallel, high=uneven * high / parallel)
    if all(spec.provider in FREE_PROVIDERS for spec in specs.values()):
        # Models that load while documents wait add the waiting time of each document, so the lower end is far below.
        found = Range(low=low / parallel / 2, expected=expected / min(parallel, _LOCAL_WORKERS), high=high)
        calls = _sum(list(roles.values()), "calls").expected
        found = found.plus(_LOCAL_STEP.times(calls))
    for spec, shared in _by_model(specs, roles):
        found = _slower(found, _least(spec, shared))
    return found


def _by_model(
    specs: Mapping[Role, ModelSpec], roles: Mapping[Role, Amounts]
) -> list[tuple[ModelSpec, list[Amounts]]]:
    """Roles grouped by model, because they share its limits."""
    found: dict[tuple[str, str | None], tuple[ModelSpec, list[Amounts]]] = {}
    for role, amounts in roles.items():
        spec = specs[role]
        found.setdefault((spec.name, spec.base_url), (spec, []))[1].append(amounts)
    return list(found.values())


def _least(spec: ModelSpec, shared: Sequence[Amounts]) -> Range:
    """The shortest time that the limits of one model allow for the calls of its roles."""
    bounds: list[Range] = []
    if spec.requests_per_minute is not None:
        bounds.append(_sum(shared, "calls").times(60 / (_USED_PACE * spec.requests_per_minute)))
    if spec.tokens_per_minute is not None:
        tokens = _sum(shared, "input_tokens").plus(_sum(shared, "output_tokens"))
        bounds.append(tokens.times(60 / (_USED_PACE * spec.tokens_per_minute)))
    if spec.concurrency is not None:
        bounds.append(_sum(shared, "seconds").times(1 / spec.concurrency))
    least = NOTHING
    for bound in bounds:
        least = _slower(least, bound)
    return least


def _sum(shared: Sequence[Amounts], name: str) -> Range:
    total = NOTHING
    for amounts in shared:
        total = total.plus(amounts[name])
    return total


def _slower(one: Range, other: Range) -> Range:
    return Range(
        low=max(one.low, other.low),
        expected=max(one.expected, other.expected),
        high=max(one.high, other.high),
    )
