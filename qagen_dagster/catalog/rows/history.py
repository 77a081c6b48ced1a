"""Turns the history of runs into flat rows: runs, what each document gave, checks, published sets, document versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from qagen_dagster.catalog.rows.base import Row, TableRow, combination_row, utc
from qagen_dagster.catalog.source import CatalogSource, RunDocumentRow, RunRow, SetRow, VersionRow
from qagen_dagster.records.questions.history import Spent
from qagen_dagster.records.questions.results import RejectionReason
from qagen_dagster.records.run import RunRecord


def history_rows(source: CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table, in the source's order."""
    for run in source.runs:
        yield "runs", _run(run)
    for document in source.run_documents:
        yield "run_results", run_document(document)
    for ended in source.ended:
        yield from _checks(ended)
    for number, version in enumerate(source.published, 1):
        yield from _set(version, number)
    for seen in source.versions:
        yield "document_versions", _version(seen)


def run_document(row: RunDocumentRow) -> Row:
    """The numbers of a document in a run. Questions that duplicates and reviewers removed from its set count as rejected.

    A question that a reviewer edited is one of them, and the edited one counts as accepted in its place. If that one was removed too,
    it is a row of its own.
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


def _run(row: RunRow) -> Row:
    where = {} if row.combination is None else combination_row(row.combination)
    return {
        **dict(row),
        "combination": None,
        **where,
        "started": utc(row.started),
        "ended": utc(row.ended),
    }


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


def _set(row: SetRow, number: int) -> Iterator[TableRow]:
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


def _version(row: VersionRow) -> Row:
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
