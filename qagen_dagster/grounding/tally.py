"""Aggregation of sentence grades to an answer grade, the same for every method: confidence, verdict and issues.

After "QAGRedo Algorithm Report", sections 4.3 and 5.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qagen_dagster.records.grading import UNGROUNDED, AnswerGrade, SentenceGrade, SentenceStatus

GROUNDED_CONFIDENCE = 0.7
_NAMES = {
    SentenceStatus.CONTRADICTED: "Contradicted",
    SentenceStatus.NOT_FOUND: "Low similarity",
    SentenceStatus.NOT_MEASURED: "Undecided",
}


def tally(sentences: Sequence[SentenceGrade], method: str, *, boost: float = 0.0) -> AnswerGrade:
    """Grade an answer by the share of grounded sentences among the decided ones, plus `boost`, at most 1.

    It is grounded from `GROUNDED_CONFIDENCE` on, if no sentence is ungrounded. If one is undecided and none ungrounded,
    the answer is undecided.
    """
    decided = [one for one in sentences if one.status is not SentenceStatus.NOT_MEASURED]
    ungrounded = sum(one.status in UNGROUNDED for one in decided)
    undecided = not decided or (not ungrounded and len(decided) < len(sentences))
    confidence = None if undecided else min(1.0, 1 - ungrounded / len(decided) + boost)
    return AnswerGrade(
        is_grounded=None if confidence is None else confidence >= GROUNDED_CONFIDENCE and not ungrounded,
        confidence=confidence,
        method=method,
        issues=issues(sentences),
        sentences=tuple(sentences),
    )


def issues(sentences: Iterable[SentenceGrade]) -> tuple[str, ...]:
    """One line for each sentence that is not grounded, such as `Low similarity (0.32): '...'`."""
    return tuple(_issue(one) for one in sentences if one.status in _NAMES)


def _issue(one: SentenceGrade) -> str:
    name = "Not found" if one.status is SentenceStatus.NOT_FOUND and one.score is None else _NAMES[one.status]
    score = "" if one.score is None else f" ({one.score:.2f})"
    return f"{name}{score}: '{one.sentence}'" + (f" - {one.reason}" if one.reason else "")
