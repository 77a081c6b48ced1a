"""Checks of the evaluations: whether a metric is within the bound of the scenario, and whether every question has a result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from qagen_dagster.defs.check_results import warning_result
from qagen_dagster.records.corpus_config import EvaluationOptions
from qagen_dagster.records.evaluation import EvaluationReport, Kind


@dataclass(frozen=True)
class BoundCheck:
    """A check that a metric is not above its bound (with `upper`) or not below it. `bound` returns the bound; None: no bound."""

    name: str
    description: str
    metric: str
    bound: Callable[[EvaluationOptions], float | None]
    upper: bool


_CHECKS = {
    Kind.CLOSED_BOOK: BoundCheck(
        "leaked",
        "The share of leaked questions. Warns when it is above `max_leaked` of the scenario.",
        "leaked_share",
        lambda options: options.max_leaked,
        upper=True,
    ),
    Kind.RETRIEVAL: BoundCheck(
        "found",
        "The share of questions whose document is among the first five results of fused search. "
        "Warns when it is below `min_recall_at_5` of the scenario.",
        "fused_document_recall_at_5",
        lambda options: options.min_recall_at_5,
        upper=False,
    ),
    Kind.ANSWERS: BoundCheck(
        "answered",
        "The mean token F1 of the answers. Warns when it is below `min_answer_f1` of the scenario.",
        "token_f1",
        lambda options: options.min_answer_f1,
        upper=False,
    ),
}


def check_descriptions(kind: Kind) -> dict[str, str]:
    """The checks of a kind of evaluation, by name."""
    bound = {_CHECKS[kind].name: _CHECKS[kind].description} if kind in _CHECKS else {}
    complete = "Warns when a question has no result, or a model must be asked again in the next run."
    return {**bound, "complete": complete}


def evaluation_results(
    options: EvaluationOptions, report: EvaluationReport[Any]
) -> list[dg.AssetCheckResult]:
    """Results of a report's checks. A metric that was not measured is within its bound."""
    counts = {"questions": len(report.questions), "failed": report.failed, "asked_again": report.unheard}
    whole = report.failed == 0 and report.unheard == 0
    check = _CHECKS.get(report.kind)
    bounded = [] if check is None else [_bounded(check, options, report)]
    return [*bounded, warning_result("complete", whole, counts)]


def _bounded(
    check: BoundCheck, options: EvaluationOptions, report: EvaluationReport[Any]
) -> dg.AssetCheckResult:
    bound, value = check.bound(options), report.metrics.get(check.metric)
    good = bound is None or value is None or (value <= bound if check.upper else value >= bound)
    numbers = {} if value is None else {check.metric: value}
    limit = {} if bound is None else {"maximum" if check.upper else "minimum": bound}
    return warning_result(check.name, good, numbers | limit)
