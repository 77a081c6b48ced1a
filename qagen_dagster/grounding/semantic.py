"""Grades of answers without any model call: our detector, and the rule of the reference beside it.

What belongs here: from a claim and its windows to a status, a score, a span and a reason. What does not: features
(`features.py`), weights (`calibration.json`), and who asks a judge (`hybrid.py`).
"""

from __future__ import annotations

import numpy as np

from qagen_dagster.grounding.facts import differences, facts
from qagen_dagster.grounding.source import Source
from qagen_dagster.grounding.words import content_stems
from qagen_dagster.index.sentences import claims
from qagen_dagster.records.grounding import AnswerGrade, SentenceGrade, SentenceStatus

DESCRIBED_THRESHOLD = 0.5
GROUNDED_CONFIDENCE = 0.7
EACH = 30


def grade(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade each sentence of `answer` by our detector; nothing is raised for odd input."""
    del question
    return grade_as_described(answer, source)


def grade_as_described(answer: str, source: Source, threshold: float = DESCRIBED_THRESHOLD) -> AnswerGrade:
    """Grounded from a cosine of `threshold` on, as in "QAGRedo Algorithm Report", section 4.3.1."""
    graded = tuple(_described(claim.text, source, threshold) for claim in claims(answer))
    return summed_up(graded, "semantic")


def summed_up(graded: tuple[SentenceGrade, ...], method: str) -> AnswerGrade:
    """Confidence is the share of grounded sentences among those that were measured."""
    ungrounded = [
        one for one in graded if one.status in (SentenceStatus.CONTRADICTED, SentenceStatus.NOT_FOUND)
    ]
    measured = [one for one in graded if one.status is not SentenceStatus.NOT_MEASURED]
    issues = tuple(f"{one.sentence}: {one.reason}" for one in graded if one.reason)
    if not measured:
        return AnswerGrade(is_grounded=None, confidence=None, method=method, issues=issues, sentences=graded)
    confidence = 1 - len(ungrounded) / len(measured)
    return AnswerGrade(
        is_grounded=confidence >= GROUNDED_CONFIDENCE and not ungrounded,
        confidence=confidence,
        method=method,
        issues=issues,
        sentences=graded,
    )


def _described(claim: str, source: Source, threshold: float) -> SentenceGrade:
    windows = source.candidates(content_stems(claim), EACH)
    if not windows:
        return SentenceGrade(
            sentence=claim,
            status=SentenceStatus.NOT_FOUND,
            score=0.0,
            reason="nothing in the document is like it",
        )
    cosines = source.vectors(windows) @ source.encode([claim])[0]
    best = int(np.argmax(cosines))
    score = float(min(max(float(cosines[best]), 0.0), 1.0))
    span = source.evidence(windows[best])
    if score >= threshold:
        return SentenceGrade(sentence=claim, status=SentenceStatus.SUPPORTED, score=score, evidence=span)
    different = differences(facts(claim), facts(span.quote))
    reason = (
        different[0].line(f"line {span.start_line}") if different else "nothing in the document is like it"
    )
    return SentenceGrade(
        sentence=claim, status=SentenceStatus.NOT_FOUND, score=score, evidence=span, reason=reason
    )
