"""For each kind of evaluation: its latest report, and whether it is up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.evaluation.answer_baseline import plan_answers
from qagen_dagster.loop.evaluation.closed_book import plan_closed_book
from qagen_dagster.loop.evaluation.published_set import Evaluation, latest_report
from qagen_dagster.loop.evaluation.retrieval_baseline import retrieval_fingerprint
from qagen_dagster.records.evaluation import REPORTS, EvaluationReport, Kind
from qagen_dagster.records.ids import Combination
from qagen_dagster.store import Store

_FINGERPRINTS: dict[Kind, Callable[[Evaluation], str]] = {
    Kind.CLOSED_BOOK: lambda found: plan_closed_book(found).fingerprint,
    Kind.RETRIEVAL: retrieval_fingerprint,
    Kind.ANSWERS: lambda found: plan_answers(found).fingerprint,
}


def latest_of(store: Store, combination: Combination, kind: Kind) -> EvaluationReport[Any] | None:
    """The latest report of a kind; None when there is none that can be read."""
    return latest_report(store, REPORTS[kind], combination, kind)


def is_evaluated(found: Evaluation, kind: Kind) -> bool:
    """Whether another evaluation would change nothing and no question must be asked again. Raises ConfigError."""
    try:
        before = latest_of(found.space.store, found.combination, kind)
        return before is not None and not before.unheard and before.fingerprint == _FINGERPRINTS[kind](found)
    except StoreError:  # there is no index
        return False
