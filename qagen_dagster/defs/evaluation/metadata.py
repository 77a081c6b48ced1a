"""What the UI shows of evaluations: numbers that plot over runs, charts, tables, earlier runs. Presentation only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import dagster as dg

from qagen_dagster.defs.metadata import Metadata, bar_chart, data_uri, markdown_table, path
from qagen_dagster.defs.questions.metadata import cost
from qagen_dagster.loop.evaluation.published_set import earlier_reports
from qagen_dagster.loop.evaluation.retrieval_scores import CUTS, GAIN_CUT, NAMES, placed
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.evaluation import (
    AnswerReport,
    BaselineAnswer,
    ClosedBookAnswer,
    ClosedBookReport,
    EvaluationReport,
    RetrievalReport,
    RetrievedQuestion,
)
from qagen_dagster.records.index import Ranking
from qagen_dagster.store import Keys

MOST_RUNS = 20  # earlier runs in the table
SECONDS = 19  # characters of a time that a person reads
_COLORS = {"bm25": "#b8bcc4", "embedding": "#4f7cac", "fused": "#3d8a5f"}
_LEVELS = ("document", "evidence")


def of_closed_book(space: Workspace, report: ClosedBookReport) -> Metadata:
    """How many questions a model answers without their document, and which."""
    ends = Counter(_closed_end(one) for one in report.questions)
    rows = [
        (
            _closed_end(one),
            one.question,
            one.answer,
            one.given,
            one.explanation or one.failure,
            one.question_id,
        )
        for one in sorted(report.questions, key=_closed_order)
        if one.leaked is not False or one.given
    ]
    header = ("end", "question", "answer", "given without the document", "why", "id")
    return {
        **_numbers(report),
        "answers": bar_chart(ends, "answers without the document"),
        "questions": markdown_table(header, rows),
        **_common(space, report, ("leaked_share", "leaked", "undecided")),
    }


def of_retrieval(space: Workspace, report: RetrievalReport) -> Metadata:
    """How often search finds documents and evidence, by ranking, and the questions it finds worst."""
    shown = {name: value for name, value in report.metrics.items() if name.startswith("fused_")}
    shown |= {name: value for name, value in report.metrics.items() if name.endswith("recall_at_5")}
    return {
        "dagster/row_count": dg.MetadataValue.int(len(report.questions)),
        "failed": dg.MetadataValue.int(report.failed),
        **{name: dg.MetadataValue.float(value) for name, value in shown.items()},
        "embedder": dg.MetadataValue.text(report.model),
        "recall": _recall_chart(report.metrics),
        "measures": _measures(report.metrics),
        "worst_found": _worst_found(report.questions),
        **_common(
            space, report, ("fused_document_recall_at_5", "fused_evidence_recall_at_5", "fused_document_mrr")
        ),
    }


def of_answers(space: Workspace, report: AnswerReport) -> Metadata:
    """How well questions are answered from their own document, and the worst answers."""
    bands = Counter(_band(one) for one in report.questions)
    rows = [
        (
            "" if one.f1 is None else f"{one.f1:.2f}",
            _grounded(one),
            one.question,
            one.answer,
            one.given,
            one.failure,
            one.document_id,
        )
        for one in sorted(
            report.questions, key=lambda one: (-1.0 if one.f1 is None else one.f1, one.question_id)
        )
    ]
    header = ("F1", "grounded", "question", "answer", "given from the document", "failure", "document")
    return {
        **_numbers(report),
        "answers": bar_chart(bands, "answers by token F1"),
        "questions": markdown_table(header, rows),
        **_common(space, report, ("exact_match", "token_f1", "grounded_share")),
    }


def _numbers(report: EvaluationReport[Any]) -> Metadata:
    return {
        "dagster/row_count": dg.MetadataValue.int(len(report.questions)),
        "failed": dg.MetadataValue.int(report.failed),
        **{name: dg.MetadataValue.float(value) for name, value in report.metrics.items() if name != "failed"},
        "profile": dg.MetadataValue.text(report.profile),
        "model": dg.MetadataValue.text(report.model),
        "judge": dg.MetadataValue.text(report.judge_model or "none"),
    }


def _common(space: Workspace, report: EvaluationReport[Any], telling: Sequence[str]) -> Metadata:
    """What every evaluation ends with: cost, earlier runs, the file."""
    runs = earlier_reports(space.store, type(report), report.combination, report.kind)[:MOST_RUNS]
    rows = [
        (
            one.created[:SECONDS],
            one.run_id[:8],
            one.profile,
            one.model,
            len(one.questions),
            *(_cell(one, name) for name in telling),
        )
        for one in runs
    ]
    key = Keys.history(report.combination, report.run_id, f"{report.kind.value}.json")
    return {
        "asked_again": dg.MetadataValue.int(report.unheard),
        "runs": markdown_table(("when (UTC)", "run", "profile", "model", "questions", *telling), rows),
        "report": path(space.store.path(key)),
        **cost(call for one in report.questions for call in one.calls),
    }


def _cell(report: EvaluationReport[Any], name: str) -> str:
    value = report.metrics.get(name)
    return "not measured" if value is None else f"{value:g}"


def _closed_end(one: ClosedBookAnswer) -> str:
    if one.leaked is None:
        return "undecided"
    return "leaked" if one.leaked else "wrong" if one.given and one.decided != "unknown" else "unknown"


def _closed_order(one: ClosedBookAnswer) -> tuple[int, str]:
    return ("leaked", "undecided", "wrong", "unknown").index(_closed_end(one)), one.question_id


def _band(one: BaselineAnswer) -> str:
    if one.f1 is None:
        return "no answer"
    return (
        "exact" if one.exact else "from .5" if one.f1 >= 0.5 else "below .5" if one.f1 else "nothing shared"
    )


def _grounded(one: BaselineAnswer) -> str:
    said = None if one.grading is None else one.grading.is_grounded
    return "" if said is None else "yes" if said else "no"


def _measures(metrics: Mapping[str, float]) -> dg.MarkdownMetadataValue:
    measures = (*(f"recall_at_{cut}" for cut in CUTS), "mrr", f"ndcg_at_{GAIN_CUT}")
    rows = [
        (level, name, *(_share(metrics.get(f"{name}_{level}_{measure}")) for measure in measures))
        for level in _LEVELS
        for name in NAMES.values()
    ]
    return markdown_table(("of", "ranking", *measures), rows)


def _worst_found(questions: Iterable[RetrievedQuestion]) -> dg.MarkdownMetadataValue:
    """Questions by the place of their document, the last first, those that could not be searched for before all."""
    found = [(one, placed(one.placements, Ranking.BOTH)) for one in questions]
    late = [(one, place) for one, place in found if place is None or place.document != 1]
    late.sort(key=lambda item: (item[1] is not None, -(item[1].document or 10_000) if item[1] else 0))
    rows = [
        (
            "" if place is None else place.document or "not found",
            "" if place is None else ", ".join("-" if at is None else str(at) for at in place.evidence),
            one.question,
            one.document_id,
            one.failure,
        )
        for one, place in late
    ]
    return markdown_table(("document", "evidence", "question", "of document", "why not"), rows)


def _recall_chart(metrics: Mapping[str, float]) -> dg.MarkdownMetadataValue:
    """Bars of recall at each cut, a colour per ranking, for documents and for evidence."""
    groups = [(f"{level}, first {cut}", f"{level}_recall_at_{cut}") for level in _LEVELS for cut in CUTS]
    height = 54 * len(groups) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="560" height="{height}" font-family="sans-serif" font-size="12">',
        "<title>recall over the corpus</title>",
    ]
    for number, (name, color) in enumerate(_COLORS.items()):
        x = 140 + 110 * number
        parts.append(f'<rect x="{x}" y="4" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{x + 17}" y="14" fill="#555">{name}</text>')
    for number, (label, measure) in enumerate(groups):
        parts += _group(label, {name: metrics.get(f"{name}_{measure}") for name in _COLORS}, 54 * number + 30)
    svg = "".join((*parts, "</svg>"))
    return dg.MetadataValue.md(f"![recall over the corpus]({data_uri('image/svg+xml', svg.encode())})")


def _group(label: str, values: Mapping[str, float | None], top: int) -> list[str]:
    parts = [f'<text x="132" y="{top + 28}" text-anchor="end" fill="#555">{escape(label)}</text>']
    for row, (name, value) in enumerate(values.items()):
        y, width = top + 15 * row, round(330 * (value or 0.0))
        parts.append(f'<rect x="140" y="{y}" width="{max(1, width)}" height="13" fill="{_COLORS[name]}"/>')
        parts.append(
            f'<text x="{146 + width}" y="{y + 11}" fill="#555">{_share(value) or "not measured"}</text>'
        )
    return parts


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
