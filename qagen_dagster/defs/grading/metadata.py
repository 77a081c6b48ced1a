"""What the UI shows of grades: numbers over time, documents, what is not grounded and why. Presentation only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

import dagster as dg

from qagen_dagster.defs.metadata import Metadata, bar_chart, data_uri, markdown_table, path
from qagen_dagster.defs.questions.metadata import cost
from qagen_dagster.loop.grading.report import HISTORY_FILE
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.grading import DocumentGrades, GradedAnswer, GroundingReport, combination_of

MOST_BARS = 25  # documents in the chart, the least grounded first
_PARTS = (("grounded", "#3d8a5f"), ("ungrounded", "#c0504d"), ("not measured", "#b8bcc4"))


def of_report(space: Workspace, report: GroundingReport) -> Metadata:
    """Numbers that plot by partition and over time, a chart, a row per document and per ungrounded answer, cost."""
    answers = [(one, answer) for one in report.documents for answer in one.answers]
    statuses = Counter(
        sentence.status.value for _, answer in answers for sentence in answer.grading.sentences
    )
    shown: Metadata = {
        "dagster/row_count": dg.MetadataValue.int(len(answers)),
        "overall_grade": dg.MetadataValue.text(_letter(report)),
        "grounded": dg.MetadataValue.int(report.grounded),
        "ungrounded": dg.MetadataValue.int(report.ungrounded),
        "not_measured": dg.MetadataValue.int(report.not_measured),
        "method": dg.MetadataValue.text(report.method.value),
        "judge": dg.MetadataValue.text(report.judge_model or "none"),
        "undecided": dg.MetadataValue.int(report.undecided),
        "answers": _whole(report),
        "grades": _chart(report.documents),
        "documents": _documents(report.documents),
        "sentences": bar_chart(statuses, "sentences by status"),
        "ungrounded_highlights": _highlights(report),
        "not_measured_answers": _not_measured(answers),
        "report": path(space.store.path(combination_of(report).history_key(report.run_id, HISTORY_FILE))),
        **cost(call for _, answer in answers for call in answer.grading.calls),
    }
    if report.overall_confidence is not None:
        shown["overall_confidence"] = dg.MetadataValue.float(round(report.overall_confidence, 4))
    return shown


def _letter(one: GroundingReport | DocumentGrades) -> str:
    return "not measured" if one.overall_grade is None else one.overall_grade.value


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
            one.document_id,
            one.title,
            _letter(one),
            _number(one.overall_confidence),
            one.grounded,
            one.ungrounded,
            one.not_measured,
        )
        for one in _worst_first(documents)
    ]
    header = ("document", "title", "grade", "confidence", "grounded", "ungrounded", "not measured")
    return markdown_table(header, rows)


def _highlights(report: GroundingReport) -> dg.MarkdownMetadataValue:
    rows = [
        (one.document_id, one.question, one.answer, _number(one.confidence), "; ".join(one.reasons))
        for one in report.ungrounded_highlights
    ]
    return markdown_table(("document", "question", "answer", "confidence", "reasons"), rows)


def _not_measured(answers: Sequence[tuple[DocumentGrades, GradedAnswer]]) -> dg.MarkdownMetadataValue:
    rows = [
        (one.document_id, answer.question, answer.answer, _why(answer))
        for one, answer in answers
        if answer.grading.is_grounded is None
    ]
    return markdown_table(("document", "question", "answer", "why"), rows)


def _why(answer: GradedAnswer) -> str:
    grading = answer.grading
    return grading.judge_failure or "; ".join(grading.issues) or "no sentence that could be measured"


def _whole(report: GroundingReport) -> dg.MarkdownMetadataValue:
    """One bar of all answers, short enough (1,000 characters) that the UI shows it without a click."""
    counts = (report.grounded, report.ungrounded, report.not_measured)
    parts: list[str] = []
    x = 0
    for count, (_, color) in zip(counts, _PARTS, strict=True):
        width = round(430 * count / max(1, sum(counts)))
        parts += [f'<path fill="{color}" d="M{x} 0h{width}v20H{x}z"/>'] if count else []
        x += width
    words = ", ".join(f"{count} {name}" for count, (name, _) in zip(counts, _PARTS, strict=True))
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="430" height="40" font-family="sans-serif" font-size="12">'
        f'{"".join(parts)}<text y="36" fill="#555">{words}</text></svg>'
    )
    return dg.MetadataValue.md(f"![{words}]({data_uri('image/svg+xml', svg.encode())})")


def _chart(documents: Sequence[DocumentGrades]) -> dg.MarkdownMetadataValue:
    """A bar per document, of one length: what share of its answers is grounded, ungrounded, not measured."""
    shown = [one for one in _worst_first(documents) if one.answers][:MOST_BARS]
    height = 26 * len(shown) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" font-family="sans-serif" font-size="12">',
        "<title>answers by document</title>",
        *_legend(),
    ]
    for number, one in enumerate(shown):
        parts += _bar(one, 26 * number + 26)
    svg = "".join((*parts, "</svg>"))
    note = f"\n\nthe {MOST_BARS} least grounded of {len(documents)}" if len(documents) > len(shown) else ""
    return dg.MetadataValue.md(f"![answers by document]({data_uri('image/svg+xml', svg.encode())}){note}")


def _legend() -> list[str]:
    return [
        f'<rect x="{200 + 110 * number}" y="4" width="12" height="12" fill="{color}"/>'
        f'<text x="{217 + 110 * number}" y="14" fill="#555">{name}</text>'
        for number, (name, color) in enumerate(_PARTS)
    ]


def _bar(one: DocumentGrades, y: int) -> list[str]:
    counts = (one.grounded, one.ungrounded, one.not_measured)
    name = one.document_id if len(one.document_id) <= 30 else f"{one.document_id[:29]}\u2026"
    parts = [f'<text x="192" y="{y + 15}" text-anchor="end" fill="#555">{escape(name)}</text>']
    x = 200.0
    for count, (_, color) in zip(counts, _PARTS, strict=True):
        width = 330 * count / max(1, sum(counts))
        if count:
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{color}"/>')
            label = (
                f'<text x="{x + width / 2:.1f}" y="{y + 14}" text-anchor="middle" fill="#fff">{count}</text>'
            )
            parts += [label] if width > 12 else []
        x += width
    grade = f"{_letter(one)} {_number(one.overall_confidence)}"
    return [*parts, f'<text x="540" y="{y + 15}" fill="#555">{escape(grade)}</text>']
