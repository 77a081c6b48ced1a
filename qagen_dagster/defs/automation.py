"""Automation: Dagster observes configurations, a sensor records what changed, and sensors and the schedule launch runs.

There is one observed asset for each configuration in the table of products. Observing costs nothing. When a configuration changes, exactly
the partitions that depend on the configuration become stale.

A launch is all runs of one tick of a sensor, or all runs of one night. The next launch begins when all runs of the last launch have ended.
Launches stay within the budget for automation.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import dagster as dg

from qagen_dagster.configuration.profiles import is_free
from qagen_dagster.defs.config_versions import all_versions, changed_configurations
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import check_event
from qagen_dagster.defs.outdated import kept_line, up_to_date_events
from qagen_dagster.defs.partitions import missing_partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.run_records import PARTITION_TAG
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.errors import ConfigError, QagenError
from qagen_dagster.loop.outdated import Task, find_out_of_date, refresh_fields, whole_project
from qagen_dagster.loop.product_table import TABLE, Observed, Row
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.shared_budget import effective_budget, spent_by
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.settings import MAX_USD, MAX_USD_PER_DAY

LAUNCH_TAG = "qagen/launch"  # nightly or change
TASK_TAG, STATE_TAG = "qagen/task", "qagen/state"
NIGHTLY, CHANGE = "nightly", "change"
_DAY = len("automation-20260101")  # length of the beginning of a launch id that all launches of a day share
_LATEST = 50  # latest runs that are watched; a run that begins or ends may change what is up to date
_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_CORPUS_FILES = "corpus_files"  # the asset with the check _RELOADED
KnownPartitions = Mapping[str, dg.StaticPartitionsDefinition]
_RELOADED = "definitions_loaded"


def launch_id(when: datetime) -> str:
    """The spending id of a launch. The ids of all launches of a day begin with the same `_DAY` characters."""
    return f"automation-{when:%Y%m%d-%H%M%S}"


@dataclass(frozen=True)
class Launch:
    """One launch. `kind` is NIGHTLY or CHANGE. `known` has the partition keys of the loaded definitions."""

    layout: Layout
    space: Workspace
    instance: dg.DagsterInstance
    id: str
    kind: str
    known: Collection[str]
    log: logging.Logger

    def advance(
        self, context: dg.SensorEvaluationContext, cursor: str
    ) -> list[dg.RunRequest | dg.SkipReason]:
        """The results of `requests`. If nothing runs and no run is requested, the launch is over, and `cursor` is stored for the sensor."""
        found = self.requests()
        if not self._active and not any(isinstance(one, dg.RunRequest) for one in found):
            context.update_cursor(cursor)
        return found

    def requests(self) -> list[dg.RunRequest | dg.SkipReason]:
        """A run request for each task that can run now. If no task can run, or runs of the last launch have not ended, one SkipReason."""
        if any(TASK_TAG in run.tags for run in self._active):
            return [dg.SkipReason("the runs of the last launch have not ended")]
        found = find_out_of_date(self.space, whole_project(self.space))
        refused: dict[str, None] = {}
        ready = list(self._ready(found.tasks, refused))
        for line in (*found.faults, *found.gone, *refused):
            self.log.warning(line)
        reason = "; ".join(refused) or "nothing is out of date that was not tried before"
        return [*ready] or [dg.SkipReason(reason)]

    @cached_property
    def _active(self) -> list[dg.DagsterRun]:
        runs = self.instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))
        return [run for run in runs if self.layout.is_own_run(run)]

    def _ready(self, tasks: tuple[Task, ...], refused: dict[str, None]) -> Iterator[dg.RunRequest]:
        busy = {run.tags.get(PARTITION_TAG, "") for run in self._active}
        pending: set[str] = set()
        for task in tasks:
            if self._tried(task) or not (task.due or pending.intersection(task.after)):
                continue
            if task.partition and task.partition not in self.known:
                refused[f"reload definitions to run {task.name}"] = None
                continue
            if kept := kept_line(self.space, task):
                refused[kept] = None
                continue
            try:
                limits = self._limits(task)
            except ConfigError as error:
                refused[str(error)] = None
                continue
            pending.add(task.name)
            if not pending.isdisjoint(task.after) or task.partition in busy:
                continue
            self.log.info(f"{task.name}: {'; '.join(task.reasons)}")
            yield self._request(task, limits)

    def _tried(self, task: Task) -> bool:
        """Whether the task was launched before and would do the same now. In a nightly launch: whether this launch has already tried it."""
        tags = {TASK_TAG: self.layout.name(task.name)}
        if self.kind == NIGHTLY:
            return bool(self.instance.get_runs(dg.RunsFilter(tags=tags | {SPENDING_TAG: self.id}), limit=1))
        runs = self.instance.get_runs(dg.RunsFilter(tags=tags), limit=1)
        return any(run.tags.get(STATE_TAG) == task.signature for run in runs)

    def _limits(self, task: Task) -> RunOptions:
        """The options of a task, with the limit of the launch if the task needs paid models. Raises ConfigError if no budget is left for it."""
        if not task.profile or is_free(profile := self.space.profile(task.profile)):
            return RunOptions()
        settings = self.space.settings
        per_launch, per_day = settings.automation_max_usd, settings.automation_max_usd_per_day
        if per_launch is None or per_day is None:
            missing = MAX_USD if per_launch is None else MAX_USD_PER_DAY
            raise ConfigError(
                f"profile {task.profile} has paid models and {missing} is not set, so its tasks are not run"
            )
        spent, today = (spent_by(self.space.store, one) for one in (self.id, self.id[:_DAY]))
        limit = min(per_launch, per_day - today + spent)
        if limit <= spent:
            raise ConfigError(
                f"the budget for automation is used up: {spent:.4f} of {per_launch:g} US dollars in this "
                f"launch, {today:.4f} of {per_day:g} today"
            )
        effective_budget(profile, Allowance(max_usd=limit))
        return RunOptions(max_usd=limit)

    def _request(self, task: Task, limits: RunOptions) -> dg.RunRequest:
        row = TABLE[task.product]
        return dg.RunRequest(
            run_key=f"{self.id}/{self.layout.name(task.name)}",
            asset_selection=[self.layout.key(name) for name in row.assets if self.layout.has(name)],
            partition_key=task.partition or None,
            run_config={"ops": self.layout.ops(row.ops(refresh_fields(task, limits)))},
            tags={
                LAUNCH_TAG: self.layout.name(self.kind),
                SPENDING_TAG: self.id,
                TASK_TAG: self.layout.name(task.name),
                STATE_TAG: task.signature,
            },
        )


def known_keys(partitions: KnownPartitions) -> frozenset[str]:
    exams = {key.split("/")[0] for key in partitions["part"].get_partition_keys()}
    return frozenset(exams.union(*(partition.get_partition_keys() for partition in partitions.values())))


def build_observer(layout: Layout, partitions: KnownPartitions) -> dg.SensorDefinition:
    """The sensor that records changed configurations, and which partitions are out of date. It is on by default."""
    keys_of = {kind: list(one.get_partition_keys()) for kind, one in partitions.items()}

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name=layout.name("observe_model_config"),
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Record a new version of each configuration and each folder of documents that changed, and the checks "
        "that name what is out of date. This costs nothing. It marks the partitions that depend on a change as stale.",
    )
    @layout.bound
    def observe_model_config(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> dg.SensorResult | dg.SkipReason:
        space = workspace.open()
        missing = missing_partitions(space, partitions)
        latest = filter(layout.is_own_run, context.instance.get_runs(limit=_LATEST))
        runs = (f"{run.run_id} {run.status.value}" for run in latest)
        state = fingerprint([all_versions(layout, space, keys_of), *missing, *runs])
        if state == context.cursor:
            return dg.SkipReason("no configuration and no document changed")
        events: list[dg.AssetObservation | dg.AssetCheckEvaluation] = []
        for row, entry in layout.observed:
            keys = keys_of[entry.partitions]
            events += changed_configurations(layout, row, entry, space, context.instance, keys, context.log)
        for name in missing:
            context.log.warning(f"reload definitions to see {name}")
        events += [check_event(layout.key(_CORPUS_FILES), _RELOADED, _reload_result(missing))]
        events += up_to_date_events(layout, space)
        return dg.SensorResult(asset_events=events, cursor=state)

    return observe_model_config


def inputs_changed() -> dg.AutomationCondition[Any]:
    """The condition of every asset: an upstream asset has changed since the asset was made or requested, and none is missing or
    running. The asset itself is not running."""
    changed = dg.AutomationCondition.any_deps_match(  # pyright: ignore[reportUnknownMemberType]
        dg.AutomationCondition.data_version_changed()
    )
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return (
        changed.since(handled)
        & ~dg.AutomationCondition.any_deps_missing()
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
    ).with_label("what it is made from changed")


def build_condition_sensor(layout: Layout) -> dg.AutomationConditionSensorDefinition:
    """The sensor that evaluates the conditions of the assets. It is off by default, because conditions know no budget."""
    return dg.AutomationConditionSensorDefinition(
        layout.name("evaluate_conditions"),
        target=layout.selection,
        description="Run each partition when the configuration or the assets that it is made from change, by the conditions of "
        "the assets. Conditions know no budget for automation: with paid models, use refresh_changed_combinations in its place.",
    )


def build_refresher(layout: Layout, partitions: KnownPartitions) -> dg.SensorDefinition:
    """The sensor that launches runs for everything that is out of date. It is off by default."""
    known = known_keys(partitions)
    keys = {kind: list(one.get_partition_keys()) for kind, one in partitions.items()}

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name=layout.name("refresh_changed_combinations"),
        asset_selection=layout.selection,
        minimum_interval_seconds=60,
        description="Run exactly what is out of date: what `qagen stale` lists. Paid models need the budget for "
        "automation.",
    )
    @layout.bound
    def refresh_changed_combinations(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        space, now = workspace.open(), datetime.now(UTC)
        runs = {key.split("/")[1] for key in space.store.list("runs")}
        state = fingerprint([str(now.date()), all_versions(layout, space, keys), *sorted(runs)])
        if state == context.cursor:
            yield dg.SkipReason("nothing changed since the last tick")
            return
        launch = Launch(layout, space, context.instance, launch_id(now), CHANGE, known, context.log)
        yield from launch.advance(context, state)

    return refresh_changed_combinations


def build_continuer(layout: Layout, partitions: KnownPartitions) -> dg.SensorDefinition:
    """The sensor that launches the runs that waited for other runs of the night. It is on by default."""
    known = known_keys(partitions)

    @dg.sensor(  # pyright: ignore[reportUnknownMemberType]
        name=layout.name("continue_nightly_refresh"),
        asset_selection=layout.selection,
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="After the runs of nightly_refresh, run what waited for them, up to the catalog. Without such "
        "runs it does nothing.",
    )
    @layout.bound
    def continue_nightly_refresh(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        recent = dg.RunsFilter(
            tags={LAUNCH_TAG: layout.name(NIGHTLY)}, created_after=datetime.now(UTC) - timedelta(hours=20)
        )
        runs = context.instance.get_runs(recent, limit=1)
        launch = runs[0].tags[SPENDING_TAG] if runs else ""
        if not launch or launch == context.cursor:
            yield dg.SkipReason("there is no unfinished nightly launch")
            return
        begun = Launch(layout, workspace.open(), context.instance, launch, NIGHTLY, known, context.log)
        yield from begun.advance(context, launch)

    return continue_nightly_refresh


def build_nightly_refresh(
    layout: Layout, partitions: KnownPartitions, cron: str | None
) -> dg.ScheduleDefinition:
    """The schedule that launches runs for everything that is out of date. `build_continuer` makes the sensor for the runs that follow.

    It is on if `cron` is given. Otherwise it is off, and its time is 02:00.
    """
    known = known_keys(partitions)

    @dg.schedule(  # pyright: ignore[reportUnknownMemberType]
        name=layout.name("nightly_refresh"),
        job_name="__ASSET_JOB",
        cron_schedule=cron or "0 2 * * *",
        default_status=dg.DefaultScheduleStatus.RUNNING if cron else dg.DefaultScheduleStatus.STOPPED,
        description="At its time, run what `qagen stale` lists. Paid models need the budget for automation.",
    )
    @layout.bound
    def nightly_refresh(
        context: dg.ScheduleEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        launch = launch_id(context.scheduled_execution_time)
        yield from Launch(
            layout, workspace.open(), context.instance, launch, NIGHTLY, known, context.log
        ).requests()

    return nightly_refresh


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
    """The check that the loaded definitions have all partitions of the corpora folder."""

    @dg.asset_check(  # pyright: ignore[reportUnknownMemberType]
        asset=layout.key(_CORPUS_FILES),
        name=_RELOADED,
        description="Fails when a corpus, a scenario or an exam was added after the definitions were loaded. Click "
        "Reload definitions then.",
    )
    @layout.bound
    def definitions_loaded(workspace: WorkspaceResource) -> dg.AssetCheckResult:
        return _reload_result(missing_partitions(workspace.open(), partitions))

    return definitions_loaded


def _reload_result(missing: list[str]) -> dg.AssetCheckResult:
    """The result of the check, with each partition that the definitions lack, and what to do about it."""
    advice = "; ".join(f"reload definitions to see {one}" for one in missing) or "all are loaded"
    return dg.AssetCheckResult(
        passed=not missing, severity=dg.AssetCheckSeverity.WARN, metadata={"definitions": advice}
    )
