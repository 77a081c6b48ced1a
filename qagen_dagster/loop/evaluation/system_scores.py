"""Scores of systems under test, as means with 95 % intervals, paired comparisons of two systems, and whether a set favours a system.

Questions about one document are not independent, so intervals and tests count documents. A set may favour a system if a model of the
system's family wrote questions, because published work finds that models rank themselves first.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from statistics import fmean, pvariance
from typing import TypeVar

from qagen_dagster.english.words import listed
from qagen_dagster.loop import statistics
from qagen_dagster.loop.evaluation import ranking_measures
from qagen_dagster.models.providers import PROVIDERS
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import (
    BaselineAnswer,
    Comparison,
    Decided,
    EvaluatedQuestion,
    Measure,
    OwnQuestions,
    Placement,
    Plan,
    RetrievedQuestion,
    ScoredAnswer,
    Scores,
    SystemScores,
)

_CORRECT, _FACTS, _BALANCED, _FOUND_CUT = "correct", "key_facts", "balanced", 5
_FOUND_DOCUMENT = f"document_recall_at_{_FOUND_CUT}"
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
_AskedT = TypeVar("_AskedT", bound=EvaluatedQuestion)
_SAME = {"gemma": "gemini", "qwq": "qwen"} | dict.fromkeys(
    listed("mixtral ministral magistral codestral devstral pixtral"), "mistral"
)
_KNOWN = listed("embedded deepseek gpt claude gemini llama mistral qwen phi command grok nova")
_FAMILY = re.compile(rf"(?<![a-z])(?:chat|code)?({'|'.join((*_KNOWN, *_SAME))})")
_OPENAI = re.compile(r"(?:^|[:/])o\d")


def scores(answers: Sequence[ScoredAnswer], *, answered: bool, retrieved: bool) -> Scores:
    """The scores of a system. `answered` and `retrieved` state whether it gave any answers and any passages."""
    measures: dict[str, Measure | None] = {}
    whole = len(answers)
    counts: dict[str, int] = {}
    if answered:
        silent = sum(answer.decided is Decided.UNKNOWN and answer.right is False for answer in answers)
        right = sum(answer.right is True for answer in answers)
        wrong = sum(answer.right is False for answer in answers) - silent
        undecided = sum(answer.right is None for answer in answers)
        counts = {"right": right, "wrong": wrong, "unanswered": silent, "undecided": undecided}
        measures[_CORRECT] = mean_of(answers, lambda one: one.right)
        measures[_FACTS] = mean_of([one for one in answers if one.answerable], lambda one: one.key_facts)
        measures |= _abstentions(answers)
    if retrieved:
        answers = [answer for answer in answers if answer.answerable]
        for level, ranks in _PLACES.items():
            for cut in ranking_measures.CUTS:
                measures[f"{level}_recall_at_{cut}"] = mean_of(
                    answers,
                    lambda one, of=ranks, cut=cut: ranking_measures.recall(of(one), cut) if of(one) else None,
                )
            measures[f"{level}_mrr"] = mean_of(
                answers, lambda one, of=ranks: ranking_measures.reciprocal_rank(of(one)) if of(one) else None
            )
        for name in dict.fromkeys(name for answer in answers for name in answer.graded):
            measures[name] = mean_of(answers, lambda one, of=name: one.graded.get(of))
    known = {name: one for name, one in measures.items() if one is not None}
    return Scores(questions=whole, counts=counts, measures=known)


def _abstentions(answers: Sequence[ScoredAnswer]) -> dict[str, Measure | None]:
    """Measures of whether a system answers only answerable questions; empty if all questions have an answer."""
    having = [answer for answer in answers if answer.answerable]
    lacking = [answer for answer in answers if not answer.answerable]
    if not lacking:
        return {}
    accuracy = mean_of(having, lambda one: one.right)
    abstention = mean_of(lacking, lambda one: one.abstained)
    return {
        "answerable_accuracy": accuracy,
        "abstention": abstention,
        "over_abstention": mean_of(having, lambda one: one.abstained),
        _BALANCED: None if accuracy is None or abstention is None else _balanced(accuracy, abstention),
    }


def _balanced(one: Measure, other: Measure) -> Measure:
    """The harmonic mean of both measures. It is 0 for a system that always abstains, and for a system that never abstains.

    The ends of its interval are the harmonic means of the lower ends and of the upper ends, so the interval is never too narrow.
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
        for answer in answers:
            parts.setdefault(name(answer), []).append(answer)
        found[by] = {
            part: scores(parts[part], answered=answered, retrieved=retrieved) for part in sorted(parts)
        }
    return found


_OUTCOMES: Mapping[str, Callable[[ScoredAnswer], bool | None]] = {
    _CORRECT: lambda one: one.right,
    _FOUND_DOCUMENT: lambda one: ranking_measures.recall((one.document_rank,), _FOUND_CUT) == 1,
}


def compare_systems(first: SystemScores, second: SystemScores) -> tuple[Comparison, ...]:
    """Compare two systems by correct answers, and by the questions whose document is among the first _FOUND_CUT documents found.

    A comparison is left out if a system has no such measure. The p-values are corrected for the number of comparisons (Holm).
    """
    both = set(first.overall.measures) & set(second.overall.measures)
    found = [_compared_systems(name, of, first, second) for name, of in _OUTCOMES.items() if name in both]
    corrected = statistics.holm([one.p_value for one in found])
    return tuple(
        comparison.model_copy(update={"corrected_p_value": value})
        for comparison, value in zip(found, corrected, strict=True)
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
    for answer, mine, theirs in known:
        differences[answer.document_id] = differences.get(answer.document_id, 0) + mine - theirs
    return Comparison(
        measure=name,
        both=both,
        neither=len(known) - both - len(only_first) - len(only_second),
        only_first=only_first,
        only_second=only_second,
        documents=len(differences),
        p_value=statistics.sign_flips(list(differences.values())),
        left_out=len(pairs) - len(known),
    )


def plan_questions(systems: Sequence[SystemScores], difference: float) -> tuple[Plan, ...]:
    """The numbers of questions and documents that are needed to show `difference` in each measure of `_OUTCOMES` that all `systems` have.

    The variance of the difference is measured on two systems. For a single system, it is estimated for a second system that is equally good
    and independent of the first. This gives an upper bound of the numbers.
    """
    shared = (name for name in _OUTCOMES if all(name in system.overall.measures for system in systems))
    plans = (_planned(name, _OUTCOMES[name], systems, difference) for name in shared)
    return tuple(plan for plan in plans if plan is not None)


def _planned(
    name: str, of: Callable[[ScoredAnswer], bool | None], systems: Sequence[SystemScores], difference: float
) -> Plan | None:
    """The plan for one measure; None if no question has the measure for all systems."""
    by_document: dict[str, list[float]] = {}
    for answers in zip(*(system.answers for system in systems), strict=True):
        values = [of(answer) for answer in answers]
        if None not in values:
            signed = float(values[0] or 0) - (float(values[1] or 0) if len(values) == 2 else 0.0)
            by_document.setdefault(answers[0].document_id, []).append(signed)
    values = list(chain.from_iterable(by_document.values()))
    if not values:
        return None
    spread = pvariance(values)
    effect = 1.0
    if spread and len(by_document) > 1:
        effect = max(1.0, statistics.cluster_variance(by_document.values()) * len(values) / spread)
    needed = statistics.questions_needed(difference, spread * (2 if len(systems) == 1 else 1), effect)
    return Plan(
        measure=name,
        difference=difference,
        questions=needed,
        documents=math.ceil(needed * len(by_document) / len(values)),
        design_effect=round(effect, 2),
    )


def mean_of(questions: Sequence[_AskedT], value: Callable[[_AskedT], float | None]) -> Measure | None:
    """The mean of values from 0 to 1 with its interval. Values of None are left out. The result is None if no value is left."""
    by_document: dict[str, list[float]] = {}
    for question in questions:
        measured = value(question)
        if measured is not None:
            by_document.setdefault(question.document_id, []).append(float(measured))
    found = list(chain.from_iterable(by_document.values()))
    if not found:
        return None
    interval = statistics.clustered(by_document.values())
    lower, upper = statistics.bounds(sum(found), len(found), len(questions))
    return Measure(
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


def report_intervals(questions: Sequence[EvaluatedQuestion]) -> dict[str, Measure]:
    """The main measures of an evaluation with their intervals, under the names of its metrics."""
    found = {name: mean_of(questions, value) for name, value in _MAIN.items()}
    return {name: one for name, one in found.items() if one is not None}


def _field(name: str) -> Callable[[EvaluatedQuestion], float | None]:
    """A function that returns the value of the field `name`, or None for a question of an evaluation without this field."""
    return lambda one: getattr(one, name, None)


def _grounded(question: EvaluatedQuestion) -> float | None:
    if not isinstance(question, BaselineAnswer) or question.f1 is None or question.grading is None:
        return None
    return question.grading.is_grounded


def _found(level: str, *, untitled: bool = False) -> Callable[[EvaluatedQuestion], float | None]:
    """A function that returns whether the document is among the first _FOUND_CUT of the fused ranking, or, for the `level` "evidence", the
    share of the quotes that are. It returns None if nothing was ranked."""

    def value(question: EvaluatedQuestion) -> float | None:
        if not isinstance(question, RetrievedQuestion):
            return None
        places = (question.untitled_placements if untitled else ()) or question.placements
        place: Placement | None = ranking_measures.placed(places, Ranking.BOTH)
        if place is None or (level == "evidence" and not (question.relevant and place.evidence)):
            return None
        return ranking_measures.recall(
            (place.document,) if level == "document" else place.evidence, _FOUND_CUT
        )

    return value


_FUSED = ranking_measures.NAMES[Ranking.BOTH]
_MAIN: Mapping[str, Callable[[EvaluatedQuestion], float | None]] = {
    "leaked_share": _field("leaked"),
    "suspected_share": _field("suspected"),
    f"{_FUSED}_document_recall_at_{_FOUND_CUT}": _found("document"),
    f"{ranking_measures.UNTITLED}{_FUSED}_document_recall_at_{_FOUND_CUT}": _found("document", untitled=True),
    f"{_FUSED}_evidence_recall_at_{_FOUND_CUT}": _found("evidence"),
    "exact_match": _field("exact"),
    "token_f1": _field("f1"),
    "grounded_share": _grounded,
}


def family(model: str) -> str:
    """The family of a model: "gpt" for `openai:gpt-6-sol`, "llama" for `meta-llama/Llama-3.1-8B`; empty for an empty name.

    The family of an unknown model is the first run of letters in its name, without the provider.
    """
    name = model.casefold()
    found = _FAMILY.search(name)
    if found:
        return _SAME.get(found[1], found[1])
    if _OPENAI.search(name):
        return "gpt"
    provider, _, rest = name.partition(":")
    first = re.search(r"[^\W\d_]+", (rest if provider in PROVIDERS else name).rpartition("/")[2])
    return first[0] if first else ""


def with_own(systems: Sequence[SystemScores], models: Sequence[str]) -> tuple[SystemScores, ...]:
    """The scores, with scores for the questions that a model of the system's family wrote. `models` has the model of each system, or ""."""
    return tuple(
        one.model_copy(update={"own": _own(at, systems, family(model))})
        for at, (one, model) in enumerate(zip(systems, models, strict=True))
    )


def _own(at: int, systems: Sequence[SystemScores], name: str) -> OwnQuestions | None:
    measured = (outcome for outcome in _OUTCOMES if all(outcome in each.overall.measures for each in systems))
    measure = next(measured, "")
    parts = [[_own_mean(system, measure, name, own=own) for system in systems] for own in (True, False)]
    (mine, others), several = (part[at] for part in parts), len(systems) > 1
    if not name or mine is None:
        return None
    ranks = [
        1 + sum(each is not None and each.value > value.value for each in part)
        for part, value in zip(parts, (mine, others), strict=True)
        if value is not None and several
    ]
    questions = sum(family(answer.writer) == name for answer in systems[at].answers)
    return OwnQuestions(
        family=name, questions=questions, measure=measure, own=mine, others=others, ranks=tuple(ranks)
    )


def _own_mean(system: SystemScores, measure: str, name: str, *, own: bool) -> Measure | None:
    answers = [answer for answer in system.answers if (family(answer.writer) == name) is own]
    return mean_of(answers, _OUTCOMES[measure]) if measure else None
