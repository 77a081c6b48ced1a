"""Checks of `grounding_report`: the grade of the answers, and how many could not be graded."""

from __future__ import annotations

import dagster as dg

from qagen_dagster.defs.check_results import WARN
from qagen_dagster.grounding.grade import letter
from qagen_dagster.loop.grading.grade_answers import in_picture
from qagen_dagster.records.corpus import GradingOptions
from qagen_dagster.records.grading import GroundingReport

GROUNDING_CHECKS = {
    "grade": "The overall grade of the answers. Warns when it is below `min_grade` of the scenario.",
    "measured": "The share of answers that could not be graded; answers that only a picture can support do not "
    "count. Warns when it is above `max_not_measured` of the scenario.",
}


def grounding_results(options: GradingOptions, report: GroundingReport) -> list[dg.AssetCheckResult]:
    """Results of GROUNDING_CHECKS. Without a measured answer there is no grade that could be too low.

    A report without a grade, because few answers were measured, is held to what these few give.
    """
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
            passed=report.overall_confidence is None
            or letter(report.overall_confidence).value <= minimum.value,
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
