"""The observed assets, one for each configuration of the table of products, and the check for unknown partitions.

Observing costs nothing. When a configuration changes, exactly the partitions that depend on it become stale. The sensor that
observes is in `automation.py`.
"""

from collections.abc import Mapping

import dagster as dg

from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.partitions import missing_partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.refresh.products import Observed, Row

CORPUS_FILES = "corpus_files"  # the asset with the check RELOADED
KnownPartitions = Mapping[str, dg.StaticPartitionsDefinition]
RELOADED = "definitions_loaded"


def build_observed(layout: Layout, partitions: KnownPartitions) -> list[dg.SourceAsset]:
    """One observable asset for each configuration."""
    return [_observed(layout, row, entry, partitions[entry.partitions]) for row, entry in layout.observed]


def _observed(
    layout: Layout, row: Row, entry: Observed, partitions: dg.StaticPartitionsDefinition
) -> dg.SourceAsset:
    @dg.observable_source_asset(  # pyright: ignore[reportUnknownMemberType]
        key=layout.key(entry.name),
        partitions_def=partitions,
        group_name=layout.name(row.group),
        description=entry.description,
    )
    @layout.bound
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


def build_reload_check(layout: Layout, partitions: KnownPartitions) -> dg.AssetChecksDefinition:
    """The check that the loaded definitions have all corpora, scenarios and exams."""

    @dg.asset_check(  # pyright: ignore[reportUnknownMemberType]
        asset=layout.key(CORPUS_FILES),
        name=RELOADED,
        description="Fails when a corpus, a scenario or an exam was added after the definitions were loaded. Click "
        "Reload definitions then.",
    )
    @layout.bound
    def definitions_loaded(workspace: WorkspaceResource) -> dg.AssetCheckResult:
        return reload_result(missing_partitions(workspace.open(), partitions))

    return definitions_loaded


def reload_result(missing: list[str]) -> dg.AssetCheckResult:
    """The outcome of the check. It names each partition that the definitions do not have, and what to do."""
    advice = "; ".join(f"reload definitions to see {one}" for one in missing) or "all are loaded"
    return dg.AssetCheckResult(
        passed=not missing, severity=dg.AssetCheckSeverity.WARN, metadata={"definitions": advice}
    )
