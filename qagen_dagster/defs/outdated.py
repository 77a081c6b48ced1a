"""What is out of date, where people look first: the check `up_to_date` on the results, and the job that runs exactly what it names.

Both use `find_out_of_date`, as `qagen stale` does.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg

from qagen_dagster.defs.check_results import WARN, check_event
from qagen_dagster.defs.in_process import Graph, Progress
from qagen_dagster.defs.metadata import Metadata
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.run_records import PARTITION_TAG
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.questions.before_run import why_kept
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.refresh.products import TABLE, Group, Product
from qagen_dagster.loop.refresh.tasks import OutOfDate, Task, find_out_of_date, refresh_fields, whole_project
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import Settings, apply

UP_TO_DATE, JOB = "up_to_date", "refresh_stale"
RESULTS = {  # asset that people look at first: the groups whose partitions its check names; the catalog has none
    "corpus_json": (Group.DOCUMENTS, Group.QUESTIONS, Group.EVALUATION),
    "item_bank": (Group.EXAMS,),
    "problem_bank": (Group.PROBLEMS,),
}
CHECKS = [dg.AssetCheckKey(dg.AssetKey(asset), UP_TO_DATE) for asset in RESULTS]
_SHOWN = 30  # partitions that a check names
OpenGraph = Callable[[Settings, Progress, Work], Graph]
_REMEDY = f"To run exactly these: Jobs, {JOB}, Launchpad, Launch Run."


def build_up_to_date_checks() -> list[dg.AssetChecksDefinition]:
    """The check of each result. A run of the result evaluates it, too, and does not count its own partition as unfinished."""
    return [_check(asset) for asset in RESULTS]


def _check(asset: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(  # pyright: ignore[reportUnknownMemberType]
        asset=asset,
        name=UP_TO_DATE,
        description="Warns when partitions are out of date, and names them with the reasons, in the order in which they run, "
        f"as `qagen stale` does. {_REMEDY}",
    )
    def up_to_date(
        context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
    ) -> dg.AssetCheckResult:
        space, running = workspace.open(), context.op_execution_context.run.tags.get(PARTITION_TAG, "")
        return _result(asset, find_out_of_date(space, whole_project(space, running)))

    return up_to_date


def up_to_date_events(space: Workspace) -> Iterator[dg.AssetCheckEvaluation]:
    """The results of all checks as events that a sensor or a job records."""
    found = find_out_of_date(space, whole_project(space))
    return (check_event(asset, UP_TO_DATE, _result(asset, found)) for asset in RESULTS)


def _result(asset: str, found: OutOfDate) -> dg.AssetCheckResult:
    tasks = [one for one in found.tasks if TABLE[one.product].group in RESULTS[asset]]
    faults = found.faults if asset == next(iter(RESULTS)) else ()
    shown: Metadata = {"out_of_date": len(tasks)}
    if tasks:
        shown["what_to_do"] = _REMEDY
    for number, one in enumerate(tasks[:_SHOWN], 1):  # text: of a table the UI shows only a link
        shown[f"{number}. {one.name}"] = "; ".join(one.reasons)
    if len(tasks) > _SHOWN:
        shown["more"] = f"{len(tasks) - _SHOWN} more: see `qagen stale`"
    if faults:
        shown["not_examined"] = "; ".join(faults[:_SHOWN])
    return dg.AssetCheckResult(passed=not tasks and not faults, severity=WARN, metadata=shown)


class _Silent:
    """The progress of runs, which nobody watches: the job logs what it runs and why."""

    def step(self, title: str) -> None:
        pass

    def say(self, note: str) -> None:
        pass

    def done(self) -> None:
        pass


def build_refresh_job(open_graph: OpenGraph) -> dg.JobDefinition:
    """The job that runs what is out of date: what is ready first, then what waited for it."""

    @dg.op(description="Run each partition that is out of date. Each has a run of its own.")
    def run_out_of_date(
        context: dg.OpExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
    ) -> None:
        space = workspace.open()
        limits = RunOptions(**config.model_dump(exclude_none=True))
        with Work(space) as work:
            work.spending_id = spending_id(context.run)
            apply({"DAGSTER_HOME": str(Path(context.instance.root_directory))})
            with open_graph(space.settings, _Silent(), work) as graph:
                try:
                    failures = _refresh(context, graph, limits)
                except KeyboardInterrupt:
                    raise dg.DagsterExecutionInterruptedError from None
        for event in up_to_date_events(space):
            context.instance.report_runless_asset_event(event)
        if failures:
            raise dg.Failure("; ".join(failures), allow_retries=False)

    @dg.job(
        name=JOB,
        executor_def=dg.in_process_executor,
        description="Run exactly what is out of date: what the checks `up_to_date` name and `qagen stale` lists. Limits of the "
        "launch hold for all of it together; without them those of the profile hold.",
    )
    def refresh_stale() -> None:
        run_out_of_date()

    return refresh_stale


def _refresh(context: dg.OpExecutionContext, graph: Graph, limits: RunOptions) -> list[str]:
    """Run what is out of date until nothing is that was not tried. Returns the errors."""
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
            kept = _kept(space, task)
            fields = refresh_fields(task, limits)
            failures += [kept] if kept else graph.make(task.product, partition=task.partition, fields=fields)


def _kept(space: Workspace, task: Task) -> str:
    """Why the run would refuse to replace what there is; empty if it would not."""
    if task.product is not Product.QUESTIONS:
        return ""
    why = why_kept(space, Combination.from_key(task.partition), RunOptions())
    return f"{task.partition}: {why}" if why else ""
