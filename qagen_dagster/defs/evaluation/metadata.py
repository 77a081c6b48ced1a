"""The metadata of evaluations for the UI: numbers that the UI plots over runs, tables, and earlier runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from qagen_dagster.defs.metadata import ROW_COUNT, Metadata, cost, markdown_table, stored_file
from qagen_dagster.loop.evaluation.ranking_measures import CUTS, GAIN_CUT, NAMES, UNTITLED, placed
from qagen_dagster.loop.evaluation.run_questions import earlier_reports
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records import evaluation
from qagen_dagster.records.document import Ranking

MOST_RUNS = 20  # maximum number of runs in the table
SECONDS = 19  # characters of an ISO 8601 time up to its seconds
_LEVELS = ("document", "evidence")
_CLOSED_ENDS = ("leaked", "undecided", "wrong", "unknown")  # in the order of the table


def of_closed_book(space: Workspace, report: evaluation.ClosedBookReport) -> Metadata:
    """The share of leaked questions, and a row for each question that was answered or is undecided, leaked questions first."""
    rows = [
        (
            question.question_id,
            _closed_end(question),
            question.question,
            question.answer,
            question.given,
            question.explanation or question.failure,
        )
        for question in sorted(
            report.questions, key=lambda one: (_CLOSED_ENDS.index(_closed_end(one)), one.question_id)
        )
        if question.leaked is not False or question.given
    ]
    header = ("id", "outcome", "question", "answer", "answer without the document", "explanation")
    metrics = ("leaked_share", "leaked", "undecided")
    return of_metrics(space, report, metrics, {"questions": markdown_table(header, rows)})


def of_retrieval(space: Workspace, report: evaluation.RetrievalReport) -> Metadata:
    """The shares of documents and evidence that search finds, by ranking, and the questions whose document is not ranked first."""
    recall = "fused_document_recall_at_5"
    of_runs = (recall, f"{UNTITLED}{recall}", "fused_evidence_recall_at_5", "fused_document_mrr")
    shown = {name: value for name, value in report.metrics.items() if name.startswith("fused_")}
    shown |= {name: value for name, value in report.metrics.items() if name.endswith("recall_at_5")}
    return {
        ROW_COUNT: len(report.questions),
        "failed": report.failed,
        "embedder": report.model,
        "metrics": _metrics(report.metrics),
        "not_ranked_first": _not_ranked_first(report.questions),
        **_common(space, report, of_runs),
        **shown,
    }


def of_answers(space: Workspace, report: evaluation.AnswerReport) -> Metadata:
    """The scores of answers from the questions' own documents, and the answers, the worst first."""
    rows = [
        (
            question.question_id,
            "" if question.f1 is None else f"{question.f1:.2f}",
            _grounded(question),
            question.question,
            question.answer,
            question.given or question.failure,
        )
        for question in sorted(
            report.questions, key=lambda one: (-1.0 if one.f1 is None else one.f1, one.question_id)
        )
    ]
    header = ("id", "F1", "grounded", "question", "answer", "answer from the document, or failure")
    metrics = ("exact_match", "token_f1", "grounded_share")
    return of_metrics(space, report, metrics, {"questions": markdown_table(header, rows)})


def of_metrics(
    space: Workspace,
    report: evaluation.EvaluationReport[Any],
    of_runs: Sequence[str] = (),
    more: Metadata | None = None,
) -> Metadata:
    """The metrics of a report, then `more`. `of_runs` names the metrics that the table of runs shows; by default the first four."""
    return {
        ROW_COUNT: len(report.questions),
        "failed": report.failed,
        **{name: value for name, value in report.metrics.items() if name != "failed"},
        "profile": report.profile,
        "model": report.model,
        "judge": report.judge_model or "none",
        **(more or {}),
        **_common(space, report, of_runs or tuple(report.metrics)[:4]),
    }


def _common(space: Workspace, report: evaluation.EvaluationReport[Any], metrics: Sequence[str]) -> Metadata:
    """The metadata that every evaluation has: a table of runs, the file of the report, and the cost."""
    runs = earlier_reports(space.store, report.combination, report.kind)[:MOST_RUNS]
    rows = [
        (
            run.created[:SECONDS],
            run.run_id[:8],
            run.profile,
            run.model,
            len(run.questions),
            *(_cell(run, name) for name in metrics),
        )
        for run in runs
    ]
    names = (name.replace("_", " ") for name in metrics)  # headers that can wrap
    header = ("time (UTC)", "run", "profile", "model", "questions", *names)
    key = report.combination.history_key(report.run_id, f"{report.kind.value}.json")
    return {
        "asked_again": report.unheard,
        "runs": markdown_table(header, rows),
        "report": stored_file(space.store, key),
        **cost(call for question in report.questions for call in question.calls),
    }


def _cell(report: evaluation.EvaluationReport[Any], name: str) -> str:
    value = report.metrics.get(name)
    return "not measured" if value is None else f"{value:g}"


def _closed_end(one: evaluation.ClosedBookAnswer) -> str:
    if one.leaked is None:
        return "undecided"
    return "leaked" if one.leaked else "wrong" if one.given and one.decided != "unknown" else "unknown"


def _grounded(answer: evaluation.BaselineAnswer) -> str:
    grounded = None if answer.grading is None else answer.grading.is_grounded
    return "" if grounded is None else "yes" if grounded else "no"


def _metrics(metrics: Mapping[str, float]) -> dg.MarkdownMetadataValue:
    measures = (*(f"recall_at_{cut}" for cut in CUTS), "mrr", f"ndcg_at_{GAIN_CUT}")
    asked = [("as published", ""), *([("without the title", UNTITLED)] if "titled_share" in metrics else [])]
    rows = [
        (
            level,
            name,
            form,
            *(_share(metrics.get(f"{prefix}{name}_{level}_{measure}")) for measure in measures),
        )
        for form, prefix in asked
        for level in _LEVELS
        for name in NAMES.values()
    ]
    return markdown_table(("target", "ranking", "question", *measures), rows)


def _not_ranked_first(questions: Iterable[evaluation.RetrievedQuestion]) -> dg.MarkdownMetadataValue:
    """The questions whose document is not ranked first: first those that were not searched, then the others from the worst rank on."""
    found = [(question, placed(question.placements, Ranking.BOTH)) for question in questions]
    late = [(one, place) for one, place in found if place is None or place.document != 1]
    late.sort(key=lambda item: (item[1] is not None, -(item[1].document or 10_000) if item[1] else 0))
    rows = [
        (
            one.question_id,
            one.failure if place is None else place.document or "not found",
            "" if place is None else ", ".join("-" if at is None else str(at) for at in place.evidence),
            one.question,
            one.document_id,
        )
        for one, place in late
    ]
    return markdown_table(("id", "rank of document", "ranks of evidence", "question", "document"), rows)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
