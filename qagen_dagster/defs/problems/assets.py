"""Assets of problem sets: the sources, one asset per stage of the pipeline (ops over shards of problems), the bank and its checks."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import dagster as dg

from qagen_dagster.configuration.problems import ProblemSet, find_problem_set
from qagen_dagster.configuration.yaml_files import Loaded
from qagen_dagster.defs.layout import Function, Layout
from qagen_dagster.defs.metadata import WARN, CheckedResult, failing_result, fault_list, materialized
from qagen_dagster.defs.presentation import PUBLISHED
from qagen_dagster.defs.problems import metadata
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.shards import Payload, ShardConfig, close, sharded_asset, split
from qagen_dagster.defs.spending import spending_id
from qagen_dagster.loop.problems.bank import (
    PublishedBank,
    broken_items,
    keep_sources,
    open_bank,
    plan_problem_set,
    publish_problem_bank,
)
from qagen_dagster.loop.problems.plan import ProblemOptions, SetPlan
from qagen_dagster.loop.problems.run_set import run_stages
from qagen_dagster.loop.product_table import PROBLEM_STAGES
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.problems.tex_project import left_out
from qagen_dagster.records.ids import fingerprint, normalise
from qagen_dagster.records.problems.result import CompileOutcome, Stage

STAGES = {  # asset: its upstream asset, its description
    "classifications": (
        "problem_sources", "The kind of question, topic and difficulty of each problem."
    ),
    "scans": ("classifications", "Each problem as LaTeX, from \\item to \\end{solution}."),
    "diagrams": ("scans", "TikZ code of the problems that have a diagram."),
    "ideas": ("diagrams", "Concepts, formulas and techniques of each problem."),
    "alternates": ("ideas", "Other solutions of each problem that reach the same answer."),
    "variants": (
        "ideas", "New problems made from each problem: with other numbers, contexts, concepts or calculus."
    ),
    "conversions": ("ideas", "Each problem converted to other formats."),
}  # fmt: skip
_CHECKS = {
    "properties_hold": "Checks every item, variant, conversion and alternate solution again. Fails when one no "
    "longer has the properties that it was accepted for.",
    "no_duplicates": "Warns when two items of the bank ask the same question.",
    "latex_compiles": "Warns when LaTeX of the bank failed to compile. `not_compiled` counts LaTeX "
    "that was not compiled because there is no TeX engine.",
    "nothing_is_flagged": "Warns when a person should look at a problem: its classification is unsure, or a task "
    "ended with a warning.",
    "harmless": "Warns when an item has LaTeX that is not on the list of allowed commands and environments. The TeX "
    "project leaves such items out.",
}


class ProblemConfig(ShardConfig, ProblemOptions):
    """The settings of problems.yaml that a launch may override. Fields that are not set keep their configured value."""

    def plan(self, space: Workspace, key: str) -> SetPlan:
        return plan_problem_set(space, find_problem_set(space.settings.corpora, key), self)


def build_problem_assets(layout: Layout, sets: Loaded[ProblemSet]) -> list[dg.AssetsDefinition]:
    """Assets: problem_sources → classifications → scans → diagrams → ideas → alternates, variants, conversions → problem_bank."""
    partitions = dg.StaticPartitionsDefinition(list(sets.found))
    stages = [_stage(layout, name, partitions) for name in STAGES]
    return [
        layout.asset(
            problem_sources,
            partitions_def=partitions,
            kinds={"file"},
            deps=["problem_config"],
            metadata={"broken_sets": fault_list(sets.faults)},
            description="The problems of a set, read from its sources. A problem is an item of a TeX file, a picture, or a page of a PDF.",
        ),
        *stages,
        layout.asset(
            problem_bank,
            partitions_def=partitions,
            kinds={PUBLISHED, "json"},
            deps=["alternates", "variants", "conversions", "problem_config"],
            checks=_CHECKS,
            description="The problem bank: the result of a set. It has all problems with their variants, conversions and "
            "other solutions, and exports to other formats.",
        ),
    ]


def problem_sources(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space = workspace.open()
    problem_set = find_problem_set(space.settings.corpora, context.partition_key)
    found = keep_sources(space, problem_set)
    return materialized(metadata.of_sources(space, problem_set, found), found.problems)


@lru_cache(maxsize=32)  # a process that builds the graph again would spend half of the time on these
def _stage(layout: Layout, name: str, partitions: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    stage, (upstream, description) = PROBLEM_STAGES[name], STAGES[name]
    steps = {"plan": plan_stage, "run": _run_op(stage), "collect": _collect_op(stage)}
    return sharded_asset(
        layout,
        name,
        {f"{step}_{stage.value}": op for step, op in steps.items()},
        {upstream: None},
        partitions_def=partitions,
        description=f"{description} Fails when a model fails on a problem; a rerun works only on the failed problems.",
    )


def plan_stage(
    context: dg.OpExecutionContext, config: ProblemConfig, workspace: WorkspaceResource
) -> Iterator[dg.DynamicOutput[Payload] | dg.Output[Payload]]:
    """Split the problems of the set into shards; one op works on each shard."""
    space = workspace.open()
    plan = config.plan(space, context.partition_key)
    chosen = config.model_copy(update={"profile": plan.profile_name})
    names = [problem.id for problem in plan.problems]
    least = space.settings.document_workers  # the problems of one op run in parallel
    yield from split(context, space, chosen, names, "problems", least=least)


def _run_op(stage: Stage) -> Function:
    def run_stage(context: dg.OpExecutionContext, shard: Payload, workspace: WorkspaceResource) -> Payload:
        """Run the stage on each problem of the shard. A finished task is kept even if the op fails."""
        space = workspace.open()
        plan = ProblemConfig(**shard["config"]).plan(space, context.partition_key)
        ids: list[str] = shard["names"]

        def progress(done: int, total: int, note: str) -> None:
            context.log.info(f"{stage.value} {done} of {total}: {note}")

        outcome = run_stages(space, plan, ids, (stage,), context.run_id, progress, spending_id(context.run))
        return close(context.log, outcome, len(ids), "problems")

    return run_stage


def _collect_op(stage: Stage) -> Function:
    def collect_stage(
        context: dg.OpExecutionContext, shards: list[Payload], options: Payload, workspace: WorkspaceResource
    ) -> Iterator[dg.Output[None]]:
        """Collect the results of the stage for all problems."""
        space = workspace.open()
        plan = ProblemConfig(**options["config"]).plan(space, context.partition_key)
        bank = open_bank(space, plan)
        tasks = [task for problem in bank.problems for task in problem.tasks if task.task.stage is stage]
        fresh = sum(shard["finished"] for shard in shards)
        yield dg.Output(
            None,
            metadata=metadata.of_stage(space, plan, bank, stage, fresh),
            data_version=dg.DataVersion(fingerprint(one.fingerprint + one.end.value for one in tasks)),
        )

    return collect_stage


def problem_bank(
    context: dg.AssetExecutionContext, config: ProblemConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space = workspace.open()
    plan = config.plan(space, context.partition_key)
    found = publish_problem_bank(space, plan, context.run.run_id)
    return materialized(metadata.of_bank(space, found), found.export.items, _problem_results(found))


def _problem_results(found: PublishedBank) -> list[dg.AssetCheckResult]:
    items = found.export.items
    broken = broken_items(found.bank)
    texts = Counter(normalise(f"{one.statement} {[option.text for option in one.options]}") for one in items)
    duplicates = [one for one, count in texts.items() if count > 1]
    compiled = [
        (f"{record.id}--{task.task.key}", task.compiled.outcome)
        for record in found.bank.accepted
        for task in record.tasks
        if task.compiled is not None
    ]
    failing = [name for name, outcome in compiled if outcome is CompileOutcome.FAILED]
    unseen = sum(outcome is CompileOutcome.NOT_COMPILED for _, outcome in compiled)
    flagged = [one.id for one in found.bank.accepted if one.flagged]
    count = {"items": len(items)}
    return [
        failing_result("properties_hold", [f"{name}: {why}" for name, why in broken.items()], count),
        failing_result("no_duplicates", duplicates, count, WARN),
        failing_result("latex_compiles", failing, {"checked": len(compiled), "not_compiled": unseen}, WARN),
        failing_result("nothing_is_flagged", flagged, {"problems": len(found.bank.accepted)}, WARN),
        failing_result("harmless", left_out(found.export), count, WARN),
    ]
