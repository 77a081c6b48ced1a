"""The configuration of each combination as an observed asset, whose data version is a fingerprint.

Observing it costs nothing. When models, prompts, scenario or limits of a combination change, exactly that
combination becomes stale.
"""

import dagster as dg

from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import Group
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.combination import effective_fingerprint
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination

KEY = dg.AssetKey("model_config")


def wanted_versions(space: Workspace, keys: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The fingerprint of each partition key, and an error for each key whose configuration cannot be used."""
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
        group_name=Group.QUESTIONS,
        description="The models, prompts, scenario and limits of each combination. When one of them changes, the data "
        "version changes and the combination becomes stale.",
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
