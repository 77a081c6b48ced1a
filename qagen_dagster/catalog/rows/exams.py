"""From slots of exams to flat rows of the catalog's tables. What becomes of rows in the database is SQL's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from qagen_dagster.catalog.rows.questions import Row, TableRow, call_rows, utc
from qagen_dagster.catalog.source import CatalogSource, ExamRow
from qagen_dagster.records.exams.result import Attempt, SlotResult, Stage

REPEATED = "repeated"


def exam_rows(source: CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table: items, attempts and calls of each slot."""
    for row in source.exams:
        result = row.result
        keys = {
            "exam": result.part.exam,
            "schema_id": result.part.schema_id,
            "difficulty": result.part.difficulty.value,
            "slot": result.slot,
        }
        yield "exam_items", {**keys, **_item(row)}
        for attempt in result.attempts:
            yield (
                "exam_attempts",
                {**keys, "attempt": attempt.number, **_seen(attempt), **_caught(result, attempt)},
            )
        for _, call in call_rows(result.calls, {**keys, "run_id": result.run_id}):
            yield "exam_calls", {name: value for name, value in call.items() if name != "document_id"}


def _item(row: ExamRow) -> Row:
    result, rejected = row.result, row.result.rejected
    last = result.attempts[-1] if result.attempts else Attempt(number=0)
    made: Row = {
        "schema_title": row.schema_title,
        "outcome": result.end.value,
        "item_id": None if result.item is None else result.item.id,
        "detail": result.end_detail or None,
        "options": None if last.package is None else dict(last.package.question.options),
        "attempts": last.number,
        "models": row.models,
        "fingerprint": result.fingerprint,
        "run_id": result.run_id,
        "finished": utc(datetime.fromisoformat(result.finished)) if result.finished else None,
        **_seen(last),
    }
    if row.repeats is not None:
        return made | {
            "outcome": REPEATED,
            "caught_by": "repeats",
            "failure_type": "duplicate",
            "detail": row.repeats,
        }
    if rejected is None:
        return made
    return made | {
        "caught_by": rejected.stage,
        "failure_type": rejected.failure_type,
        "severity": rejected.severity.value,
        "detail": "; ".join(rejected.reasons) or None,
    }


def _seen(attempt: Attempt) -> Row:
    """How far an attempt came."""
    package, blind, style = attempt.package, attempt.blind, attempt.style
    return {
        "stem": None if package is None else package.question.stem,
        "key_option": None if package is None else package.question.correct_option,
        "key_proof": None if attempt.examination is None else attempt.examination.proof.status.value,
        "blind_option": None if blind is None else blind.chosen_option,
        "style_mean": None if style is None else style.scores.mean,
        "style_least": None if style is None else min(style.scores.values),
    }


def _caught(result: SlotResult, attempt: Attempt) -> Row:
    """The step of the log at which the attempt failed; what is wrong stands before its severity there."""
    for step in result.log:
        if step.attempt == attempt.number and not step.ok and step.stage is not Stage.DESIGNER:
            return {"caught_by": step.stage.value, "failure_type": step.detail.partition(" (")[0]}
    return {}
