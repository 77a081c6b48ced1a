"""Turns records of documents, question sets, evaluations and runs into flat rows, which `sql/load.sql` loads into the catalog's tables.

A row may have more fields than its table has columns: the database reads the columns by their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from qagen_dagster.catalog import source as catalog_source
from qagen_dagster.records import evaluation
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.grading import GradedAnswer, GroundingReport, SentenceStatus, combination_of
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.history import RunDocument, Spent
from qagen_dagster.records.questions.results import QAPair, RejectedQA, RejectionReason, ValidatedSet
from qagen_dagster.records.run import CallSummary, RunRecord

Row = dict[str, Any]
TableRow = tuple[str, Row]


def call_rows(calls: Sequence[CallSummary], keys: Row) -> Iterator[TableRow]:
    """A row for each call, in order; `keys` are the columns that say where the calls belong."""
    for position, call in enumerate(calls, 1):
        yield "model_calls", {**keys, **dict(call), "position": position}


def combination_row(combination: Combination) -> Row:
    """The columns that name a combination."""
    return {"combination": combination.key, **dict(combination)}


def utc(value: datetime | None) -> str | None:
    """The database holds timestamps in UTC, without a zone."""
    return None if value is None else value.astimezone(UTC).replace(tzinfo=None).isoformat()


def history_rows(source: catalog_source.CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table, in the source's order."""
    for run in source.runs:
        where = {"combination": None} if run.combination is None else combination_row(run.combination)
        yield "runs", {**dict(run), **where, "started": utc(run.started), "ended": utc(run.ended)}
    for document in source.run_documents:
        yield "run_results", run_document(document)
    for ended in source.ended:
        yield from _checks(ended)
    for number, version in enumerate(source.published, 1):
        yield from _published_set(version, number)
    for seen in source.versions:
        yield "document_versions", _version(seen)


def run_document(row: catalog_source.RunDocumentRow) -> Row:
    """The numbers of a document in a run. Questions that duplicates and reviewers removed from its set count as rejected.

    The original of an edited question counts as rejected, and the edited question as accepted in its place. If the edited question was
    removed, too, it counts as another rejected question.
    """
    one = row.document
    lost = [
        found for found in row.removed if found.rejection_reason is not RejectionReason.EDITED_BY_REVIEWER
    ]
    reasons = None if one.rejected_by_reason is None else dict(one.rejected_by_reason)
    types = None if one.accepted_by_type is None else dict(one.accepted_by_type)
    if reasons is not None:
        reasons = Counter(reasons) + Counter(found.rejection_reason.value for found in row.removed)
    if types is not None:
        types = Counter(types) - Counter(found.question_type or "" for found in lost)
    return {
        **combination_row(row.combination),
        **_sum(one.spent or Spent(), row.deduplication),
        **one.model_dump(exclude={"spent"}),
        "run_id": row.run_id,
        "outcome": one.end,
        "detail": one.detail or None,
        "accepted": one.accepted - len(lost),
        "rejected": one.rejected + len(row.removed),
        "rejected_by_reason": reasons,
        "accepted_by_type": types,
    }


def _sum(own: Spent, more: Spent) -> Row:
    added = {name: getattr(own, name) + getattr(more, name) for name in Spent.model_fields if name != "usd"}
    known = [spent.usd for spent in (own, more) if spent.usd is not None and spent.calls]
    return {**added, "usd": sum(known) if known or not added["calls"] else None}


def _checks(record: RunRecord) -> Iterator[TableRow]:
    for found in record.checks:
        yield (
            "checks",
            {
                **dict(found),
                "run_id": record.run_id,
                "partition": found.partition or record.partition,
                "check_name": found.check,
                "evaluated_at": utc(datetime.fromisoformat(found.at)),
            },
        )


def _published_set(row: catalog_source.SetRow, number: int) -> Iterator[TableRow]:
    keys = {**combination_row(row.combination), "run_id": row.run_id, "result_id": number}
    count = 0
    for one in row.questions:
        made = dict(one.generation_metadata) | {"attempt": one.generation_metadata.attempt_number}
        yield "set_questions", {**dict(one), **made, **keys, "question_id": one.id}
        count += 1
    yield (
        "sets",
        {**keys, "published": utc(row.published), "questions": count, "current": row.current},
    )


def _version(row: catalog_source.VersionRow) -> Row:
    return {
        **dict(row.entry),
        "corpus": row.corpus,
        "document_id": row.entry.id,
        "row_id": row.entry.row,
        "version": row.entry.version,
        "run_id": None if row.removed else row.run_id,
        "first_seen": None if row.removed else utc(row.at),
        "removed_at": utc(row.at) if row.removed else None,
    }


def table_rows(source: catalog_source.CatalogSource) -> Iterator[TableRow]:
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
        yield from _validated_set(validated)
    for retired in source.retired:
        yield "retired_questions", _retired(retired)
    for made in source.decisions:
        where = combination_row(Combination.from_key(made.set_key))
        yield "decisions", {**dict(made), **where, "time": utc(made.time)}
    for report in source.reports:
        yield from _report(report)


def _document(row: catalog_source.DocumentRow) -> Row:
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


def _visuals(source: catalog_source.CatalogSource) -> Iterator[TableRow]:
    for (corpus, document_id), rows in groupby(source.visuals, lambda row: (row.corpus, row.document_id)):
        for position, row in enumerate(rows, 1):
            box = row.visual.box
            place = {
                "corpus": corpus,
                "document_id": document_id,
                "position": position,
                "box": None if box is None else [box.x0, box.y0, box.x1, box.y1],
            }
            yield "visuals", dict(row.visual) | place


def _result(row: catalog_source.ResultRow, number: int) -> Iterator[TableRow]:
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
            run_document(
                catalog_source.RunDocumentRow(run_id=row.run_id, combination=row.combination, document=given)
            ),
        )
    for pair in result.accepted:
        yield "candidates", {**_accepted(pair), **keys}
    for rejected in result.rejected:
        yield "candidates", {**_rejected(rejected, "document"), **keys}
    for verdict in result.verdicts:
        yield "verdicts", {**keys, **dict(verdict)}
    yield from call_rows(result.calls, {**keys, "stage": "document", "run_id": row.run_id})


def _failure(row: catalog_source.FailureRow, number: int) -> Row:
    return {
        **dict(row),
        **combination_row(row.combination),
        "result_id": number,
        "outcome": row.end,
        "recorded_at": utc(row.recorded_at),
    }


def _validated_set(validated: ValidatedSet) -> Iterator[TableRow]:
    keys = combination_row(validated.combination)
    for pair in validated.questions:
        mine = {"fingerprint": validated.fingerprint, "set_run_id": validated.run_id}
        yield "questions", {**_accepted(pair), **keys, **mine}
    for rejected in validated.removed:
        yield "removed", {**_rejected(rejected, "corpus"), **keys}
    yield from call_rows(validated.calls, {**keys, "stage": "corpus", "run_id": validated.run_id})


def _retired(row: catalog_source.RetiredRow) -> Row:
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


NAMES = {Ranking.WORDS: "bm25", Ranking.MEANING: "embedding", Ranking.BOTH: "fused"}


def evaluation_rows(source: catalog_source.CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table: metrics and calls of all reports, questions of the latest ones."""
    # A question that is not asked again stays in every later report, with its calls. The rows of the calls are written once.
    written: set[tuple[str, str]] = set()
    for report in source.evaluations:
        yield from _numbers(report)
        where = report.combination.key
        keys = {**combination_row(report.combination), "stage": "evaluation", "run_id": report.run_id}
        calls = [call for one in report.questions for call in one.calls]
        yield from call_rows([call for call in calls if (where, call.request_key) not in written], keys)
        written.update((where, call.request_key) for call in calls if call.request_key)
    for report in source.evaluated:
        keys = {**combination_row(report.combination), "run_id": report.run_id}
        for one in report.questions:
            row = one.model_dump(exclude={"calls"}) | keys | {"failure": one.failure or None}
            yield from _question(one, row)


def _numbers(report: evaluation.EvaluationReport[Any]) -> Iterator[TableRow]:
    keys = {
        **combination_row(report.combination),
        "kind": report.kind,
        "run_id": report.run_id,
        "created": utc(datetime.fromisoformat(report.created)),
        "profile": report.profile,
        "model": report.model,
        "judge_model": report.judge_model or None,
    }
    counts = {"questions": float(len(report.questions)), "failed": float(report.failed)}
    for metric, value in (report.metrics | counts).items():
        yield "evaluations", {**keys, "metric": metric, "value": value}


def _question(one: evaluation.EvaluatedQuestion, row: Row) -> Iterable[TableRow]:
    if isinstance(one, evaluation.ClosedBookAnswer):
        row |= {"given": one.given or None, "explanation": one.explanation or None}
        return [("closed_book", row)]
    if isinstance(one, evaluation.BaselineAnswer):
        row |= {
            "given": one.given or None,
            "is_grounded": None if one.grading is None else one.grading.is_grounded,
            "confidence": None if one.grading is None else one.grading.confidence,
        }
        return [("baseline_answers", row)]
    if isinstance(one, evaluation.LabelledQuestion):
        known = {
            name: row[name] for name in ("combination", "corpus", "scenario", "mode", "run_id", "question_id")
        }
        return (("relevance_labels", known | _label(label)) for label in one.labels)
    if isinstance(one, evaluation.PanelQuestion):
        del row["answers"]
        return [("panel_questions", row | {"other": one.other or None})]
    return _retrieved(one, row) if isinstance(one, evaluation.RetrievedQuestion) else ()


def _label(one: evaluation.Label) -> Row:
    row = one.model_dump(exclude={"text_hash", "by"})
    return row | {"document_id": one.document_id, "graded_by": one.by or None}


def _retrieved(one: evaluation.RetrievedQuestion, row: Row) -> Iterator[TableRow]:
    places = {place.ranking: place for place in one.placements}
    for ranking, name in NAMES.items():
        place = places.get(ranking)
        evidence = () if place is None else place.evidence
        yield (
            "retrievals",
            {
                **row,
                "ranking": name,
                "document_place": None if place is None else place.document,
                "evidence_place": min((at for at in evidence if at is not None), default=None),
                "evidence": evidence,
            },
        )
