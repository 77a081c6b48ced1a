"""The schedule; it is off until switched on."""

from collections.abc import Iterator

import dagster as dg

from qagen_dagster.defs.automation import NIGHTLY, Launch, launch_id
from qagen_dagster.defs.resources import WorkspaceResource


def build_nightly_refresh(known: frozenset[str]) -> dg.ScheduleDefinition:
    """Every night, runs for everything that is out of date. A sensor launches those that wait for others."""

    @dg.schedule(  # pyright: ignore[reportUnknownMemberType]
        name="nightly_refresh",
        job_name="__ASSET_JOB",
        cron_schedule="0 2 * * *",
        description="Every night at 02:00, run what `qagen stale` lists. Paid models need the budget for automation.",
    )
    def nightly_refresh(
        context: dg.ScheduleEvaluationContext, workspace: WorkspaceResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        launch = launch_id(context.scheduled_execution_time)
        yield from Launch(workspace.open(), context.instance, launch, NIGHTLY, known, context.log).requests()

    return nightly_refresh
