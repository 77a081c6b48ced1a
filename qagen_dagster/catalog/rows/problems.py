"""Turns banks of physics problems into flat rows of the catalog's tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from qagen_dagster.catalog.rows.base import Row, TableRow, call_rows, utc
from qagen_dagster.catalog.source import CatalogSource, ProblemRow, ProblemTaskRow


def problem_rows(source: CatalogSource) -> Iterator[TableRow]:
    """Every row with the name of its table: problems, tasks and calls."""
    for problem in source.problems:
        yield "problem_items", _problem(problem)
    for task in source.problem_tasks:
        yield from _task(task)


def _problem(row: ProblemRow) -> Row:
    one, found = row.record, row.record.classification
    return {
        **({} if found is None else dict(found)),
        "problem_set": row.problem_set,
        "problem_id": one.id,
        "position": row.position,
        "outcome": one.end,
        "detail": one.detail or None,
        "source_path": one.problem.source_path,
        "latex": one.latex or None,
        "tikz_code": None if one.tikz is None else one.tikz.tikz_code,
        "alternates": len(one.alternates),
        "variants": one.variants,
        "conversions": one.conversions,
        "breaches": [str(breach) for breach in one.breaches],
        "flagged": one.flagged,
        "compiled": None if one.compiled is None else one.compiled.outcome,
        "models": one.models,
    }


def _task(row: ProblemTaskRow) -> Iterator[TableRow]:
    result = row.result
    keys: Row = {
        "problem_set": row.problem_set,
        "problem_id": row.problem_id,
        "task": result.task.key,
        "fingerprint": result.fingerprint,
        "current": row.current,
    }
    yield (
        "problem_tasks",
        {
            **keys,
            "stage": result.task.stage,
            "outcome": result.end,
            "detail": result.detail or None,
            "breaches": [str(one) for one in result.breaches],
            "repaired": [str(one) for one in result.repaired],
            "warnings": result.warnings,
            "compiled": None if result.compiled is None else result.compiled.outcome,
            "model": result.model or None,
            "prompt": result.prompt or None,
            "finished": utc(datetime.fromisoformat(result.at)) if result.at else None,
        },
    )
    for _, call in call_rows(result.calls, keys):
        yield "problem_calls", call
