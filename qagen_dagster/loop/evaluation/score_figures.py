"""Figures of scored answers: shares and means with 95 % intervals, by group, and two systems compared.

Source: McNemar, Psychometrika 1947 (paired shares; here the exact binomial test).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from qagen_dagster.loop.evaluation.retrieval_scores import CUTS, recall, reciprocal_rank
from qagen_dagster.loop.review.agreement import wilson
from qagen_dagster.records.evaluation import Decided
from qagen_dagster.records.scores import Comparison, Measure, ScoredAnswer, Scores, SystemScores

CORRECT, FOUND_CUT = "correct", 5
FOUND = f"document_recall_at_{FOUND_CUT}"
_GROUPS: Mapping[str, Callable[[ScoredAnswer], str]] = {
    "type": lambda one: one.question_type or "none",
    "mode": lambda one: one.mode.value,
    "hops": lambda one: "unknown" if one.hops is None else str(one.hops),
    "document": lambda one: one.document_id,
}


def mcnemar(first: int, second: int) -> float:
    """The two-sided p-value of `first` against `second` questions that only one of two systems got right."""
    tail = sum(math.comb(first + second, count) for count in range(min(first, second) + 1))
    return min(1.0, 2 * tail / 2 ** (first + second))


def scores(answers: Sequence[ScoredAnswer], *, answered: bool, retrieved: bool) -> Scores:
    """`answered`, `retrieved`: whether the system gave any answers and any passages."""
    measures: dict[str, Measure | None] = {}
    counts: dict[str, int] = {}
    if answered:
        silent = sum(one.decided is Decided.UNKNOWN for one in answers)
        right = sum(one.right is True for one in answers)
        wrong = sum(one.right is False for one in answers) - silent
        undecided = sum(one.right is None for one in answers)
        counts = {"right": right, "wrong": wrong, "unanswered": silent, "undecided": undecided}
        measures[CORRECT] = _mean(one.right for one in answers if one.right is not None)
    if retrieved:
        places = {
            "document": [(one.document_rank,) for one in answers],
            "evidence": [one.evidence_ranks for one in answers if one.evidence_ranks],
        }
        for level, ranks in places.items():
            for cut in CUTS:
                measures[f"{level}_recall_at_{cut}"] = _mean(recall(one, cut) for one in ranks)
            measures[f"{level}_mrr"] = _mean(reciprocal_rank(one) for one in ranks)
    known = {name: one for name, one in measures.items() if one is not None}
    return Scores(questions=len(answers), counts=counts, measures=known)


def grouped(
    answers: Sequence[ScoredAnswer], *, answered: bool, retrieved: bool
) -> dict[str, dict[str, Scores]]:
    """The scores by type, mode, hops and document."""
    found: dict[str, dict[str, Scores]] = {}
    for by, name in _GROUPS.items():
        parts: dict[str, list[ScoredAnswer]] = {}
        for one in answers:
            parts.setdefault(name(one), []).append(one)
        found[by] = {
            part: scores(parts[part], answered=answered, retrieved=retrieved) for part in sorted(parts)
        }
    return found


def compare(first: SystemScores, second: SystemScores) -> tuple[Comparison, ...]:
    """Compare correctness and, if passages were given, whether the document is among the first FOUND_CUT."""
    both = set(first.overall.measures) & set(second.overall.measures)
    outcomes: Mapping[str, Callable[[ScoredAnswer], bool | None]] = {
        CORRECT: lambda one: one.right,
        FOUND: lambda one: recall((one.document_rank,), FOUND_CUT) == 1,
    }
    return tuple(_compared(name, of, first, second) for name, of in outcomes.items() if name in both)


def _compared(
    name: str, of: Callable[[ScoredAnswer], bool | None], first: SystemScores, second: SystemScores
) -> Comparison:
    pairs = [
        (one.question_id, of(one), of(other))
        for one, other in zip(first.answers, second.answers, strict=True)
    ]
    known = [(id_, mine, theirs) for id_, mine, theirs in pairs if mine is not None and theirs is not None]
    only_first = tuple(id_ for id_, mine, theirs in known if mine and not theirs)
    only_second = tuple(id_ for id_, mine, theirs in known if theirs and not mine)
    both = sum(mine and theirs for _, mine, theirs in known)
    return Comparison(
        measure=name,
        both=both,
        neither=len(known) - both - len(only_first) - len(only_second),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(len(only_first), len(only_second)),
    )


def _mean(values: Iterable[float]) -> Measure | None:
    """The mean of values from 0 to 1; None without values."""
    found = [float(value) for value in values]
    if not found:
        return None
    low, high = wilson(sum(found), len(found))
    return Measure(value=round(fmean(found), 4), low=round(low, 4), high=round(high, 4), questions=len(found))
