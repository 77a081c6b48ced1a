"""The asset that grades each combination's answers, and its checks."""

import dagster as dg

from qagen_dagster.defs.automation import follow_upstream
from qagen_dagster.defs.grading import metadata
from qagen_dagster.defs.metadata import log_progress
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.questions.assets import GROUP
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.loop.grading.grade_answers import in_picture
from qagen_dagster.loop.grading.report import RunMark, grade_set, report_version
from qagen_dagster.models.vectors import minilm
from qagen_dagster.records.corpus import GradingOptions
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination

GROUNDING_CHECKS = [
    dg.AssetCheckSpec(
        "grade", asset="grounding_report", description="The overall grade; warns below min_grade."
    ),
    dg.AssetCheckSpec(
        "measured",
        asset="grounding_report",
        description="Share of answers that could not be measured, those proven by pictures aside; "
        "warns above max_not_measured.",
    ),
]


def build_grounding_report(partitions: Partitions) -> dg.AssetsDefinition:
    """grounding_report over the combinations."""

    @dg.asset(
        partitions_def=partitions.combinations,
        group_name=GROUP,
        kinds={"json"},
        deps=["validated_qa"],
        automation_condition=follow_upstream(),
        check_specs=GROUNDING_CHECKS,
        description="How well each answer rests on its document: grades, confidence, and what is not grounded.",
    )
    def grounding_report(  # pyright: ignore[reportUnknownParameterType]
        context: dg.AssetExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:  # pyright: ignore[reportMissingTypeArgument]
        space, combination = workspace.open(), Combination.from_key(context.partition_key)
        run = RunMark(context.run.run_id, spending_id(context.run))
        progress = log_progress(context, "graded")
        report = grade_set(space, combination, minilm.encode, run, config.allowance, progress)
        options = space.corpus(combination.corpus).scenario(combination.scenario).grading
        return dg.MaterializeResult(
            metadata=metadata.of_report(space, report),
            check_results=grounding_results(options, report),
            data_version=dg.DataVersion(report_version(report)),
        )

    return grounding_report


def grounding_results(options: GradingOptions, report: GroundingReport) -> list[dg.AssetCheckResult]:
    """Results of GROUNDING_CHECKS. What was not measured at all has no grade that could be too low."""
    grade, wanted = report.overall_grade, options.min_grade
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
            passed=grade is None or grade.value <= wanted.value,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"grade": "none" if grade is None else grade.value, "wanted": wanted.value} | confidence,
        ),
        dg.AssetCheckResult(
            check_name="measured",
            passed=share <= options.max_not_measured,
            severity=dg.AssetCheckSeverity.WARN,
            metadata=numbers | {"share_not_measured": round(share, 4), "allowed": options.max_not_measured},
        ),
    ]
