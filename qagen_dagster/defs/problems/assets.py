"""Assets of problem sets: what the sources hold, a stage of the pipeline each (ops over shards of problems), the bank."""

import math
from collections.abc import Iterator
from typing import Any

import dagster as dg

from qagen_dagster.configuration.problems import ProblemSets, find_problem_set
from qagen_dagster.defs.automation import follow_upstream
from qagen_dagster.defs.problems import metadata
from qagen_dagster.defs.problems.checks import PROBLEM_CHECKS, problem_results
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.problems.bank import keep_sources, open_bank, plan_problem_set, publish_problem_bank
from qagen_dagster.loop.problems.plan import ProblemOptions, SetPlan
from qagen_dagster.loop.problems.run_set import run_stages
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.result import Stage

GROUP = "problems"
MOST_SHARDS = 32  # more make the run page slow and its chart unreadable
Payload = dict[str, Any]  # what ops hand on: plain JSON, so that any executor can store it
STAGES: dict[str, tuple[Stage, str, str]] = {  # asset: its stage, what it waits for, what it is
    "classifications": (Stage.CLASSIFY, "problem_sources", "What kind of question every problem is."),
    "scans": (Stage.SCAN, "classifications", "Every problem as LaTeX, from \\item to \\end{solution}."),
    "diagrams": (Stage.DIAGRAM, "scans", "TikZ code of the problems that have a diagram."),
    "ideas": (Stage.IDEA, "diagrams", "Concepts, formulas and techniques of every problem."),
    "alternates": (Stage.ALTERNATE, "ideas", "Other solutions that reach the same answer."),
    "variants": (Stage.VARIANT, "ideas", "New problems: other numbers, scenes, concepts, with calculus."),
    "conversions": (Stage.CONVERT, "ideas", "The problems in other formats."),
}


class ProblemConfig(SpendingConfig):
    """What this run may wish differently from problems.yaml; empty means as configured."""

    profile: str | None = None
    seed: int | None = None
    shard_size: int | None = None

    @property
    def options(self) -> ProblemOptions:
        return ProblemOptions(self.profile, self.seed, self.allowance)


def build_problem_assets(sets: ProblemSets) -> list[dg.AssetsDefinition]:
    """problem_sources → classifications → scans → diagrams → ideas → alternates, variants, conversions → problem_bank."""
    partitions = dg.StaticPartitionsDefinition(list(sets.sets))
    stages = [_stage(name, partitions) for name in STAGES]
    return [_problem_sources(partitions, sets), *stages, _problem_bank(partitions)]


def _problem_sources(partitions: dg.StaticPartitionsDefinition, sets: ProblemSets) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions,
        group_name=GROUP,
        kinds={"file"},
        metadata={"broken_sets": metadata.broken_sets(sets)},
        description="The problems of a set: items of TeX files, pictures, pages of PDFs.",
    )
    def problem_sources(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        space = workspace.open()
        problem_set = find_problem_set(space.settings.corpora, context.partition_key)
        found = keep_sources(space, problem_set)
        return dg.MaterializeResult(
            metadata=metadata.of_sources(space, problem_set, found),
            data_version=dg.DataVersion(fingerprint(one.model_dump_json() for one in found.problems)),
        )

    return problem_sources


def _stage(name: str, partitions: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    stage, upstream, description = STAGES[name]
    plan, run, collect = _plan_op(stage, upstream), _run_op(stage), _collect_op(stage)

    @dg.graph_asset(  # pyright: ignore[reportUnknownMemberType]
        name=name,
        partitions_def=partitions,
        group_name=GROUP,
        kinds={"llm"},
        ins={upstream: dg.AssetIn(upstream, dagster_type=dg.Nothing)},
        description=description,
    )
    def stage_asset(**inputs: Any) -> Any:
        shards, options = plan(**inputs)
        return collect(shards.map(run).collect(), options)

    return stage_asset


def _plan_op(stage: Stage, upstream: str) -> dg.OpDefinition:
    @dg.op(
        name=f"plan_{stage.value}",
        out={"shards": dg.DynamicOut(dict), "options": dg.Out(dict)},
        ins={upstream: dg.In(dg.Nothing)},
    )
    def plan_stage(
        context: dg.OpExecutionContext, config: ProblemConfig, workspace: WorkspaceResource
    ) -> Iterator[dg.DynamicOutput[Payload] | dg.Output[Payload]]:
        """Split the problems of the set; one shard is one op, a shard of one is one problem."""
        space = workspace.open()
        plan = _plan(space, context.partition_key, config.options)
        ids = [one.id for one in plan.problems]
        size = config.shard_size or space.settings.shard_size or _shard_size(len(ids), space)
        context.log.info(f"{len(ids)} problems, {size} per op, profile {plan.profile_name}")
        budget = None if config.allowance is None else config.allowance.model_dump()
        shared: Payload = {"profile": plan.profile_name, "seed": config.seed, "run_budget": budget}
        for number, start in enumerate(range(0, len(ids), size)):
            shard = shared | {"problems": ids[start : start + size]}
            yield dg.DynamicOutput(shard, f"shard_{number:04d}", output_name="shards")
        yield dg.Output(shared, output_name="options")

    return plan_stage


def _run_op(stage: Stage) -> dg.OpDefinition:
    @dg.op(name=f"run_{stage.value}", out=dg.Out(dict))
    def run_stage(context: dg.OpExecutionContext, shard: Payload, workspace: WorkspaceResource) -> Payload:
        """Do the stage for each problem of the shard; what every task gives is durable when done."""
        space = workspace.open()
        plan = _plan(space, context.partition_key, _options(shard))
        ids: list[str] = shard["problems"]

        def progress(done: int, total: int, note: str) -> None:
            context.log.info(f"{stage.value} {done} of {total}: {note}")

        outcome = run_stages(space, plan, ids, (stage,), context.run_id, progress, spending_id(context.run))
        if outcome.stopped:
            context.log.warning(f"the budget ended: {len(outcome.stopped)} problems go on in the next run")
        if outcome.failed:
            raise dg.Failure(
                f"{len(outcome.failed)} of {len(ids)} problems failed; the others are kept, a rerun tries only these",
                metadata={name: why[:500] for name, why in sorted(outcome.failed.items())[:50]},
            )
        return {"finished": len(outcome.finished)}

    return run_stage


def _collect_op(stage: Stage) -> dg.OpDefinition:
    @dg.op(name=f"collect_{stage.value}", out=dg.Out(dg.Nothing))
    def collect_stage(
        context: dg.OpExecutionContext,
        shards: list[Payload],
        options: Payload,
        workspace: WorkspaceResource,
    ) -> Iterator[dg.Output[None]]:
        """Gather what the stage gave."""
        space = workspace.open()
        plan = _plan(space, context.partition_key, _options(options))
        bank = open_bank(space, plan)
        tasks = [task for one in bank.problems for task in one.tasks if task.task.stage is stage]
        fresh = sum(shard["finished"] for shard in shards)
        yield dg.Output(
            None,
            metadata=metadata.of_stage(space, plan, bank, stage, fresh),
            data_version=dg.DataVersion(fingerprint(one.fingerprint + one.end.value for one in tasks)),
        )

    return collect_stage


def _problem_bank(partitions: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions,
        group_name=GROUP,
        kinds={"json"},
        deps=["alternates", "variants", "conversions"],
        automation_condition=follow_upstream(),
        check_specs=PROBLEM_CHECKS,
        description="All problems of a set with what was made of them, and as files of other programs.",
    )
    def problem_bank(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: ProblemConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        space = workspace.open()
        plan = _plan(space, context.partition_key, config.options)
        found = publish_problem_bank(space, plan, context.run.run_id)
        return dg.MaterializeResult(
            metadata=metadata.of_bank(space, found),
            check_results=problem_results(found),
            data_version=dg.DataVersion(fingerprint(one.model_dump_json() for one in found.export.items)),
        )

    return problem_bank


def _plan(space: Workspace, key: str, options: ProblemOptions) -> SetPlan:
    return plan_problem_set(space, find_problem_set(space.settings.corpora, key), options)


def _shard_size(problems: int, space: Workspace) -> int:
    """Wide enough that problems of an op run side by side, few enough ops that the run page stays readable."""
    return max(space.settings.document_workers, math.ceil(problems / MOST_SHARDS))


def _options(values: Payload) -> ProblemOptions:
    budget = values["run_budget"]
    wished = None if budget is None else Allowance.model_validate(budget)
    return ProblemOptions(values["profile"], values["seed"], wished)
