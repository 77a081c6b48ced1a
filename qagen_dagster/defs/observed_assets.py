"""The observed assets, one for each configuration of the table of products, their sensor, and the check for unknown partitions.

Observing costs nothing. When a configuration changes, exactly the partitions that depend on it become stale.
"""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from qagen_dagster.defs.check_results import check_event
from qagen_dagster.defs.observations import OBSERVED, all_versions, changed_configurations
from qagen_dagster.defs.outdated import up_to_date_events
from qagen_dagster.defs.partitions import missing_partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.refresh.products import Observed, Row
from qagen_dagster.records.ids import fingerprint

CORPUS_FILES = "corpus_files"  # the asset with the check RELOADED
KnownPartitions = Mapping[str, dg.StaticPartitionsDefinition]
RELOADED = "definitions_loaded"
_LATEST = 50  # runs; when one of them begins or ends, partitions may have become up to date


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


def build_observer(partitions: KnownPartitions) -> dg.SensorDefinition:
    """The sensor that records changed configurations, and what is out of date. It is on by default."""
    keys_of = {kind: list(one.get_partition_keys()) for kind, one in partitions.items()}

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name="observe_model_config",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Record a new version of each configuration and each folder of documents that changed, and the checks "
        "that name what is out of date. This costs nothing. It marks the partitions that depend on a change as stale.",
    )
    def observe_model_config(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> dg.SensorResult | dg.SkipReason:
        space = workspace.open()
        missing = missing_partitions(space, partitions)
        runs = (f"{run.run_id} {run.status.value}" for run in context.instance.get_runs(limit=_LATEST))
        state = fingerprint([all_versions(space, keys_of), *missing, *runs])
        if state == context.cursor:
            return dg.SkipReason("no configuration and no document changed")
        events: list[dg.AssetObservation | dg.AssetCheckEvaluation] = []
        for row, entry in OBSERVED:
            keys = keys_of[entry.partitions]
            events += changed_configurations(row, entry, space, context.instance, keys, context.log)
        for one in missing:
            context.log.warning(f"reload definitions to see {one}")
        events += [check_event(CORPUS_FILES, RELOADED, reload_result(missing)), *up_to_date_events(space)]
        return dg.SensorResult(asset_events=events, cursor=state)

    return observe_model_config
