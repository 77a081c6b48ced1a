"""Turns records of documents, question sets, evaluations and runs into flat rows, which `sql/load.sql` loads into the catalog's tables.

A row may have more fields than its table has columns, or fewer: the database reads the columns by their names. `loop/catalog.py` reads
the records. The parameter `number` becomes `result_id`, which connects the rows of one result or of one published set.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from qagen_dagster.records import evaluation
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.document import Document, IndexEntry, Ranking, Visual
from qagen_dagster.records.grading import GradedAnswer, GroundingReport, SentenceStatus, combination_of
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.records.questions.run_results import RunCost, RunDocument
from qagen_dagster.records.run import CallSummary, RunRecord

Row = dict[str, Any]
TableRow = tuple[str, Row]


def call_rows(calls: Sequence[CallSummary], keys: Row) -> Iterator[TableRow]:
    """A row for each call, in order. `keys` are the columns that say to what the calls belong."""
    for position, call in enumerate(calls, 1):
        yield "model_calls", {**keys, **dict(call), "position": position}


def combination_row(combination: Combination) -> Row:
    """The columns that name a combination."""
    return {"combination": combination.key, **dict(combination)}


def utc(value: datetime | str | None) -> str | None:
    """A time as the database holds it: in UTC, without a zone. None if `value` is None or empty."""
    when = datetime.fromisoformat(value) if isinstance(value, str) and value else value
    return when.astimezone(UTC).replace(tzinfo=None).isoformat() if isinstance(when, datetime) else None


def run_document(
    run_id: str,
    combination: Combination,
    one: RunDocument,
    removed: Sequence[results.RejectedQA] = (),
    deduplication: RunCost | None = None,
) -> TableRow:
    """The numbers of a document in a run. `deduplication` is what the corpus-wide deduplication spent on the document.

    Questions that were `removed` from the set, as duplicates or by reviewers, count as rejected. An edited question's original
    counts as rejected. The edited question counts as accepted, or also as rejected if it was removed.
    """
    lost = [
        found for found in removed if found.rejection_reason is not results.RejectionReason.EDITED_BY_REVIEWER
    ]
    reasons = None if one.rejected_by_reason is None else dict(one.rejected_by_reason)
    types = None if one.accepted_by_type is None else dict(one.accepted_by_type)
    if reasons is not None:
        reasons = Counter(reasons) + Counter(found.rejection_reason.value for found in removed)
    if types is not None:
        types = Counter(types) - Counter(found.question_type or "" for found in lost)
    return "run_results", {
        **combination_row(combination),
        **_sum(one.spent or RunCost(), deduplication or RunCost()),
        **one.model_dump(exclude={"spent"}),
        "run_id": run_id,
        "outcome": one.end,
        "detail": one.detail or None,
        "accepted": one.accepted - len(lost),
        "rejected": one.rejected + len(removed),
        "rejected_by_reason": reasons,
        "accepted_by_type": types,
    }


def _sum(own: RunCost, more: RunCost) -> Row:
    added = {name: getattr(own, name) + getattr(more, name) for name in RunCost.model_fields if name != "usd"}
    known = [spent.usd for spent in (own, more) if spent.usd is not None and spent.calls]
    return {**added, "usd": sum(known) if known or not added["calls"] else None}


def check_rows(record: RunRecord) -> Iterator[TableRow]:
    for found in record.checks:
        yield (
            "checks",
            {
                **dict(found),
                "run_id": record.run_id,
                "partition": found.partition or record.partition,
                "check_name": found.check,
                "evaluated_at": utc(found.at),
            },
        )


def set_rows(
    number: int,
    combination: Combination,
    run_id: str | None,
    published: str,
    questions: Iterable[PublishedQuestion],
    *,
    current: bool,
) -> Iterator[TableRow]:
    """A version of a set: when it was `published`, its run (None: not in the history), whether it is `current`, and its questions."""
    keys = {**combination_row(combination), "run_id": run_id, "result_id": number}
    count = 0
    for one in questions:
        made = dict(one.generation_metadata) | {"attempt": one.generation_metadata.attempt_number}
        yield "set_questions", {**dict(one), **made, **keys, "question_id": one.id}
        count += 1
    yield "sets", {**keys, "published": utc(published), "questions": count, "current": current}


def version_row(corpus: str, entry: IndexEntry, run_id: str, at: str, *, removed: bool) -> TableRow:
    """A version of a document that a run found at the time `at`. `removed`: whether the run found that the document is gone."""
    return "document_versions", {
        **dict(entry),
        "corpus": corpus,
        "document_id": entry.id,
        "row_id": entry.row,
        "version": entry.version,
        "run_id": None if removed else run_id,
        "first_seen": None if removed else utc(at),
        "removed_at": utc(at) if removed else None,
    }


def document_rows(corpus: str, document: Document) -> Iterator[TableRow]:
    """A document, parsed or not, and its sections."""
    keys = {"corpus": corpus, "document_id": document.id}
    yield (
        "documents",
        {
            **dict(document.metadata),
            **document.model_dump(exclude={"pages", "sections", "metadata"}),
            **keys,
            "row_id": document.row,
            "version": document.version,
            "section_count": len(document.sections),
        },
    )
    for position, section in enumerate(document.sections, 1):
        yield "sections", {**keys, **dict(section), "position": position}


def visual_rows(corpus: str, document_id: str, visuals: Iterable[Visual]) -> Iterator[TableRow]:
    """The visuals of a document, in document order."""
    for position, visual in enumerate(visuals, 1):
        box = visual.box
        place = {
            "corpus": corpus,
            "document_id": document_id,
            "position": position,
            "box": None if box is None else [box.x0, box.y0, box.x1, box.y1],
        }
        yield "visuals", dict(visual) | place


def result_rows(
    number: int,
    combination: Combination,
    result: results.GenerationResult,
    recorded_at: str,
    *,
    collected: bool = True,
) -> Iterator[TableRow]:
    """One document's result, when it was recorded, and the run that made it. Runs that reused the result are not named.

    `collected`: whether the run has its own rows in `run_results`. If not, a row is made from the result.
    """
    keys = {**combination_row(combination), "document_id": result.document_id, "result_id": number}
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
            "run_id": result.run_id,
            "recorded_at": utc(recorded_at),
            "viewed_pages": result.viewed_pages,
        },
    )
    if not collected:
        yield run_document(result.run_id, combination, RunDocument.made(result.run_id, result))
    for pair in result.accepted:
        yield "candidates", {**_accepted(pair), **keys}
    for rejected in result.rejected:
        yield "candidates", {**_rejected(rejected, "document"), **keys}
    for verdict in result.verdicts:
        yield "verdicts", {**keys, **dict(verdict)}
    yield from call_rows(result.calls, {**keys, "stage": "document", "run_id": result.run_id})


def failure_row(
    number: int, combination: Combination, document: results.CandidateDocument, run_id: str, recorded_at: str
) -> TableRow:
    """A document that was tried and has no result, for example because of a permanent model error."""
    return "outcomes", {
        **combination_row(combination),
        "document_id": document.document_id,
        "document_version": document.document_version,
        "result_id": number,
        "outcome": document.end,
        "detail": document.end_detail,
        "run_id": run_id,
        "recorded_at": utc(recorded_at),
    }


def validated_rows(validated: results.ValidatedSet) -> Iterator[TableRow]:
    keys = combination_row(validated.combination)
    for pair in validated.questions:
        mine = {"fingerprint": validated.fingerprint, "set_run_id": validated.run_id}
        yield "questions", {**_accepted(pair), **keys, **mine}
    for rejected in validated.removed:
        yield "removed", {**_rejected(rejected, "corpus"), **keys}
    yield from call_rows(validated.calls, {**keys, "stage": "corpus", "run_id": validated.run_id})


def retired_row(combination: Combination, one: results.RetiredQA) -> TableRow:
    """A question that a document no longer supports."""
    keys = {**combination_row(combination), "question_id": one.id}
    return "retired_questions", {**dict(one), **keys, "text_before": one.before, "text_now": one.now}


def decision_row(made: Decision) -> TableRow:
    where = combination_row(Combination.from_key(made.set_key))
    return "decisions", {**dict(made), **where, "time": utc(made.time)}


def _accepted(pair: results.QAPair) -> Row:
    return {
        **dict(pair),
        **dict(pair.generation_metadata),
        "question_id": pair.id,
        "attempt": pair.generation_metadata.attempt_number,
        "status": "accepted",
    }


def _rejected(rejected: results.RejectedQA, stage: str) -> Row:
    return {
        **dict(rejected),
        "attempt": rejected.attempt_number,
        "status": "rejected",
        "reason": rejected.rejection_reason,
        "detail": rejected.rejection_detail,
        "duplicate_step": rejected.duplicate_step or None,
        "stage": stage,
    }


def grade_rows(report: GroundingReport) -> Iterator[TableRow]:
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


def evaluation_rows(
    reports: Iterable[evaluation.EvaluationReport[Any]], latest: Iterable[evaluation.EvaluationReport[Any]]
) -> Iterator[TableRow]:
    """The metrics and calls of all `reports`, and the questions of the `latest` reports. The oldest report must come first."""
    # Later reports repeat a question that they do not ask again, and its calls. Each call gets only one row.
    written: set[tuple[str, str]] = set()
    for report in reports:
        yield from _numbers(report)
        where = report.combination.key
        keys = {**combination_row(report.combination), "stage": "evaluation", "run_id": report.run_id}
        calls = [call for one in report.questions for call in one.calls]
        yield from call_rows([call for call in calls if (where, call.request_key) not in written], keys)
        written.update((where, call.request_key) for call in calls if call.request_key)
    for report in latest:
        keys = {**combination_row(report.combination), "run_id": report.run_id}
        for one in report.questions:
            row = one.model_dump(exclude={"calls"}) | keys | {"failure": one.failure or None}
            yield from _question(one, row)


def _numbers(report: evaluation.EvaluationReport[Any]) -> Iterator[TableRow]:
    keys = {
        **combination_row(report.combination),
        "kind": report.kind,
        "run_id": report.run_id,
        "created": utc(report.created),
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
