"""The job `refresh_stale`, which runs exactly what is out of date: what the checks `up_to_date` name and `qagen stale` lists."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from qagen_dagster.defs.in_process import KILLED, Graph, Progress
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.outdated import JOB, kept_line, up_to_date_events
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.run_records import record_killed
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.outdated import find_out_of_date, refresh_fields, whole_project
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.settings import Settings

BuildGraph = Callable[[Settings, Progress, Work], dg.Definitions]


class _Silent:
    """A Progress that shows nothing, because the job logs which runs it starts, and why."""

    def step(self, title: str) -> None:
        pass

    def say(self, note: str) -> None:
        pass

    def done(self) -> None:
        pass


def build_refresh_job(layout: Layout, build: BuildGraph) -> dg.JobDefinition:
    """The job that runs what is out of date: first the tasks that are ready, then the tasks that waited for them."""

    @dg.op(
        name=layout.node("run_out_of_date"),
        description="Run each partition that is out of date. Each has a run of its own.",
    )
    @layout.bound
    def run_out_of_date(
        context: dg.OpExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
    ) -> None:
        space = workspace.open()
        limits = RunOptions(**config.model_dump(exclude_none=True))
        with Work(space) as work:
            work.spending_id = spending_id(context.run)
            home, progress = Path(context.instance.root_directory), _Silent()
            built = build(space.settings, progress, work)
            with Graph(built, home, progress, work, layout, partial(_origin, context.run)) as graph:
                record_killed(space.store, graph.dead, KILLED)
                try:
                    failures = _refresh(context, graph, limits)
                except KeyboardInterrupt:
                    raise dg.DagsterExecutionInterruptedError from None
        for event in up_to_date_events(layout, space):
            context.instance.report_runless_asset_event(event)
        if failures:
            raise dg.Failure("; ".join(failures), allow_retries=False)

    @dg.job(  # pyright: ignore[reportUnknownMemberType]
        name=layout.name(JOB),
        description="Run exactly what is out of date: what the checks `up_to_date` name and `qagen stale` lists. Limits of the "
        "launch hold for all runs together; without them, the limits of the profile hold.",
    )
    def refresh_stale() -> None:
        run_out_of_date()

    return refresh_stale


def _origin(run: dg.DagsterRun, job: str) -> Any:
    """The origin of a job in the code location of a run; None if the run has no origin."""
    origin: Any = run.remote_job_origin
    return None if origin is None else origin._replace(job_name=job)


def _refresh(context: dg.OpExecutionContext, graph: Graph, limits: RunOptions) -> list[str]:
    """Run each task that is out of date once, and after the tasks on which it depends. Returns a line for each error."""
    space, tried, failures = graph.work.space, set[str](), list[str]()
    while True:
        found = find_out_of_date(space, whole_project(space))
        due = {one.name: one for one in found.due() if one.name not in tried}
        ready = [one for one in due.values() if not due.keys() & set(one.after)]
        if not ready:
            return [*failures, *found.faults]
        for task in ready:
            tried.add(task.name)
            context.log.info(f"{task.name}: {'; '.join(task.reasons)}")
            kept = kept_line(space, task)
            fields = refresh_fields(task, limits)
            failures += [kept] if kept else graph.make(task.product, partition=task.partition, fields=fields)
