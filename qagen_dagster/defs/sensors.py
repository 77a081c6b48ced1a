"""Sensors, off until switched on: one records configuration changes (free), one starts runs for them (paid)."""

import dagster as dg

from qagen_dagster.defs.jobs import EVALUATIONS, EXPORTS, INDEX, ITEM_BANK, QUESTIONS
from qagen_dagster.defs.model_config import KEY, wanted_versions
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource

VERSION_TAG = "dagster/data_version"


def build_sensors(partitions: Partitions) -> list[dg.SensorDefinition]:
    """The sensor that observes model_config, and the one that runs automation conditions."""

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name="observe_model_config",
        minimum_interval_seconds=60,
        description="Record a new version of each combination whose models, prompts, scenario or limits changed. This "
        "costs nothing and marks the combination as stale.",
    )
    def observe_model_config(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> dg.SensorResult | dg.SkipReason:
        keys = list(partitions.combinations.get_partition_keys())
        versions, faults = wanted_versions(workspace.open(), keys)
        for key, why in faults.items():
            context.log.error(f"{key}: {why}")
        changed = [key for key in versions if latest_version(context.instance, key) != versions[key]]
        if not changed:
            return dg.SkipReason("no configuration changed")
        return dg.SensorResult(
            asset_events=[
                dg.AssetObservation(KEY, partition=key, tags={VERSION_TAG: versions[key]}) for key in changed
            ]
        )

    automation = dg.AutomationConditionSensorDefinition(
        "refresh_changed_combinations",
        target=dg.AssetSelection.assets(
            *QUESTIONS, *EXPORTS, *INDEX, *EVALUATIONS, *ITEM_BANK, "problem_bank", "catalog"
        ),
        description="Start backfills of exactly the combinations whose configuration or documents changed, and refresh "
        "banks and the catalog. The runs cost money.",
    )
    return [observe_model_config, automation]


def latest_version(instance: dg.DagsterInstance, key: str) -> str | None:
    """The version of a combination's configuration that was observed last."""
    found = instance.fetch_observations(
        dg.AssetRecordsFilter(asset_key=KEY, asset_partitions=[key]), limit=1
    ).records
    if not found or found[0].asset_observation is None:
        return None
    return found[0].asset_observation.tags.get(VERSION_TAG)
