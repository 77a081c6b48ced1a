"""The asset that grades the answers of each combination, its checks, and what the UI shows of grades."""

from collections import Counter
from collections.abc import Sequence
from html import escape

import dagster as dg

from qagen_dagster.defs import metadata
from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.presentation import MODELS
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.defs.spending import SpendingConfig, spending_id
from qagen_dagster.grounding.grade import letter
from qagen_dagster.loop.grading.grade_answers import coverage_lines, in_picture
from qagen_dagster.loop.grading.grade_set import HISTORY_FILE, RunMark, grade_set, grades_version
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import GradingOptions
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport, combination_of
from qagen_dagster.records.ids import Combination

_CHECKS = {
    "grade": "The overall grade of the answers. Warns when it is below `min_grade` of the scenario.",
    "measured": "The share of answers that could not be graded; answers that only a picture can support do not "
    "count. Warns when it is above `max_not_measured` of the scenario.",
}
_MOST_BARS = 25  # maximum number of documents in the chart; the least grounded are shown
_OUTCOMES = (("grounded", "#3d8a5f"), ("ungrounded", "#c0504d"), ("not measured", "#b8bcc4"))


def build_grounding_report(layout: Layout, partitions: Partitions) -> dg.AssetsDefinition:
    return layout.asset(
        grounding_report,
        partitions_def=partitions.combinations,
        kinds={MODELS, "json"},
        deps=["validated_qa", "grading_config"],
        checks=_CHECKS,
        description="Grades of the answers. They say how well the document supports each answer, and name what is "
        "not supported.",
    )


def grounding_report(
    context: dg.AssetExecutionContext, config: SpendingConfig, workspace: WorkspaceResource
) -> metadata.CheckedResult:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    run = RunMark(context.run.run_id, spending_id(context.run))
    progress = metadata.log_progress(context, "graded")
    report = grade_set(space, combination, run, config.limits, progress)
    options = space.corpus(combination.corpus).scenario(combination.scenario).grading
    checks = grounding_results(options, report)
    return metadata.materialized(of_report(space, report), grades_version(report), checks)


def grounding_results(options: GradingOptions, report: GroundingReport) -> list[dg.AssetCheckResult]:
    """Results of _CHECKS. If no answer was measured, the check `grade` passes.

    The check uses the grade of the mean confidence, even if too few answers were measured for a grade of the report.
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
        metadata.warning_result("grade", good, {"grade": shown, "minimum": minimum.value} | confidence),
        metadata.warning_result("measured", share <= options.max_not_measured, numbers),
    ]


def of_report(space: Workspace, report: GroundingReport) -> metadata.Metadata:
    """Numbers that the UI plots by partition and over time, charts, a row per document and per ungrounded answer, cost."""
    answers = [(document, answer) for document in report.documents for answer in document.answers]
    statuses = Counter(
        sentence.status.value for _, answer in answers for sentence in answer.grading.sentences
    )
    decided = coverage_lines(report.decided, report.error_rates)
    shown: metadata.Metadata = {
        metadata.ROW_COUNT: len(answers),
        "overall_grade": _letter(report),
        "grounded": report.grounded,
        "ungrounded": report.ungrounded,
        "not_measured": report.not_measured,
        "method": report.method.value,
        "judge": report.judge_model or "none",
        "decided": dg.MetadataValue.md("\n".join(f"- {line}" for line in decided)),
        "undecided": report.undecided,
        "answers": _whole(report),
        "grades": _chart(report.documents),
        "documents": _documents(report.documents),
        "sentences": metadata.bar_chart(statuses, "sentences by status"),
        "ungrounded_highlights": _highlights(report),
        "not_measured_answers": _not_measured(answers),
        "report": metadata.stored_file(
            space.store, combination_of(report).history_key(report.run_id, HISTORY_FILE)
        ),
        **metadata.cost(call for _, answer in answers for call in answer.grading.calls),
    }
    if report.overall_confidence is not None:
        shown["overall_confidence"] = round(report.overall_confidence, 4)
    return shown


def _letter(graded: GroundingReport | DocumentGrades) -> str:
    if graded.overall_grade is not None:
        return graded.overall_grade.value
    measured = graded.grounded + graded.ungrounded
    return f"{measured} of {measured + graded.not_measured} measured" if measured else "not measured"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _worst_first(documents: Sequence[DocumentGrades]) -> list[DocumentGrades]:
    return sorted(
        documents,
        key=lambda one: (1.0 if one.overall_confidence is None else one.overall_confidence, one.document_id),
    )


def _documents(documents: Sequence[DocumentGrades]) -> dg.MarkdownMetadataValue:
    rows = [
        (
            document.document_id,
            document.title,
            _letter(document),
            _number(document.overall_confidence),
            document.grounded,
            document.ungrounded,
            document.not_measured,
        )
        for document in _worst_first(documents)
    ]
    header = ("document", "title", "grade", "confidence", "grounded", "ungrounded", "not measured")
    return metadata.markdown_table(header, rows)


def _highlights(report: GroundingReport) -> dg.MarkdownMetadataValue:
    rows = [
        ("; ".join(one.reasons), one.question, one.answer, _number(one.confidence), one.document_id)
        for one in report.ungrounded_highlights
    ]
    return metadata.markdown_table(("reasons", "question", "answer", "confidence", "document"), rows)


def _not_measured(answers: Sequence[tuple[DocumentGrades, GradedAnswer]]) -> dg.MarkdownMetadataValue:
    rows: list[tuple[str, ...]] = []
    for document, answer in answers:
        if (grading := answer.grading).is_grounded is None:
            why = grading.judge_failure or "; ".join(grading.issues) or "no sentence could be measured"
            rows.append((answer.id, why, answer.question, answer.answer, document.document_id))
    return metadata.markdown_table(("id", "reason", "question", "answer", "document"), rows)


def _whole(report: GroundingReport) -> dg.MarkdownMetadataValue:
    """One bar for all answers. Its Markdown has fewer than INLINE characters, so the UI shows the bar without a click."""
    counts = (report.grounded, report.ungrounded, report.not_measured)
    parts: list[str] = []
    x = 0
    for count, (_, color) in zip(counts, _OUTCOMES, strict=True):
        width = round(metadata.CHART * count / max(1, sum(counts)))
        parts += [f'<path fill="{color}" d="M{x} 0h{width}v20H{x}z"/>'] if count else []
        x += width
    words = ", ".join(f"{count} {name}" for count, (name, _) in zip(counts, _OUTCOMES, strict=True))
    parts.append(f'<text y="36" fill="#555">{words}</text>')
    return dg.MetadataValue.md(metadata.chart(words, metadata.CHART, 40, parts))


def _chart(documents: Sequence[DocumentGrades]) -> dg.MarkdownMetadataValue:
    """For each document a bar of the same length, split into the shares of grounded, ungrounded and not measured answers."""
    shown = [one for one in _worst_first(documents) if one.answers][:_MOST_BARS]
    parts = _legend()
    for number, document in enumerate(shown):
        parts += _bar(document, 26 * number + 26)
    note = f"\n\nthe {_MOST_BARS} least grounded of {len(documents)}" if len(documents) > len(shown) else ""
    return dg.MetadataValue.md(metadata.chart("answers by document", 640, 26 * len(shown) + 30, parts) + note)


def _legend() -> list[str]:
    return [
        f'<rect x="{200 + 110 * number}" y="4" width="12" height="12" fill="{color}"/>'
        f'<text x="{217 + 110 * number}" y="14" fill="#555">{name}</text>'
        for number, (name, color) in enumerate(_OUTCOMES)
    ]


def _bar(document: DocumentGrades, y: int) -> list[str]:
    counts = (document.grounded, document.ungrounded, document.not_measured)
    name = document.document_id if len(document.document_id) <= 30 else f"{document.document_id[:29]}\u2026"
    parts = [f'<text x="192" y="{y + 15}" text-anchor="end" fill="#555">{escape(name)}</text>']
    x = 200.0
    for count, (_, color) in zip(counts, _OUTCOMES, strict=True):
        width = 330 * count / max(1, sum(counts))
        if count:
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{color}"/>')
            label = (
                f'<text x="{x + width / 2:.1f}" y="{y + 14}" text-anchor="middle" fill="#fff">{count}</text>'
            )
            parts += [label] if width > 12 else []
        x += width
    grade = f"{_letter(document)} {_number(document.overall_confidence)}"
    return [*parts, f'<text x="540" y="{y + 15}" fill="#555">{escape(grade)}</text>']
