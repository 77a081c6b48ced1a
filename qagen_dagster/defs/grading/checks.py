"""Checks of `grounding_report`: the grade of the answers, and how many could not be graded."""

import dagster as dg

from qagen_dagster.defs.check_results import warning_result
from qagen_dagster.grounding.grade import letter
from qagen_dagster.loop.grading.grade_answers import in_picture
from qagen_dagster.records.corpus_config import GradingOptions
from qagen_dagster.records.grading import GroundingReport

GROUNDING_CHECKS = {
    "grade": "The overall grade of the answers. Warns when it is below `min_grade` of the scenario.",
    "measured": "The share of answers that could not be graded; answers that only a picture can support do not "
    "count. Warns when it is above `max_not_measured` of the scenario.",
}


def grounding_results(options: GradingOptions, report: GroundingReport) -> list[dg.AssetCheckResult]:
    """Results of GROUNDING_CHECKS. If no answer was measured, `grade` passes.

    If too few answers were measured for a grade of the report, `grade` uses the grade that their mean confidence would give.
    """
    grade, minimum = report.overall_grade, options.min_grade
    answers = [answer for document in report.documents for answer in document.answers]
    pictures = sum(in_picture(answer) for answer in answers)
    measurable = len(answers) - pictures
    share = (report.not_measured - pictures) / measurable if measurable else 0.0
    numbers = {
        "not_measured": report.not_measured - pictures,
        "answers": measurable,
        "in_pictures": pictures,
        "share_not_measured": round(share, 4),
        "maximum": options.max_not_measured,
    }
    mean, shown = report.overall_confidence, "none" if grade is None else grade.value
    good = mean is None or letter(mean).value <= minimum.value
    confidence = {} if mean is None else {"confidence": round(mean, 4)}
    return [
        warning_result("grade", good, {"grade": shown, "minimum": minimum.value} | confidence),
        warning_result("measured", share <= options.max_not_measured, numbers),
    ]
