"""What asset checks share: their specs, and a result that names what fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    CheckedResult = dg.MaterializeResult[Any]
else:  # of an asset with checks Dagster accepts only the class itself as annotation
    CheckedResult = dg.MaterializeResult
WARN = dg.AssetCheckSeverity.WARN
_SHOWN, _LONGEST = 10, 2_000  # names, and characters of them together


def check_specs(
    asset: str, descriptions: Mapping[str, str], partitions: dg.PartitionsDefinition[str]
) -> list[dg.AssetCheckSpec]:
    """The checks of an asset by name. Each partition has results of its own, so that one cannot hide another's."""
    return [
        dg.AssetCheckSpec(name, asset=asset, description=description, partitions_def=partitions)
        for name, description in descriptions.items()
    ]


def check_event(asset: str, name: str, found: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """A result as an event that a sensor or a job records."""
    values: Any = found.metadata
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(asset),
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
    """Passes when nothing fails; shows `numbers`, how many fail, and the first of them by name."""
    first = {"first_failing": ", ".join(failing[:_SHOWN])[:_LONGEST]} if failing else {}
    return dg.AssetCheckResult(
        check_name=name,
        passed=not failing,
        severity=severity,
        metadata={**numbers, "failing": len(failing), **first},
    )
