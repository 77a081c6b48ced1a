"""The observed assets, one for each configuration of the table of products, their sensor, and the check for unknown partitions.

Observing costs nothing. When a configuration changes, exactly the partitions that depend on it become stale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg

from qagen_dagster.defs.observations import OBSERVED, changed_configurations
from qagen_dagster.defs.partitions import missing_partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.refresh.products import Observed, Row

CORPUS_FILES = "corpus_files"  # the asset with the check RELOADED
KnownPartitions = Mapping[str, dg.StaticPartitionsDefinition]
RELOADED = "definitions_loaded"


def build_observed(partitions: KnownPartitions) -> list[dg.SourceAsset]:
    """One observable asset for each configuration."""
    return [_observed(row, entry, partitions[entry.partitions]) for row, entry in OBSERVED]


def _observed(row: Row, entry: Observed, partitions: dg.StaticPartitionsDefinition) -> dg.SourceAsset:
    @dg.observable_source_asset(  # pyright: ignore[reportUnknownMemberType]
        name=entry.name, partitions_def=partitions, group_name=row.group, description=entry.description
    )
    def observed(context: dg.OpExecutionContext, workspace: WorkspaceResource) -> dg.DataVersionsByPartition:
        space = workspace.open()
        versions: dict[str, str] = {}
        for key in partitions.get_partition_keys():
            try:
                versions[key] = entry.wanted(space, key, RunOptions()).version
            except (QagenError, KeyError) as error:
                context.log.error(f"{key}: {error}")
        return dg.DataVersionsByPartition(versions)

    return observed


def build_reload_check(partitions: KnownPartitions) -> dg.AssetChecksDefinition:
    """The check that the loaded definitions have all corpora, scenarios and exams."""

    @dg.asset_check(  # pyright: ignore[reportUnknownMemberType]
        asset=CORPUS_FILES,
        name=RELOADED,
        description="Fails when a corpus, a scenario or an exam was added after the definitions were loaded. Click "
        "Reload definitions then.",
    )
    def definitions_loaded(workspace: WorkspaceResource) -> dg.AssetCheckResult:
        return reload_result(missing_partitions(workspace.open(), partitions))

    return definitions_loaded


def reload_result(missing: list[str]) -> dg.AssetCheckResult:
    """The outcome of the check. It names each partition that the definitions do not have, and what to do."""
    advice = "; ".join(f"reload definitions to see {one}" for one in missing) or "all are loaded"
    return dg.AssetCheckResult(
        passed=not missing, severity=dg.AssetCheckSeverity.WARN, metadata={"definitions": advice}
    )


def reload_event(missing: list[str]) -> dg.AssetCheckEvaluation:
    """The outcome of `reload_result` as an event, which a sensor can record."""
    found: Any = reload_result(missing)
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(CORPUS_FILES),
        check_name=RELOADED,
        passed=found.passed,
        severity=found.severity,
        metadata=found.metadata,
    )


def build_observer(partitions: KnownPartitions) -> dg.SensorDefinition:
    """The sensor that records changed configurations."""

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name="observe_model_config",
        minimum_interval_seconds=60,
        description="Record a new version of each configuration and each folder of documents that changed. This costs "
        "nothing and marks the partitions that depend on it as stale.",
    )
    def observe_model_config(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> dg.SensorResult | dg.SkipReason:
        space = workspace.open()
        events: list[dg.AssetObservation | dg.AssetCheckEvaluation] = []
        for row, entry in OBSERVED:
            keys = partitions[entry.partitions].get_partition_keys()
            events += changed_configurations(row, entry, space, context.instance, keys, context.log)
        missing = missing_partitions(space, partitions)
        for one in missing:
            context.log.warning(f"reload definitions to see {one}")
        if context.cursor != json.dumps(missing):
            events.append(reload_event(missing))
        if not events:
            return dg.SkipReason("no configuration and no document changed")
        return dg.SensorResult(asset_events=events, cursor=json.dumps(missing))

    return observe_model_config
