"""The configurations of the table in `configurations.py` as observed assets, whose data versions are fingerprints.

Observing them costs nothing. When a configuration changes, exactly the partitions that depend on it become stale.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from qagen_dagster.defs.configurations import CORPUS_FILES, OBSERVED, Observed
from qagen_dagster.defs.partitions import missing_partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.questions.combination import RunOptions

KnownPartitions = Mapping[str, dg.StaticPartitionsDefinition]
RELOADED = "definitions_loaded"


def build_observed(partitions: KnownPartitions) -> list[dg.SourceAsset]:
    """One observable asset for each configuration."""
    return [_observed(entry, partitions[entry.partitions]) for entry in OBSERVED]


def _observed(entry: Observed, partitions: dg.StaticPartitionsDefinition) -> dg.SourceAsset:
    @dg.observable_source_asset(  # pyright: ignore[reportUnknownMemberType]
        name=entry.name, partitions_def=partitions, group_name=entry.group, description=entry.description
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
    """The check that the code location knows all corpora and scenarios."""

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
    """The outcome of the check: what to do, for each partition that the definitions do not have."""
    said = "; ".join(f"reload definitions to see {one}" for one in missing) or "all are loaded"
    return dg.AssetCheckResult(
        passed=not missing, severity=dg.AssetCheckSeverity.WARN, metadata={"definitions": said}
    )


def reload_event(missing: list[str]) -> dg.AssetCheckEvaluation:
    """The same outcome as an event that a sensor records."""
    found: Any = reload_result(missing)
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(CORPUS_FILES),
        check_name=RELOADED,
        passed=found.passed,
        severity=found.severity,
        metadata=found.metadata,
    )
