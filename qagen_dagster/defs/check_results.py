"""What asset checks share: their specs, and a result that names what fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    CheckedResult = dg.MaterializeResult[Any]
else:  # Dagster accepts only the bare class as the annotation of an asset with checks
    CheckedResult = dg.MaterializeResult
WARN = dg.AssetCheckSeverity.WARN
_SHOWN, _LONGEST = 10, 2_000  # maximum number of names that are shown, and of their characters together


def check_event(asset: dg.AssetKey, name: str, found: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """A result as an event that a sensor or a job records."""
    values: Any = found.metadata
    return dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=name,
        passed=found.passed,
        severity=found.severity,
        metadata=values,
    )


def failing_result(
    name: str,
    failing: Sequence[str],
    numbers: Mapping[str, float],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetCheckResult:
    """A result that passes if `failing` is empty. It shows `numbers`, the length of `failing` and its first names."""
    first = {"first_failing": ", ".join(failing[:_SHOWN])[:_LONGEST]} if failing else {}
    return dg.AssetCheckResult(
        check_name=name,
        passed=not failing,
        severity=severity,
        metadata={**numbers, "failing": len(failing), **first},
    )


def warning_result(name: str, passed: bool, metadata: Mapping[str, Any]) -> dg.AssetCheckResult:
    """A result that warns if it has not passed."""
    return dg.AssetCheckResult(check_name=name, passed=passed, severity=WARN, metadata=metadata)
