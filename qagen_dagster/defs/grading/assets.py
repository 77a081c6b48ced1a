"""The asset that grades the answers of each combination, and its checks."""

import dagster as dg

from qagen_dagster.defs.check_results import WARN, CheckedResult, check_specs
from qagen_dagster.defs.grading import metadata
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.grading.grade_answers import in_picture
from qagen_dagster.loop.grading.report import RunMark, grade_set, grades_version
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.records.corpus import GradingOptions
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination

GROUNDING_CHECKS = {
    "grade": "The overall grade of the answers. Warns when it is below `min_grade` of the scenario.",
    "measured": "The share of answers that could not be graded; answers that only a picture can support do not "
    "count. Warns when it is above `max_not_measured` of the scenario.",
}


def build_grounding_report(partitions: Partitions) -> dg.AssetsDefinition:
    """grounding_report over the combinations."""

    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=Group.QUESTIONS,
        kinds={MODELS, "json"},
        deps=["validated_qa", "grading_config"],
        check_specs=check_specs("grounding_report", GROUNDING_CHECKS, partitions.combinations),
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

    return grounding_report


def grounding_results(options: GradingOptions, report: GroundingReport) -> list[dg.AssetCheckResult]:
    """Results of GROUNDING_CHECKS. Without a measured answer there is no grade that could be too low."""
    grade, minimum = report.overall_grade, options.min_grade
    answers = [answer for document in report.documents for answer in document.answers]
    pictures = sum(in_picture(answer) for answer in answers)
    measurable = len(answers) - pictures
    share = (report.not_measured - pictures) / measurable if measurable else 0.0
    numbers = {"not_measured": report.not_measured - pictures, "answers": measurable, "in_pictures": pictures}
    confidence = (
        {} if report.overall_confidence is None else {"confidence": round(report.overall_confidence, 4)}
    )
    return [
        dg.AssetCheckResult(
            check_name="grade",
            passed=grade is None or grade.value <= minimum.value,
            severity=WARN,
            metadata={"grade": "none" if grade is None else grade.value, "minimum": minimum.value}
            | confidence,
        ),
        dg.AssetCheckResult(
            check_name="measured",
            passed=share <= options.max_not_measured,
            severity=WARN,
            metadata=numbers | {"share_not_measured": round(share, 4), "maximum": options.max_not_measured},
        ),
    ]
