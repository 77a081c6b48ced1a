"""Turns records into flat rows of the catalog's tables; `sql/load.sql` turns those into the tables.

A row may have more fields than its table has columns: the database reads the columns by their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from qagen_dagster.catalog.rows.base import Row, TableRow, call_rows, combination_row, utc
from qagen_dagster.catalog.rows.history import run_document
from qagen_dagster.catalog.source import (
    CatalogSource,
    DocumentRow,
    FailureRow,
    ResultRow,
    RetiredRow,
    RunDocumentRow,
    VisualRow,
)
from qagen_dagster.records.grading import GradedAnswer, GroundingReport, SentenceStatus, combination_of
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.history import RunDocument
from qagen_dagster.records.questions.results import QAPair, RejectedQA, ValidatedSet, VerdictRecord


def table_rows(source: CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table, in the source's order."""
    for document in source.documents:
        yield "documents", _document(document)
        keys = {"corpus": document.corpus, "document_id": document.document.id}
        for position, section in enumerate(document.document.sections, 1):
            yield "sections", {**keys, **dict(section), "position": position}
    yield from _visuals(source)
    number = 0
    for number, result in enumerate(source.results, 1):
        yield from _result(result, number)
    for failed_number, failure in enumerate(source.failures, number + 1):
        yield "outcomes", _failure(failure, failed_number)
    for validated in source.sets:
        yield from _set(validated)
    for retired in source.retired:
        yield "retired_questions", _retired(retired)
    for report in source.reports:
        yield from _report(report)


def _document(row: DocumentRow) -> Row:
    document = row.document
    return {
        **dict(document.metadata),
        **document.model_dump(exclude={"pages", "sections", "metadata"}),
        "corpus": row.corpus,
        "document_id": document.id,
        "row_id": document.row,
        "version": document.version,
        "section_count": len(document.sections),
    }


def _visuals(source: CatalogSource) -> Iterator[TableRow]:
    position, owner = 0, ("", "")
    for row in source.visuals:
        position = position + 1 if owner == (row.corpus, row.document_id) else 1
        owner = (row.corpus, row.document_id)
        yield "visuals", _visual(row, position)


def _visual(row: VisualRow, position: int) -> Row:
    box = row.visual.box
    return {
        **dict(row.visual),
        "corpus": row.corpus,
        "document_id": row.document_id,
        "position": position,
        "box": None if box is None else [box.x0, box.y0, box.x1, box.y1],
    }


def _result(row: ResultRow, number: int) -> Iterator[TableRow]:
    result = row.result
    keys = {**combination_row(row.combination), "document_id": result.document_id, "result_id": number}
    yield (
        "outcomes",
        {
            **dict(result.stats),
            **keys,
            "document_version": result.document_version,
            "source": result.stats.document_path,
            "outcome": result.end,
            "detail": result.end_detail,
            "fingerprint": result.fingerprint,
            "run_id": row.run_id,
            "recorded_at": utc(row.recorded_at),
            "viewed_pages": result.viewed_pages,
        },
    )
    if not row.collected:
        given = RunDocument.made(row.run_id, result)
        yield (
            "run_results",
            run_document(RunDocumentRow(run_id=row.run_id, combination=row.combination, document=given)),
        )
    for pair in result.accepted:
        yield "candidates", {**_accepted(pair), **keys}
    for rejected in result.rejected:
        yield "candidates", {**_rejected(rejected, "document"), **keys}
    for verdict in result.verdicts:
        yield "verdicts", {**keys, **_verdict(verdict)}
    yield from call_rows(result.calls, {**keys, "stage": "document", "run_id": row.run_id})


def _verdict(verdict: VerdictRecord) -> Row:
    """Without an answer of its own the validator compares nothing, so it does not judge these three criteria."""
    if verdict.answerable:
        return dict(verdict)
    return dict(verdict) | dict.fromkeys(("matches", "non_trivial", "relevant"))


def _failure(row: FailureRow, number: int) -> Row:
    return {
        **dict(row),
        **combination_row(row.combination),
        "result_id": number,
        "outcome": row.end,
        "recorded_at": utc(row.recorded_at),
    }


def _set(validated: ValidatedSet) -> Iterator[TableRow]:
    keys = combination_row(
        Combination(corpus=validated.corpus, scenario=validated.scenario, mode=validated.mode)
    )
    for pair in validated.questions:
        mine = {"fingerprint": validated.fingerprint, "set_run_id": validated.run_id}
        yield "questions", {**_accepted(pair), **keys, **mine}
    for rejected in validated.removed:
        yield "removed", {**_rejected(rejected, "corpus"), **keys}
    yield from call_rows(validated.calls, {**keys, "stage": "corpus", "run_id": validated.run_id})


def _retired(row: RetiredRow) -> Row:
    one = row.retired
    return {
        **dict(one),
        **combination_row(row.combination),
        "question_id": one.id,
        "text_before": one.before,
        "text_now": one.now,
    }


def _accepted(pair: QAPair) -> Row:
    return {
        **dict(pair),
        **dict(pair.generation_metadata),
        "question_id": pair.id,
        "attempt": pair.generation_metadata.attempt_number,
        "status": "accepted",
    }


def _rejected(rejected: RejectedQA, stage: str) -> Row:
    return {
        **dict(rejected),
        "attempt": rejected.attempt_number,
        "status": "rejected",
        "reason": rejected.rejection_reason,
        "detail": rejected.rejection_detail,
        "duplicate_step": rejected.duplicate_step or None,
        "stage": stage,
    }


def _report(report: GroundingReport) -> Iterator[TableRow]:
    keys = combination_row(combination_of(report))
    for document in report.documents:
        mine = {**keys, "document_id": document.document_id, "run_id": report.run_id}
        graded = {**mine, "document_grade": document.overall_grade, "judge_model": report.judge_model or None}
        for answer in document.answers:
            yield "grades", {**graded, **_grade(answer)}
        calls = [call for answer in document.answers for call in answer.grading.calls]
        yield from call_rows(calls, {**mine, "stage": "grading"})


def _grade(answer: GradedAnswer) -> Row:
    grading, verdict = answer.grading, answer.grading.llm_verdict
    statuses = Counter(sentence.status for sentence in grading.sentences)
    return {
        "question_id": answer.id,
        "question": answer.question,
        "answer": answer.answer,
        "is_grounded": grading.is_grounded,
        "confidence": grading.confidence,
        "decided_by": grading.decided_by,
        "method": grading.method,
        **{status: statuses[status] for status in SentenceStatus},
        "issues": grading.issues,
        "llm_verdict": None if verdict is None else verdict.verdict,
        "llm_confidence": None if verdict is None else verdict.confidence,
        "llm_reason": None if verdict is None else verdict.reason,
        "judge_failure": grading.judge_failure or None,
        "marked": answer.marked or None,
    }
