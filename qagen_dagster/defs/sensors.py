"""Sensors. One records changes (free); one launches runs for them (paid); one continues what the nightly schedule began."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg

from qagen_dagster.defs.automation import CHANGE, LAUNCH_TAG, NIGHTLY, Launch, launch_id
from qagen_dagster.defs.configurations import OBSERVED, all_versions, changed_configurations
from qagen_dagster.defs.model_config import KnownPartitions, reload_event
from qagen_dagster.defs.partitions import missing_partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.records.ids import fingerprint

EVERYTHING = dg.AssetSelection.all(include_sources=False)


def build_sensors(partitions: KnownPartitions) -> list[dg.SensorDefinition]:
    """All sensors. Only the one that continues the nightly schedule is on by default."""
    known = known_keys(partitions)
    return [_observer(partitions), _refresher(partitions), _continuer(known)]


def known_keys(partitions: KnownPartitions) -> frozenset[str]:
    """All partition keys that the definitions have."""
    exams = {key.split("/")[0] for key in partitions["part"].get_partition_keys()}
    return frozenset(exams.union(*(one.get_partition_keys() for one in partitions.values())))


def _observer(partitions: KnownPartitions) -> dg.SensorDefinition:
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
        for entry in OBSERVED:
            keys = partitions[entry.partitions].get_partition_keys()
            events += changed_configurations(entry, space, context.instance, keys, context.log)
        missing = missing_partitions(space, partitions)
        for one in missing:
            context.log.warning(f"reload definitions to see {one}")
        if context.cursor != json.dumps(missing):
            events.append(reload_event(missing))
        if not events:
            return dg.SkipReason("no configuration and no document changed")
        return dg.SensorResult(asset_events=events, cursor=json.dumps(missing))

    return observe_model_config


def _refresher(partitions: KnownPartitions) -> dg.SensorDefinition:
    known = known_keys(partitions)
    keys = {kind: list(one.get_partition_keys()) for kind, one in partitions.items()}

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name="refresh_changed_combinations",
        asset_selection=EVERYTHING,
        minimum_interval_seconds=60,
        description="Run exactly what is out of date: what `qagen stale` lists. Paid models need the budget for "
        "automation.",
    )
    def refresh_changed_combinations(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        space, now = workspace.open(), datetime.now(UTC)
        runs = {key.split("/")[1] for key in space.store.list("runs")}
        state = fingerprint([str(now.date()), all_versions(space, keys), *sorted(runs)])
        if state == context.cursor:
            yield dg.SkipReason("nothing changed since the last tick")
            return
        launch = Launch(space, context.instance, launch_id(now), CHANGE, known, context.log)
        found = launch.requests()
        if launch.is_over(found):
            context.update_cursor(state)
        yield from found

    return refresh_changed_combinations


def _continuer(known: frozenset[str]) -> dg.SensorDefinition:
    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name="continue_nightly_refresh",
        asset_selection=EVERYTHING,
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="After the runs of nightly_refresh, run what waited for them, up to the catalog. Without such "
        "runs it does nothing.",
    )
    def continue_nightly_refresh(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        recent = dg.RunsFilter(
            tags={LAUNCH_TAG: NIGHTLY}, created_after=datetime.now(UTC) - timedelta(hours=20)
        )
        runs = context.instance.get_runs(recent, limit=1)
        launch = runs[0].tags[SPENDING_TAG] if runs else ""
        if not launch or launch == context.cursor:
            yield dg.SkipReason("there is no unfinished nightly launch")
            return
        begun = Launch(workspace.open(), context.instance, launch, NIGHTLY, known, context.log)
        found = begun.requests()
        if begun.is_over(found):
            context.update_cursor(launch)
        yield from found

    return continue_nightly_refresh
