"""The check `up_to_date` on the assets that people look at first. It names what is out of date, as `qagen stale` does."""

from collections.abc import Iterator

import dagster as dg

from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import WARN, Metadata, check_event
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.run_records import PARTITION_TAG
from qagen_dagster.loop.outdated import OutOfDate, Task, find_out_of_date, whole_project
from qagen_dagster.loop.product_table import TABLE, Group, Product
from qagen_dagster.loop.questions.before_run import why_kept
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination

UP_TO_DATE, JOB = "up_to_date", "refresh_stale"
RESULTS = {  # the assets that people look at first, with the groups of the partitions that the check of each asset names
    "corpus_json": (Group.DOCUMENTS, Group.QUESTIONS, Group.EVALUATION),
    "item_bank": (Group.EXAMS,),
    "problem_bank": (Group.PROBLEMS,),
}
_SHOWN = 30  # maximum number of partitions that a check names


def _remedy(layout: Layout) -> str:
    return f"To run exactly these: Jobs, {layout.name(JOB)}, Launchpad, Launch Run."


def _results(layout: Layout) -> list[str]:
    return [asset for asset in RESULTS if layout.has(asset)]


def up_to_date_keys(layout: Layout) -> list[dg.AssetCheckKey]:
    return [dg.AssetCheckKey(layout.key(asset), UP_TO_DATE) for asset in _results(layout)]


def build_up_to_date_checks(layout: Layout) -> list[dg.AssetChecksDefinition]:
    """The check of each asset in RESULTS. A run of the asset evaluates its check; the partition of the run does not count as unfinished."""
    return [_check(layout, asset) for asset in _results(layout)]


def _check(layout: Layout, asset: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(  # pyright: ignore[reportUnknownMemberType]
        asset=layout.key(asset),
        name=UP_TO_DATE,
        description="Warns when partitions are out of date, and names them with the reasons, in the order in which they run, "
        f"as `qagen stale` does. {_remedy(layout)}",
    )
    @layout.bound
    def up_to_date(
        context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
    ) -> dg.AssetCheckResult:
        space, running = workspace.open(), context.op_execution_context.run.tags.get(PARTITION_TAG, "")
        return _result(layout, asset, find_out_of_date(space, whole_project(space, running)))

    return up_to_date


def up_to_date_events(layout: Layout, space: Workspace) -> Iterator[dg.AssetCheckEvaluation]:
    """The results of all checks as events that a sensor or a job records."""
    found = find_out_of_date(space, whole_project(space))
    return (
        check_event(layout.key(asset), UP_TO_DATE, _result(layout, asset, found))
        for asset in _results(layout)
    )


def kept_line(space: Workspace, task: Task) -> str:
    """A line that says why a run of the task would refuse to replace the published set; empty if the run would not refuse."""
    if task.product is not Product.QUESTIONS:
        return ""
    why = why_kept(space, Combination.from_key(task.partition), RunOptions())
    return f"{task.partition}: {why}" if why else ""


def _result(layout: Layout, asset: str, found: OutOfDate) -> dg.AssetCheckResult:
    tasks = [task for task in found.tasks if TABLE[task.product].group in RESULTS[asset]]
    faults = found.faults if asset == next(iter(RESULTS)) else ()
    shown: Metadata = {"out_of_date": len(tasks)}
    if tasks:
        shown["what_to_do"] = _remedy(layout)
    for number, one in enumerate(
        tasks[:_SHOWN], 1
    ):  # the UI sorts by label, and shows only a link to a table
        shown[f"{number:02} {one.name}"] = "; ".join(one.reasons)
    if len(tasks) > _SHOWN:
        shown["more"] = f"{len(tasks) - _SHOWN} more: see `qagen stale`"
    if faults:
        shown["not_examined"] = "; ".join(faults[:_SHOWN])
    return dg.AssetCheckResult(passed=not tasks and not faults, severity=WARN, metadata=shown)
