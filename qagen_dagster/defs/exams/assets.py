"""Assets of exams: the schemas of an exam, ideas and items per part, the bank with its exports."""

from datetime import UTC, datetime

import dagster as dg

from qagen_dagster.configuration.exams.loading import find_exam
from qagen_dagster.defs.automation import follow_upstream
from qagen_dagster.defs.exams import metadata
from qagen_dagster.defs.exams.checks import BANK_CHECKS, bank_results
from qagen_dagster.defs.exams.partitions import ExamPartitions
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.exams.bank import keep_part, publish_bank, schema_library
from qagen_dagster.loop.exams.plan import ExamOptions, plan_part
from qagen_dagster.loop.exams.run_part import PartOutcome, design_part, part_plans, part_results, run_part
from qagen_dagster.records.difficulty import Difficulty
from qagen_dagster.records.exams.item import (
    ExamPart,
)
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.store import Keys

GROUP = "exams"


class ExamRunConfig(SpendingConfig):
    """What this run may wish differently from exam.yaml; empty means as configured. `items` are of the whole exam."""

    profile: str | None = None
    items: int | None = None
    seed: int | None = None
    weights: dict[str, float] | None = None  # easy, medium, hard
    schema_prefixes: list[str] | None = None
    max_designer_retries: int | None = None
    max_implementer_retries: int | None = None
    models: dict[str, str] | None = None  # role to model or provider:model

    @property
    def options(self) -> ExamOptions:
        """Raises ConfigError for a weight of an unknown difficulty."""
        known = {one.value: one for one in Difficulty}
        for name in set(self.weights or {}) - set(known):
            raise ConfigError(f"weights: there is no difficulty {name!r} (there are: {', '.join(known)})")
        return ExamOptions(
            profile=self.profile,
            n_items=self.items,
            seed=self.seed,
            weights={known[name]: share for name, share in (self.weights or {}).items()} or None,
            schema_prefixes=tuple(self.schema_prefixes) if self.schema_prefixes else None,
            max_designer_retries=self.max_designer_retries,
            max_implementer_retries=self.max_implementer_retries,
            models=self.models or {},
            run_budget=self.allowance,
        )


def build_exam_assets(partitions: ExamPartitions) -> list[dg.AssetsDefinition]:
    """exam_schemas → idea_plans → exam_items → item_bank."""
    return [
        _exam_schemas(partitions),
        _idea_plans(partitions),
        _exam_items(partitions),
        _item_bank(partitions),
    ]


def _exam_schemas(partitions: ExamPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.exams,
        group_name=GROUP,
        kinds={"markdown"},
        description="The schema library of an exam: kinds of reasoning, each with its wrong paths.",
    )
    def exam_schemas(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        space = workspace.open()
        exam = find_exam(space.settings.corpora, context.partition_key)
        library = schema_library(exam)
        space.store.write_if_changed(Keys.exam_file(exam.key, "schemas.json"), library)
        return dg.MaterializeResult(
            metadata=metadata.of_schemas(exam),
            data_version=dg.DataVersion(fingerprint([library.decode(), exam.config.model_dump_json()])),
        )

    return exam_schemas


def _idea_plans(partitions: ExamPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.parts,
        group_name=GROUP,
        kinds={"llm"},
        deps=[dg.AssetDep("exam_schemas", partition_mapping=partitions.fan_out)],
        description="The reasoning idea of every item of a part, without numbers.",
    )
    def idea_plans(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: ExamRunConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        space = workspace.open()
        plan = plan_part(space, ExamPart.from_key(context.partition_key), config.options)
        context.log.info(f"{plan.slots} ideas, seed {plan.seed}, profile {plan.profile_name}")
        progress, money = log_progress(context, "designed"), spending_id(context.run)
        outcome = design_part(space, plan, context.run.run_id, progress, money)
        found = part_plans(space, plan)
        _told(context, outcome, "ideas", fatal=not any(one.plan for one in found))
        return dg.MaterializeResult(
            metadata=metadata.of_ideas(plan, found),
            data_version=dg.DataVersion(fingerprint(one.model_dump_json() for one in found)),
        )

    return idea_plans


def _exam_items(partitions: ExamPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.parts,
        group_name=GROUP,
        kinds={"llm"},
        deps=["idea_plans"],
        description="Questions implemented, proven, solved blind, verified and judged; each accepted or rejected.",
    )
    def exam_items(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: ExamRunConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        space, started = workspace.open(), datetime.now(UTC).isoformat()
        plan = plan_part(space, ExamPart.from_key(context.partition_key), config.options)
        progress, money = log_progress(context, "worked"), spending_id(context.run)
        outcome = run_part(space, plan, context.run.run_id, progress, money)
        keep_part(space, plan, context.run.run_id, started)
        _told(context, outcome, "items")
        results = part_results(space, plan)
        return dg.MaterializeResult(
            metadata=metadata.of_items(plan, results, len(outcome.reused)),
            data_version=dg.DataVersion(fingerprint(one.model_dump_json() for one in results)),
        )

    return exam_items


def _item_bank(partitions: ExamPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.exams,
        group_name=GROUP,
        kinds={"json"},
        deps=[dg.AssetDep("exam_items", partition_mapping=partitions.fan_in)],
        automation_condition=follow_upstream(),
        check_specs=BANK_CHECKS,
        description="All accepted items of an exam without repeats, with statistics, and as files of other programs.",
    )
    def item_bank(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        space = workspace.open()
        found = publish_bank(space, context.partition_key, context.run.run_id)
        exam = find_exam(space.settings.corpora, context.partition_key)
        return dg.MaterializeResult(
            metadata=metadata.of_bank(exam, found),
            check_results=bank_results(found),
            data_version=dg.DataVersion(fingerprint(item.model_dump_json() for item in found.bank.items)),
        )

    return item_bank


def _told(context: dg.AssetExecutionContext, outcome: PartOutcome, what: str, *, fatal: bool = True) -> None:
    """Say how a part ended. Raises Failure when a slot failed, unless others can go on without it."""
    if outcome.stopped:
        context.log.warning(f"the budget ended: {len(outcome.stopped)} {what} go on in the next run")
    if outcome.failed and not fatal:
        context.log.warning(f"{len(outcome.failed)} {what} failed and are tried again: {outcome.failed}")
    elif outcome.failed:
        raise dg.Failure(
            f"{len(outcome.failed)} {what} failed; the others are kept, a rerun tries only these",
            metadata={str(slot): why[:500] for slot, why in sorted(outcome.failed.items())[:50]},
        )
