"""The asset that grades the answers of each combination."""

import dagster as dg

from qagen_dagster.defs.check_results import CheckedResult
from qagen_dagster.defs.grading import metadata
from qagen_dagster.defs.grading.checks import GROUNDING_CHECKS, grounding_results
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.grading.report import RunMark, grade_set, grades_version
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.records.ids import Combination


def build_grounding_report(layout: Layout, partitions: Partitions) -> dg.AssetsDefinition:
    return layout.asset(
        grounding_report,
        Group.QUESTIONS,
        partitions_def=partitions.combinations,
        kinds={MODELS, "json"},
        deps=["validated_qa", "grading_config"],
        checks=GROUNDING_CHECKS,
        description="Grades of the answers. They say how well the document supports each answer, and name what is "
        "not supported.",
    )


def grounding_report(
    context: dg.AssetExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
) -> CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    run = RunMark(context.run.run_id, spending_id(context.run))
    progress = log_progress(context, "graded")
    report = grade_set(space, combination, run, config.allowance, progress)
    options = space.corpus(combination.corpus).scenario(combination.scenario).grading
    return dg.MaterializeResult(
        metadata=metadata.of_report(space, report),
        check_results=grounding_results(options, report),
        data_version=dg.DataVersion(grades_version(report)),
    )
