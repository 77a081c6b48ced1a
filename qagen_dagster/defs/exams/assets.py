"""Assets of exams: the schemas of an exam, ideas and items per part, the bank with its exports and checks."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from pydantic import Field

from qagen_dagster.configuration.exams import find_exam
from qagen_dagster.defs.exams import metadata
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import WARN, CheckedResult, failing_result, log_progress, materialized, uri
from qagen_dagster.defs.partitions import ExamPartitions
from qagen_dagster.defs.presentation import MODELS, PUBLISHED
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.shards import close
from qagen_dagster.defs.spending import ModelConfig, spending_id
from qagen_dagster.loop.exams.bank import Bank, keep_part, publish_bank, schema_library
from qagen_dagster.loop.exams.plan import ExamOptions, plan_part
from qagen_dagster.loop.exams.responses import latest_statistics, sittings
from qagen_dagster.loop.exams.run_part import part_plans, part_results, run_part
from qagen_dagster.publishing.markup import FORMULAS, mathml, split
from qagen_dagster.records.exams.bank import ExamItem, ItemBank, ProofStatus
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.records.ids import fingerprint, normalise

_CHECKS = {
    "keys_confirmed": "Fails when the verifier, which does not see the key, found another one, or when the "
    "computation refutes the key.",
    "no_duplicates": "Fails when two items have the same stem, or two options of an item are equal.",
    "verifier_differs": "Fails when an item was verified by the model that implemented it.",
    "formulas_can_be_set": "Warns when a formula in a stem or an option cannot be typeset.",
}


class ExamRunConfig(ModelConfig, ExamOptions):
    """The settings of exam.yaml that a launch may override. Fields that are not set keep their configured value."""


class BankConfig(dg.Config):
    """The option of a launch that makes the bank."""

    replace: bool = Field(False, description="Remove items of schemas and difficulties that are removed.")


def build_exam_assets(layout: Layout, partitions: ExamPartitions) -> list[dg.AssetsDefinition]:
    """The assets of exams: exam_schemas → idea_plans → exam_items → item_bank."""
    return [
        layout.asset(
            exam_schemas,
            partitions_def=partitions.exams,
            kinds={"markdown"},
            description="The schemas of an exam. They are kinds of reasoning, each with the mistakes that lead to wrong options.",
        ),
        layout.asset(
            idea_plans,
            partitions_def=partitions.parts,
            kinds={MODELS},
            deps=[("exam_schemas", partitions.fan_out), "exam_config"],
            description="The ideas of the items of a part. An idea says what the item asks, and which mistakes lead to its "
            "wrong options. "
            "A failed design is a warning; the asset fails only when no idea was designed.",
        ),
        layout.asset(
            exam_items,
            partitions_def=partitions.parts,
            kinds={MODELS},
            deps=["idea_plans", "exam_config"],
            description="The items of a part, accepted or rejected. Each was implemented, its key computed, solved without the "
            "key, verified, and judged for style. Fails when a model fails on an item; a rerun works only on the failed items.",
        ),
        layout.asset(
            item_bank,
            partitions_def=partitions.exams,
            kinds={PUBLISHED, "json"},
            deps=[("exam_items", partitions.fan_in)],
            checks=_CHECKS,
            description="The item bank: the result of an exam. It has all accepted items without duplicates, statistics, and "
            "exports to other formats.",
        ),
    ]


def exam_schemas(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space = workspace.open()
    exam = find_exam(space.settings.corpora, context.partition_key)
    library = schema_library(exam)
    space.store.write_if_changed(ItemBank.file_key(exam.key, "schemas.json"), library)
    version = fingerprint([library.decode(), exam.config.model_dump_json()])
    return materialized(metadata.of_schemas(exam), version)


def idea_plans(
    context: dg.AssetExecutionContext, config: ExamRunConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space = workspace.open()
    plan = plan_part(space, ExamPart.from_key(context.partition_key), config)
    context.log.info(f"{plan.slots} ideas, seed {plan.seed}, profile {plan.profile_name}")
    progress, money = log_progress(context, "designed idea"), spending_id(context.run)
    outcome = run_part(space, plan, context.run.run_id, progress, money, design_only=True)
    found = part_plans(space, plan)
    close(context.log, outcome, plan.slots, "ideas", fatal=not any(one.plan for one in found))
    return materialized(metadata.of_ideas(plan, found), found)


def exam_items(
    context: dg.AssetExecutionContext, config: ExamRunConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space, started = workspace.open(), datetime.now(UTC).isoformat()
    plan = plan_part(space, ExamPart.from_key(context.partition_key), config)
    progress, money = log_progress(context, "completed item"), spending_id(context.run)
    outcome = run_part(space, plan, context.run.run_id, progress, money)
    close(context.log, outcome, plan.slots, "items")
    keep_part(space, plan, context.run.run_id, started)
    results = part_results(space, plan)
    return materialized(metadata.of_items(plan, results, len(outcome.reused)), results)


def item_bank(
    context: dg.AssetExecutionContext, config: BankConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space = workspace.open()
    found = publish_bank(space, context.partition_key, context.run.run_id, replace=config.replace)
    exam = find_exam(space.settings.corpora, context.partition_key)
    shown = metadata.of_bank(exam, found, latest_statistics(sittings(space, exam.key)))
    shown |= uri(space.store, ItemBank.file_key(exam.key, "accepted.jsonl"), "exam_items")
    return materialized(shown, found.bank.items, _bank_results(found))


def _bank_results(found: Bank) -> list[dg.AssetCheckResult]:
    items = found.bank.items
    wrong = [item.id for item in items if not _confirmed(item)]
    stems = Counter(normalise(item.question.stem) for item in items)
    twice = [item.id for item in items if stems[normalise(item.question.stem)] > 1]
    twice += [one.id for one in items if len({*one.question.options.values()}) < len(one.question.options)]
    same = [item.id for item in items if item.models.get("verifier") == item.models.get("implementer")]
    unset = [item.id for item in items if not _can_be_set(item)]
    proven = sum(item.proof.status is ProofStatus.PROVEN for item in items)
    count = {"items": len(items)}
    return [
        failing_result("keys_confirmed", wrong, count | {"also_computed_by_the_form": proven}),
        failing_result("no_duplicates", [*dict.fromkeys(twice)], count),
        failing_result("verifier_differs", same, count),
        failing_result("formulas_can_be_set", unset, count, WARN),
    ]


def _confirmed(item: ExamItem) -> bool:
    unsolved = bool(item.edited) and not item.blind_solution.right
    reached = unsolved or item.blind_solution.right == (item.question.correct_option,)
    return reached and item.proof.status is not ProofStatus.REFUTED


def _can_be_set(item: ExamItem) -> bool:
    texts = (item.question.stem, *item.question.options.values())
    formulas = (segment for text in texts for segment in split(text) if segment.kind in FORMULAS)
    return all(mathml(segment.text) is not None for segment in formulas)
