"""From reports of evaluations to flat rows of the catalog's tables. What becomes of rows in the database is SQL's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from qagen_dagster.catalog.rows.questions import Row, TableRow, call_rows, combination_row, finite, utc
from qagen_dagster.catalog.source import CatalogSource
from qagen_dagster.records.evaluation import (
    BaselineAnswer,
    ClosedBookAnswer,
    EvaluatedQuestion,
    EvaluationReport,
    RetrievedQuestion,
)
from qagen_dagster.records.index import Ranking

NAMES = {Ranking.WORDS: "bm25", Ranking.MEANING: "embedding", Ranking.BOTH: "fused"}


def evaluation_rows(source: CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table: numbers and calls of all reports, questions of the latest."""
    told: set[tuple[str, str]] = (
        set()
    )  # a question that was not asked again is in every later report, with its calls
    for report in source.evaluations:
        yield from _numbers(report)
        yield from _calls(report, told)
    for report in source.evaluated:
        keys = {**combination_row(report.combination), "run_id": report.run_id}
        for one in report.questions:
            yield from _question(one, {**keys, **_asked(one)})


def _numbers(report: EvaluationReport[Any]) -> Iterator[TableRow]:
    keys = {
        **combination_row(report.combination),
        "kind": report.kind.value,
        "run_id": report.run_id,
        "created": utc(datetime.fromisoformat(report.created)),
        "profile": report.profile,
        "model": report.model,
        "judge_model": report.judge_model or None,
    }
    counts = {"questions": float(len(report.questions)), "failed": float(report.failed)}
    for metric, value in (report.metrics | counts).items():
        yield "evaluations", {**keys, "metric": metric, "value": value}


def _calls(report: EvaluationReport[Any], told: set[tuple[str, str]]) -> Iterator[TableRow]:
    where = report.combination.key
    keys = {**combination_row(report.combination), "stage": "evaluation", "run_id": report.run_id}
    calls = [call for one in report.questions for call in one.calls]
    yield from call_rows([call for call in calls if (where, call.request_key) not in told], keys)
    told.update((where, call.request_key) for call in calls if call.request_key)


def _question(one: EvaluatedQuestion, keys: Row) -> Iterable[TableRow]:
    if isinstance(one, ClosedBookAnswer):
        return [("closed_book", _closed_book(one, keys))]
    if isinstance(one, BaselineAnswer):
        return [("baseline_answers", _baseline(one, keys))]
    return _retrieved(one, keys) if isinstance(one, RetrievedQuestion) else ()


def _asked(one: EvaluatedQuestion) -> Row:
    return {
        "question_id": one.question_id,
        "document_id": one.document_id,
        "question": one.question,
        "failure": one.failure or None,
    }


def _closed_book(one: ClosedBookAnswer, keys: Row) -> Row:
    return {
        **keys,
        "answer": one.answer,
        "given": one.given or None,
        "leaked": one.leaked,
        "decided": None if one.decided is None else one.decided.value,
        "explanation": one.explanation or None,
    }


def _baseline(one: BaselineAnswer, keys: Row) -> Row:
    return {
        **keys,
        "answer": one.answer,
        "given": one.given or None,
        "answerable": one.answerable,
        "exact": one.exact,
        "f1": finite(one.f1),
        "is_grounded": None if one.grading is None else one.grading.is_grounded,
        "confidence": None if one.grading is None else finite(one.grading.confidence),
        "error": None if one.error is None else one.error.value,
    }


def _retrieved(one: RetrievedQuestion, keys: Row) -> Iterator[TableRow]:
    places = {place.ranking: place for place in one.placements}
    for ranking, name in NAMES.items():
        place = places.get(ranking)
        evidence = () if place is None else place.evidence
        yield (
            "retrievals",
            {
                **keys,
                "ranking": name,
                "document_place": None if place is None else place.document,
                "evidence_place": min((at for at in evidence if at is not None), default=None),
                "evidence": list(evidence),
            },
        )
