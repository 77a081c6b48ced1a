"""A check's result from the things that fail it: how many, and the first by name. What is checked is the callers'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dagster as dg

_SHOWN, _LONGEST = 10, 2_000  # names, and characters of them together


def failing_result(
    name: str,
    failing: Sequence[str],
    numbers: Mapping[str, int],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetCheckResult:
    """Passed when nothing fails; `numbers` are shown beside how many do."""
    first = ", ".join(failing[:_SHOWN])[:_LONGEST]
    return dg.AssetCheckResult(
        check_name=name,
        passed=not failing,
        severity=severity,
        metadata={**numbers, "failing": len(failing), "first": first},
    )
