"""Turns reports of evaluations into flat rows of the catalog's tables; `sql/load.sql` turns those into the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from qagen_dagster.catalog.rows.base import Row, TableRow, call_rows, combination_row, utc
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
    """Every row with the name of its table: metrics and calls of all reports, questions of the latest ones."""
    # A question that is not asked again stays in every later report, with its calls.
    told: set[tuple[str, str]] = set()
    for report in source.evaluations:
        yield from _numbers(report)
        yield from _calls(report, told)
    for report in source.evaluated:
        keys = {**combination_row(report.combination), "run_id": report.run_id}
        for one in report.questions:
            row = one.model_dump(exclude={"calls"}) | keys | {"failure": one.failure or None}
            yield from _question(one, row)


def _numbers(report: EvaluationReport[Any]) -> Iterator[TableRow]:
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


def _calls(report: EvaluationReport[Any], told: set[tuple[str, str]]) -> Iterator[TableRow]:
    where = report.combination.key
    keys = {**combination_row(report.combination), "stage": "evaluation", "run_id": report.run_id}
    calls = [call for one in report.questions for call in one.calls]
    yield from call_rows([call for call in calls if (where, call.request_key) not in told], keys)
    told.update((where, call.request_key) for call in calls if call.request_key)


def _question(one: EvaluatedQuestion, row: Row) -> Iterable[TableRow]:
    if isinstance(one, ClosedBookAnswer):
        row |= {"given": one.given or None, "explanation": one.explanation or None}
        return [("closed_book", row)]
    if isinstance(one, BaselineAnswer):
        row |= {
            "given": one.given or None,
            "is_grounded": None if one.grading is None else one.grading.is_grounded,
            "confidence": None if one.grading is None else one.grading.confidence,
        }
        return [("baseline_answers", row)]
    return _retrieved(one, row) if isinstance(one, RetrievedQuestion) else ()


def _retrieved(one: RetrievedQuestion, row: Row) -> Iterator[TableRow]:
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
