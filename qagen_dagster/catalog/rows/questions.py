"""From records to flat rows of the catalog's tables. What becomes of rows in the database is SQL's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from qagen_dagster.catalog.source import (
    CatalogSource,
    DocumentRow,
    FailureRow,
    ResultRow,
    RunRow,
    VisualRow,
)
from qagen_dagster.records.grading import GradedAnswer, GroundingReport, SentenceStatus, combination_of
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import CallSummary, Evidence, QAPair, RejectedQA, ValidatedSet

Row = dict[str, Any]
TableRow = tuple[str, Row]


def table_rows(source: CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table, in the source's order."""
    for document in source.documents:
        yield "documents", _document(document)
    yield from _visuals(source)
    number = 0
    for number, result in enumerate(source.results, 1):
        yield from _result(result, number)
    for failed_number, failure in enumerate(source.failures, number + 1):
        yield "outcomes", _failure(failure, failed_number)
    for validated in source.sets:
        yield from _set(validated)
    for report in source.reports:
        yield from _report(report)
    for run in source.runs:
        yield "runs", _run(run)


def _document(row: DocumentRow) -> Row:
    document, meta = row.document, row.document.metadata
    return {
        "corpus": row.corpus,
        "document_id": document.id,
        "source": document.source,
        "row_id": document.row,
        "format": document.format,
        "outcome": document.outcome.value,
        "detail": document.detail,
        "version": document.version,
        "source_sha256": document.source_sha256,
        "text_sha256": document.text_sha256,
        "parser": document.parser,
        "bytes": document.bytes,
        "line_count": document.line_count,
        "char_count": document.char_count,
        "page_count": document.page_count,
        "section_count": len(document.sections),
        "ocr": document.ocr,
        "title": meta.title,
        "authors": meta.authors,
        "date": meta.date,
        "doi": meta.doi,
        "abstract": meta.abstract,
        "language": meta.language,
        "parse_seconds": finite(row.seconds),
    }


def _visuals(source: CatalogSource) -> Iterator[TableRow]:
    position, owner = 0, ("", "")
    for row in source.visuals:
        position = position + 1 if owner == (row.corpus, row.document_id) else 1
        owner = (row.corpus, row.document_id)
        yield "visuals", _visual(row, position)


def _visual(row: VisualRow, position: int) -> Row:
    visual, box = row.visual, row.visual.box
    return {
        "corpus": row.corpus,
        "document_id": row.document_id,
        "position": position,
        "label": visual.label,
        "type": visual.type.value,
        "page": visual.page,
        "box": None if box is None else [finite(box.x0), finite(box.y0), finite(box.x1), finite(box.y1)],
        "caption": visual.caption,
        "reference": visual.reference,
        "start_line": visual.start_line,
        "end_line": visual.end_line,
    }


def _result(row: ResultRow, number: int) -> Iterator[TableRow]:
    result = row.result
    keys = {**combination_row(row.combination), "document_id": result.document_id, "result_id": number}
    stats = result.stats
    yield (
        "outcomes",
        {
            **keys,
            "document_version": result.document_version,
            "source": stats.document_path,
            "outcome": result.end.value,
            "detail": result.end_detail,
            "fingerprint": result.fingerprint,
            "run_id": row.run_id,
            "recorded_at": utc(row.recorded_at),
            "target_count": stats.target_count,
            "accepted_count": stats.accepted_count,
            "rejected_count": stats.rejected_count,
            "total_attempts": stats.total_attempts,
            "validation_pass_rate": finite(stats.validation_pass_rate),
            "dedup_rejection_rate": finite(stats.dedup_rejection_rate),
            "exhausted": stats.exhausted,
            "viewed_pages": result.viewed_pages,
        },
    )
    for pair in result.accepted:
        yield "candidates", {**keys, **_accepted(pair)}
    for rejected in result.rejected:
        yield "candidates", {**keys, **_rejected(rejected, "document")}
    for verdict in result.verdicts:
        yield "verdicts", {**keys, **verdict.model_dump(mode="json")}
    yield from call_rows(result.calls, {**keys, "stage": "document", "run_id": row.run_id})


def _failure(row: FailureRow, number: int) -> Row:
    return {
        **combination_row(row.combination),
        "result_id": number,
        "document_id": row.document_id,
        "document_version": row.document_version,
        "outcome": row.end.value,
        "detail": row.detail,
        "run_id": row.run_id,
        "recorded_at": utc(row.recorded_at),
    }


def _set(validated: ValidatedSet) -> Iterator[TableRow]:
    keys = combination_row(
        Combination(corpus=validated.corpus, scenario=validated.scenario, mode=validated.mode)
    )
    for pair in validated.questions:
        metadata = pair.generation_metadata
        row = {
            **keys,
            **_accepted(pair),
            "document_id": pair.document_id,
            "source_document": pair.source_document,
            "generator_model": metadata.generator_model,
            "validator_model": metadata.validator_model,
            "fingerprint": validated.fingerprint,
            "set_run_id": validated.run_id,
        }
        yield "questions", row
    for rejected in validated.removed:
        yield "removed", {**keys, **_rejected(rejected, "corpus"), "document_id": rejected.document_id}
    yield from call_rows(validated.calls, {**keys, "stage": "corpus", "run_id": validated.run_id})


def _accepted(pair: QAPair) -> Row:
    return {
        "question_id": pair.id,
        "attempt": pair.generation_metadata.attempt_number,
        "question": pair.question,
        "answer": pair.answer,
        "status": "accepted",
        "question_type": pair.question_type,
        "content_refs": pair.content_refs,
        "evidence": _evidence(pair.evidence),
    }


def _rejected(rejected: RejectedQA, stage: str) -> Row:
    return {
        "attempt": rejected.attempt_number,
        "question": rejected.question,
        "answer": rejected.answer,
        "status": "rejected",
        "reason": rejected.rejection_reason.value,
        "detail": rejected.rejection_detail,
        "duplicate_of": rejected.duplicate_of,
        "duplicate_score": finite(rejected.duplicate_score),
        "duplicate_step": rejected.duplicate_step or None,
        "stage": stage,
    }


def call_rows(calls: Sequence[CallSummary], keys: Row) -> Iterator[TableRow]:
    """Calls in order; `keys` say whose they are."""
    for position, call in enumerate(calls, 1):
        row = {
            **keys,
            "position": position,
            "document_id": call.document_id,
            "attempt": call.attempt,
            "role": call.role,
            "model": call.model,
            "request_key": call.request_key,
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
            "cached_tokens": call.cached_tokens,
            "reasoning_tokens": call.reasoning_tokens,
            "cache_write_tokens": call.cache_write_tokens,
            "usd": finite(call.usd),
            "seconds": finite(call.seconds),
            "retries": call.retries,
            "replayed": call.replayed,
        }
        yield "model_calls", row


def _report(report: GroundingReport) -> Iterator[TableRow]:
    keys = combination_row(combination_of(report))
    for document in report.documents:
        grade = None if document.overall_grade is None else document.overall_grade.value
        mine = {**keys, "document_id": document.document_id, "run_id": report.run_id}
        for answer in document.answers:
            yield (
                "grades",
                {
                    **mine,
                    "document_grade": grade,
                    "judge_model": report.judge_model or None,
                    **_grade(answer),
                },
            )
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
        "confidence": finite(grading.confidence),
        "method": grading.method,
        **{status.value: statuses[status] for status in SentenceStatus},
        "issues": grading.issues,
        "llm_verdict": None if verdict is None else verdict.verdict.value,
        "llm_confidence": None if verdict is None else finite(verdict.confidence),
        "llm_reason": None if verdict is None else verdict.reason,
        "judge_failure": grading.judge_failure or None,
        "marked": answer.marked or None,
    }


def _run(row: RunRow) -> Row:
    return {
        **combination_row(row.combination),
        "run_id": row.run_id,
        "profile": row.profile,
        "fingerprint": row.fingerprint,
        "models": row.models,
        "prompts": row.prompts,
        "target_count": row.target_count,
        "started": utc(row.started),
        "ended": utc(row.ended),
        "status": row.status,
    }


def combination_row(combination: Combination) -> Row:
    """The columns that name a combination."""
    return {
        "combination": combination.key,
        "corpus": combination.corpus,
        "scenario": combination.scenario,
        "mode": combination.mode.value,
    }


def _evidence(spans: tuple[Evidence, ...]) -> list[Row]:
    return [span.model_dump(mode="json") for span in spans]


def finite(value: float | None) -> float | None:
    """None for what is not a number: "not known" has one form in the catalog."""
    return value if value is not None and math.isfinite(value) else None


def utc(value: datetime | None) -> str | None:
    """Timestamps are UTC without a zone in the database."""
    return None if value is None else value.astimezone(UTC).replace(tzinfo=None).isoformat()
