"""Aggregation of sentence grades to an answer grade, the same for every method: confidence, verdict and issues.

After "QAGRedo Algorithm Report", sections 4.3 and 5.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qagen_dagster.records.grading import UNGROUNDED, AnswerGrade, SentenceGrade, SentenceStatus

GROUNDED_CONFIDENCE = 0.7


def tally(sentences: Sequence[SentenceGrade], method: str, *, boost: float = 0.0) -> AnswerGrade:
    """Grade an answer by the share of grounded sentences among the measured ones, plus `boost`, at most 1.

    It is grounded from `GROUNDED_CONFIDENCE` on, if no sentence is ungrounded.
    """
    measured = [one for one in sentences if one.status is not SentenceStatus.NOT_MEASURED]
    if not measured:
        return AnswerGrade(is_grounded=None, confidence=None, method=method, sentences=tuple(sentences))
    ungrounded = sum(one.status in UNGROUNDED for one in measured)
    confidence = min(1.0, 1 - ungrounded / len(measured) + boost)
    return AnswerGrade(
        is_grounded=confidence >= GROUNDED_CONFIDENCE and not ungrounded,
        confidence=confidence,
        method=method,
        issues=issues(sentences),
        sentences=tuple(sentences),
    )


def issues(sentences: Iterable[SentenceGrade]) -> tuple[str, ...]:
    """One line for each ungrounded sentence, such as `Low similarity (0.32): '...'`."""
    return tuple(_issue(one) for one in sentences if one.status in UNGROUNDED)


def _issue(one: SentenceGrade) -> str:
    said = "Contradicted" if one.status is SentenceStatus.CONTRADICTED else "Low similarity"
    if one.score is None:
        said = "Contradicted" if one.status is SentenceStatus.CONTRADICTED else "Not found"
    score = "" if one.score is None else f" ({one.score:.2f})"
    return f"{said}{score}: '{one.sentence}'" + (f" - {one.reason}" if one.reason else "")
