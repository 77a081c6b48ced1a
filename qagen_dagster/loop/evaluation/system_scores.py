"""Scores of systems under test, as means with 95 % intervals, and paired comparisons of two systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from qagen_dagster.loop.evaluation.ranking_measures import CUTS, recall, reciprocal_rank
from qagen_dagster.loop.statistics import bounds, mcnemar, wilson
from qagen_dagster.records.evaluation import Comparison, Decided, Measure, ScoredAnswer, Scores, SystemScores

CORRECT, BALANCED, FOUND_CUT = "correct", "balanced", 5
FOUND = f"document_recall_at_{FOUND_CUT}"
_GROUPS: Mapping[str, Callable[[ScoredAnswer], str]] = {
    "type": lambda one: one.question_type or "none",
    "mode": lambda one: one.mode.value,
    "hops": lambda one: "unknown" if one.hops is None else str(one.hops),
    "document": lambda one: one.document_id,
}


def scores(answers: Sequence[ScoredAnswer], *, answered: bool, retrieved: bool) -> Scores:
    """The scores of a system. `answered` and `retrieved` say whether it gave any answers and any passages."""
    measures: dict[str, Measure | None] = {}
    whole = len(answers)
    counts: dict[str, int] = {}
    if answered:
        silent = sum(one.decided is Decided.UNKNOWN and one.right is False for one in answers)
        right = sum(one.right is True for one in answers)
        wrong = sum(one.right is False for one in answers) - silent
        undecided = sum(one.right is None for one in answers)
        counts = {"right": right, "wrong": wrong, "unanswered": silent, "undecided": undecided}
        measures[CORRECT] = _mean_with_interval(
            (one.right for one in answers if one.right is not None), len(answers)
        )
        measures |= _abstentions(answers)
    if retrieved:
        answers = [one for one in answers if one.answerable]
        places = {
            "document": [(one.document_rank,) for one in answers],
            "evidence": [one.evidence_ranks for one in answers if one.evidence_ranks],
        }
        for level, ranks in places.items():
            for cut in CUTS:
                name, found = f"{level}_recall_at_{cut}", (recall(one, cut) for one in ranks)
                measures[name] = _mean_with_interval(found, len(answers))
            found = (reciprocal_rank(one) for one in ranks)
            measures[f"{level}_mrr"] = _mean_with_interval(found, len(answers))
    known = {name: one for name, one in measures.items() if one is not None}
    return Scores(questions=whole, counts=counts, measures=known)


def _abstentions(answers: Sequence[ScoredAnswer]) -> dict[str, Measure | None]:
    """Whether a system answers what can be answered and nothing else; empty if all questions have an answer."""
    having = [one for one in answers if one.answerable]
    lacking = [one for one in answers if not one.answerable]
    if not lacking:
        return {}
    right = (one.right for one in having if one.right is not None)
    declined = (one.abstained for one in lacking if one.abstained is not None)
    needless = (one.abstained for one in having if one.abstained is not None)
    accuracy = _mean_with_interval(right, len(having))
    abstention = _mean_with_interval(declined, len(lacking))
    return {
        "answerable_accuracy": accuracy,
        "abstention": abstention,
        "over_abstention": _mean_with_interval(needless, len(having)),
        BALANCED: None if accuracy is None or abstention is None else _balanced(accuracy, abstention),
    }


def _balanced(one: Measure, other: Measure) -> Measure:
    """The harmonic mean of both: a system that always abstains has 0, and so has one that never does.

    The interval reaches from the mean of the lower ends to that of the upper ends, so it is never too narrow.
    """

    def mean(name: str) -> float:
        first, second = getattr(one, name) or 0.0, getattr(other, name) or 0.0
        return round(2 * first * second / (first + second), 4) if first and second else 0.0

    return Measure(
        value=mean("value"),
        low=mean("low"),
        high=mean("high"),
        questions=one.questions + other.questions,
        lower=mean("lower"),
        upper=mean("upper"),
        not_measured=one.not_measured + other.not_measured,
    )


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


def compare_systems(first: SystemScores, second: SystemScores) -> tuple[Comparison, ...]:
    """Compare two systems by correctness and, if they gave passages, by whether the document is among the first FOUND_CUT."""
    both = set(first.overall.measures) & set(second.overall.measures)
    outcomes: Mapping[str, Callable[[ScoredAnswer], bool | None]] = {
        CORRECT: lambda one: one.right,
        FOUND: lambda one: recall((one.document_rank,), FOUND_CUT) == 1,
    }
    return tuple(_compared_systems(name, of, first, second) for name, of in outcomes.items() if name in both)


def _compared_systems(
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
        left_out=len(pairs) - len(known),
    )


def _mean_with_interval(values: Iterable[float], questions: int) -> Measure | None:
    """The mean of values from 0 to 1, out of `questions`; None without values."""
    found = [float(value) for value in values]
    if not found:
        return None
    low, high = wilson(sum(found), len(found))
    lower, upper = bounds(sum(found), len(found), questions)
    return Measure(
        value=round(fmean(found), 4),
        low=round(low, 4),
        high=round(high, 4),
        questions=len(found),
        lower=lower,
        upper=upper,
        not_measured=questions - len(found),
    )
