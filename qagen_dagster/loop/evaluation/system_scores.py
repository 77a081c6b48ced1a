"""Scores of systems under test, as means with 95 % intervals, and paired comparisons of two systems.

Questions about one document are not independent: intervals and tests count documents.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from statistics import pvariance

from qagen_dagster.loop.evaluation.intervals import mean_of
from qagen_dagster.loop.evaluation.ranking_measures import (
    CUTS,
    recall,
    reciprocal_rank,
)
from qagen_dagster.loop.statistics import cluster_variance, holm, questions_needed, sign_flips
from qagen_dagster.records.evaluation import (
    Comparison,
    Decided,
    Measure,
    Plan,
    ScoredAnswer,
    Scores,
    SystemScores,
)

CORRECT, FACTS, BALANCED, FOUND_CUT = "correct", "key_facts", "balanced", 5
FOUND = f"document_recall_at_{FOUND_CUT}"
_GROUPS: Mapping[str, Callable[[ScoredAnswer], str]] = {
    "type": lambda one: one.question_type or "none",
    "mode": lambda one: one.mode.value,
    "hops": lambda one: "unknown" if one.hops is None else str(one.hops),
    "document": lambda one: one.document_id,
}

_PLACES: Mapping[str, Callable[[ScoredAnswer], Sequence[int | None]]] = {
    "document": lambda one: (one.document_rank,),
    "evidence": lambda one: one.evidence_ranks,
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
        measures[CORRECT] = mean_of(answers, lambda one: one.right)
        measures[FACTS] = mean_of([one for one in answers if one.answerable], lambda one: one.key_facts)
        measures |= _abstentions(answers)
    if retrieved:
        answers = [one for one in answers if one.answerable]
        for level, ranks in _PLACES.items():
            for cut in CUTS:
                measures[f"{level}_recall_at_{cut}"] = mean_of(
                    answers, lambda one, of=ranks, cut=cut: recall(of(one), cut) if of(one) else None
                )
            measures[f"{level}_mrr"] = mean_of(
                answers, lambda one, of=ranks: reciprocal_rank(of(one)) if of(one) else None
            )
        for name in dict.fromkeys(name for one in answers for name in one.graded):
            measures[name] = mean_of(answers, lambda one, of=name: one.graded.get(of))
    known = {name: one for name, one in measures.items() if one is not None}
    return Scores(questions=whole, counts=counts, measures=known)


def _abstentions(answers: Sequence[ScoredAnswer]) -> dict[str, Measure | None]:
    """Whether a system answers what can be answered and nothing else; empty if all questions have an answer."""
    having = [one for one in answers if one.answerable]
    lacking = [one for one in answers if not one.answerable]
    if not lacking:
        return {}
    accuracy = mean_of(having, lambda one: one.right)
    abstention = mean_of(lacking, lambda one: one.abstained)
    return {
        "answerable_accuracy": accuracy,
        "abstention": abstention,
        "over_abstention": mean_of(having, lambda one: one.abstained),
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
        documents=max(one.documents, other.documents),
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


OUTCOMES: Mapping[str, Callable[[ScoredAnswer], bool | None]] = {
    CORRECT: lambda one: one.right,
    FOUND: lambda one: recall((one.document_rank,), FOUND_CUT) == 1,
}


def compare_systems(first: SystemScores, second: SystemScores) -> tuple[Comparison, ...]:
    """Compare two systems by correctness and, if they gave passages, by whether the document is among the first FOUND_CUT."""
    both = set(first.overall.measures) & set(second.overall.measures)
    found = [_compared_systems(name, of, first, second) for name, of in OUTCOMES.items() if name in both]
    corrected = holm([one.p_value for one in found])
    return tuple(
        one.model_copy(update={"corrected_p_value": value})
        for one, value in zip(found, corrected, strict=True)
    )


def _compared_systems(
    name: str, of: Callable[[ScoredAnswer], bool | None], first: SystemScores, second: SystemScores
) -> Comparison:
    pairs = [(one, of(one), of(other)) for one, other in zip(first.answers, second.answers, strict=True)]
    known = [(one, mine, theirs) for one, mine, theirs in pairs if mine is not None and theirs is not None]
    only_first = tuple(one.question_id for one, mine, theirs in known if mine and not theirs)
    only_second = tuple(one.question_id for one, mine, theirs in known if theirs and not mine)
    both = sum(mine and theirs for _, mine, theirs in known)
    differences: dict[str, int] = {}
    for one, mine, theirs in known:
        differences[one.document_id] = differences.get(one.document_id, 0) + mine - theirs
    return Comparison(
        measure=name,
        both=both,
        neither=len(known) - both - len(only_first) - len(only_second),
        only_first=only_first,
        only_second=only_second,
        documents=len(differences),
        p_value=sign_flips(list(differences.values())),
        left_out=len(pairs) - len(known),
    )


def plan_questions(systems: Sequence[SystemScores], difference: float) -> tuple[Plan, ...]:
    """How many questions and documents show a difference of `difference` in each measure of `OUTCOMES` that the systems have.

    Two systems say how often they differ on a question. With one the other counts as equally good and independent of it, so that
    the number is an upper bound.
    """
    return tuple(
        _planned(name, of, systems, difference)
        for name, of in OUTCOMES.items()
        if all(name in one.overall.measures for one in systems)
    )


def _planned(
    name: str, of: Callable[[ScoredAnswer], bool | None], systems: Sequence[SystemScores], difference: float
) -> Plan:
    by_document: dict[str, list[float]] = {}
    for answers in zip(*(one.answers for one in systems), strict=True):
        values = [of(one) for one in answers]
        if None not in values:
            signed = float(values[0] or 0) - (float(values[1] or 0) if len(values) == 2 else 0.0)
            by_document.setdefault(answers[0].document_id, []).append(signed)
    values = list(chain.from_iterable(by_document.values()))
    spread = pvariance(values)
    effect = 1.0
    if spread and len(by_document) > 1:
        effect = max(1.0, cluster_variance(by_document.values()) * len(values) / spread)
    needed = questions_needed(difference, spread * (2 if len(systems) == 1 else 1), effect)
    return Plan(
        measure=name,
        difference=difference,
        questions=needed,
        documents=math.ceil(needed * len(by_document) / len(values)),
        design_effect=round(effect, 2),
    )
