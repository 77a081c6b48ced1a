"""What sensors and the schedule launch: the tasks that can run now, within the budget for automation.

A launch is the runs of one tick, or all runs of one night. The next launch begins when the runs of the last one have ended.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import dagster as dg

from qagen_dagster.configuration.profiles import is_free
from qagen_dagster.defs.launch import assets_of, config_of
from qagen_dagster.defs.run_records import PARTITION_TAG
from qagen_dagster.defs.spending import SPENDING_TAG
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.refresh.tasks import Task, find_out_of_date, whole_project
from qagen_dagster.loop.shared_budget import effective_budget, spent_by
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.settings import MAX_USD, MAX_USD_PER_DAY

LAUNCH_TAG = "qagen/launch"  # nightly or change
TASK_TAG, STATE_TAG = "qagen/task", "qagen/state"
NIGHTLY, CHANGE = "nightly", "change"
_DAY = len("automation-20260101")  # length of the part of a launch id that names the day
_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def launch_id(when: datetime) -> str:
    """The spending id of a launch. Those of one day begin with the same characters."""
    return f"automation-{when:%Y%m%d-%H%M%S}"


@dataclass(frozen=True)
class Launch:
    """One launch: `kind` is nightly or change; `known` are the partition keys that the definitions have."""

    space: Workspace
    instance: dg.DagsterInstance
    id: str
    kind: str
    known: Collection[str]
    log: logging.Logger

    def is_over(self, found: Sequence[dg.RunRequest | dg.SkipReason]) -> bool:
        """Whether nothing was requested although no run keeps a task waiting."""
        return not self._active and not any(isinstance(one, dg.RunRequest) for one in found)

    def requests(self) -> list[dg.RunRequest | dg.SkipReason]:
        """A run for each task that can run now; else the reason why there is none."""
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
        return list(self.instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)))

    def _ready(self, tasks: tuple[Task, ...], refused: dict[str, None]) -> Iterator[dg.RunRequest]:
        busy = {run.tags.get(PARTITION_TAG, "") for run in self._active}
        pending: set[str] = set()
        for task in tasks:
            if self._tried(task) or not (task.due or pending.intersection(task.after)):
                continue
            if task.partition and task.partition not in self.known:
                refused[f"reload definitions to run {task.name}"] = None
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
        """Whether the task was launched before and would do the same again. Each night tries everything once."""
        tags = {TASK_TAG: task.name}
        if self.kind == NIGHTLY:
            return bool(self.instance.get_runs(dg.RunsFilter(tags=tags | {SPENDING_TAG: self.id}), limit=1))
        runs = self.instance.get_runs(dg.RunsFilter(tags=tags), limit=1)
        return any(run.tags.get(STATE_TAG) == task.signature for run in runs)

    def _limits(self, task: Task) -> dict[str, float]:
        """The limit of the launch for a task that asks paid models. Raises ConfigError when there is no budget for it."""
        if not task.profile or is_free(profile := self.space.profile(task.profile)):
            return {}
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
        return {"max_usd": limit}

    def _request(self, task: Task, limits: dict[str, float]) -> dg.RunRequest:
        return dg.RunRequest(
            run_key=f"{self.id}/{task.name}",
            asset_selection=[dg.AssetKey(name) for name in assets_of(task)],
            partition_key=task.partition or None,
            run_config=config_of(task, limits),
            tags={
                LAUNCH_TAG: self.kind,
                SPENDING_TAG: self.id,
                TASK_TAG: task.name,
                STATE_TAG: task.signature,
            },
        )
