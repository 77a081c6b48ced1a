"""The intervals of measures of questions. Questions about one document are not independent, so they count documents."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import TypeVar

from qagen_dagster.loop.evaluation.ranking_measures import NAMES, UNTITLED, placed, recall
from qagen_dagster.loop.statistics import bounds, clustered
from qagen_dagster.records import evaluation
from qagen_dagster.records.document import Ranking

AskedT = TypeVar("AskedT", bound=evaluation.EvaluatedQuestion)
_CUT = 5


def mean_of(
    questions: Sequence[AskedT], value: Callable[[AskedT], float | None]
) -> evaluation.Measure | None:
    """The mean of values from 0 to 1 with its interval; a value of None was not measured. None without values."""
    by_document: dict[str, list[float]] = {}
    for one in questions:
        measured = value(one)
        if measured is not None:
            by_document.setdefault(one.document_id, []).append(float(measured))
    found = list(chain.from_iterable(by_document.values()))
    if not found:
        return None
    interval = clustered(by_document.values())
    lower, upper = bounds(sum(found), len(found), len(questions))
    return evaluation.Measure(
        value=round(fmean(found), 4),
        low=round(interval.low, 4),
        high=round(interval.high, 4),
        questions=len(found),
        documents=len(by_document),
        design_effect=None if interval.design_effect is None else round(interval.design_effect, 2),
        lower=lower,
        upper=upper,
        not_measured=len(questions) - len(found),
    )


def report_intervals(questions: Sequence[evaluation.EvaluatedQuestion]) -> dict[str, evaluation.Measure]:
    """The main measures of an evaluation with their intervals, under the names of its metrics."""
    found = {name: mean_of(questions, value) for name, value in _MAIN.items()}
    return {name: one for name, one in found.items() if one is not None}


def _field(name: str) -> Callable[[evaluation.EvaluatedQuestion], float | None]:
    """The value of a field that only the questions of one evaluation have."""
    return lambda one: getattr(one, name, None)


def _grounded(one: evaluation.EvaluatedQuestion) -> float | None:
    if not isinstance(one, evaluation.BaselineAnswer) or one.f1 is None or one.grading is None:
        return None
    return one.grading.is_grounded


def _found(level: str, *, untitled: bool = False) -> Callable[[evaluation.EvaluatedQuestion], float | None]:
    """Whether the document is among the first five of the fused ranking, or the share of the quotes that is."""

    def value(one: evaluation.EvaluatedQuestion) -> float | None:
        if not isinstance(one, evaluation.RetrievedQuestion):
            return None
        places = (one.untitled_placements if untitled else ()) or one.placements
        place: evaluation.Placement | None = placed(places, Ranking.BOTH)
        if place is None or (level == "evidence" and not (one.relevant and place.evidence)):
            return None
        return recall((place.document,) if level == "document" else place.evidence, _CUT)

    return value


_FUSED = NAMES[Ranking.BOTH]
_MAIN: Mapping[str, Callable[[evaluation.EvaluatedQuestion], float | None]] = {
    "leaked_share": _field("leaked"),
    "suspected_share": _field("suspected"),
    f"{_FUSED}_document_recall_at_{_CUT}": _found("document"),
    f"{UNTITLED}{_FUSED}_document_recall_at_{_CUT}": _found("document", untitled=True),
    f"{_FUSED}_evidence_recall_at_{_CUT}": _found("evidence"),
    "exact_match": _field("exact"),
    "token_f1": _field("f1"),
    "grounded_share": _grounded,
}
