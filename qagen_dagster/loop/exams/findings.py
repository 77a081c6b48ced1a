"""Decides why an attempt at an exam item fails, if it does. Code decides, whatever a model called its verdict."""

from __future__ import annotations

from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.item import (
    BlindSolution,
    ExamQuestion,
    Severity,
    StyleReport,
    Verdict,
    VerifierReport,
)
from qagen_dagster.records.exams.proof import Examination
from qagen_dagster.records.exams.result import Attempt, Finding, Stage

KEY_NOT_REACHED = "key_not_reached"
SEVERAL_RIGHT = "several_right_options"
NONE_RIGHT = "no_right_option"
_SEVERITY_ORDER = (Severity.STRUCTURAL, Severity.UNKNOWN, Severity.FIXABLE)


def finding_of(attempt: Attempt, thresholds: StyleThresholds) -> Finding | None:
    """The finding about an attempt so far; None when nothing is wrong."""
    if attempt.broken is not None:
        return attempt.broken
    found: Finding | None = None
    if attempt.examination is not None:
        found = _of_code_checks(attempt.examination)
    if found is None and attempt.blind is not None and attempt.package is not None:
        found = _of_blind(attempt.blind, attempt.package.question)
    if found is None and attempt.report is not None:
        found = _of_report(attempt.report)
    if found is None and attempt.style is not None:
        found = _of_style(attempt.style, thresholds)
    return found


def _of_code_checks(examination: Examination) -> Finding | None:
    if not examination.faults:
        return None
    worst = min(examination.faults, key=lambda one: _SEVERITY_ORDER.index(one.severity))
    return Finding(
        stage=Stage.GATES,
        name=worst.name,
        severity=worst.severity,
        detail="; ".join(f"{one.name}: {one.detail}" for one in examination.faults),
    )


def _of_blind(blind: BlindSolution, question: ExamQuestion) -> Finding | None:
    """The answer of the verifier must be the key and nothing else."""
    key = question.correct_option
    right = blind.right
    if right == (key,):
        return None
    if len(right) > 1:
        name, said = SEVERAL_RIGHT, f"found {', '.join(right)} all right"
    elif not right:
        name, said = NONE_RIGHT, "found no option right"
    else:
        name, said = KEY_NOT_REACHED, f"chose {right[0]}"
    return Finding(
        stage=Stage.BLIND_SOLUTION,
        name=name,
        severity=Severity.FIXABLE,
        detail=f"solving without the key, the verifier {said}, not {key}; its value: {blind.value}",
        instructions=(
            f"The key is {key}, but an examiner who did not know it {said}. Find out which of the two is mistaken, "
            f"and leave no room for it in the new question. The examiner's steps: {blind.reasoning}"
        ),
    )


def _of_report(report: VerifierReport) -> Finding | None:
    if report.verdict is Verdict.PASSED:
        return None
    return Finding(
        stage=Stage.VERIFIER,
        name=report.failure_type or "unspecified",
        severity=report.severity or Severity.UNKNOWN,
        detail="; ".join(report.reasons) or "no reasons given",
        instructions=report.regen_instructions,
    )


def _of_style(style: StyleReport, thresholds: StyleThresholds) -> Finding | None:
    if thresholds.accepts(style.scores):
        return None
    scores = ", ".join(f"{name} {value}" for name, value in style.scores.model_dump().items())
    return Finding(
        stage=Stage.STYLE_JUDGE,
        name=style.failure_type or "below_thresholds",
        severity=style.severity or Severity.UNKNOWN,
        detail=f"{scores}; needed: each at least {thresholds.least_score}, mean at least {thresholds.least_mean:g}",
        instructions=style.regen_instructions,
    )
