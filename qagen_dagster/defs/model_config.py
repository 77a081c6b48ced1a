"""The configuration of each combination as an observed asset: its data version is its fingerprint.

Observing it is free. A changed version makes exactly the combinations stale whose models, prompts,
scenario or limits changed.
"""

import dagster as dg

from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.combination import effective_fingerprint
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination

KEY = dg.AssetKey("model_config")


def wanted_versions(space: Workspace, keys: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Fingerprint by partition key, and for keys whose configuration cannot be used, why."""
    versions: dict[str, str] = {}
    faults: dict[str, str] = {}
    for key in keys:
        try:
            versions[key] = effective_fingerprint(space, Combination.from_key(key))
        except (ConfigError, KeyError) as error:
            faults[key] = str(error)
    return versions, faults


def build_model_config(partitions: Partitions) -> dg.SourceAsset:
    """The observable asset `model_config`."""

    @dg.observable_source_asset(  # pyright: ignore[reportUnknownMemberType]
        name="model_config",
        partitions_def=partitions.combinations,
        group_name="questions",
        description="Models, prompts, scenario and limits in force for each combination.",
    )
    def model_config(
        context: dg.OpExecutionContext, workspace: WorkspaceResource
    ) -> dg.DataVersionsByPartition:
        keys = list(partitions.combinations.get_partition_keys())
        versions, faults = wanted_versions(workspace.open(), keys)
        for key, why in faults.items():
            context.log.error(f"{key}: {why}")
        return dg.DataVersionsByPartition(versions)

    return model_config
