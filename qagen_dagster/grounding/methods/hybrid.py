"""Hybrid grades: code first, and the judge for answers that code finds ungrounded or leaves undecided.

After "QAGRedo Algorithm Report", section 4.3.4. Without a judge, or without its verdict, the first result stands and
the method says so.
"""

from __future__ import annotations

from typing import Any

from qagen_dagster.grounding.methods import llm, semantic
from qagen_dagster.grounding.source import Source
from qagen_dagster.grounding.tally import GROUNDED_CONFIDENCE, issues
from qagen_dagster.records.grading import AnswerGrade, JudgeVerdict, SentenceGrade, SentenceStatus, Verdict

ALL_PASSED = "hybrid (semantic only -- all passed)"
NOTHING = "hybrid (semantic only -- nothing to grade)"
NO_JUDGE = "hybrid (semantic only -- no judge)"
JUDGE_FAILED = "hybrid (semantic only -- judge failed)"
OVERRIDE = "hybrid (semantic + LLM override)"
CONFIRMED = "hybrid (semantic + LLM confirmed)"
UNSURE = "hybrid (semantic + LLM unsure)"  # SUPPORTED, but with less than the confidence that overrides
_GROUNDED = (SentenceStatus.SUPPORTED, SentenceStatus.GENERIC)


def grade(question: str, answer: str, source: Source, judge: llm.Judge | None) -> AnswerGrade:
    """Grade `answer`; the judge is asked unless code finds it grounded."""
    first = semantic.grade(answer, source, question=question)
    if first.is_grounded or not first.sentences:
        return _as(first, ALL_PASSED if first.is_grounded else NOTHING)
    judged = llm.ask(question, answer, source, judge)
    if judged.verdict is None:
        method = NO_JUDGE if judge is None else JUDGE_FAILED
        return _as(first, method, judge_failure=judged.failure, calls=judged.calls)
    return combine(first, judged.verdict).model_copy(
        update={"llm_verdict": judged.verdict, "calls": judged.calls}
    )


def combine(first: AnswerGrade, verdict: JudgeVerdict) -> AnswerGrade:
    """The grade if the first pass did not accept the answer (`first`) and the judge gave `verdict`."""
    said = llm.judge_issue(verdict)
    if verdict.verdict is Verdict.SUPPORTED and verdict.confidence >= GROUNDED_CONFIDENCE:
        contradicted = (one for one in first.sentences if one.status is SentenceStatus.CONTRADICTED)
        notes = tuple(f"Overridden: {one}" for one in issues(contradicted))
        sentences = tuple(_overridden(one) for one in first.sentences)
        return _as(
            first,
            OVERRIDE,
            is_grounded=True,
            confidence=verdict.confidence,
            issues=notes,
            sentences=sentences,
        )
    method = CONFIRMED if verdict.verdict is Verdict.NOT_SUPPORTED else UNSURE
    if first.confidence is None:
        alone = llm.grade_of_verdict([], verdict, ())
        sentences = tuple(_undecided(one, verdict.reason) for one in first.sentences)
        return _as(alone, method, is_grounded=False, issues=(said,), sentences=sentences)
    least = min(first.confidence, verdict.confidence)
    return _as(first, method, is_grounded=False, confidence=least, issues=(*first.issues, said))


def _undecided(one: SentenceGrade, reason: str) -> SentenceGrade:
    """The sentence as the judge leaves it: what code did not find supported is not found."""
    if one.status in _GROUNDED:
        return one
    return one.model_copy(update={"status": SentenceStatus.NOT_FOUND, "reason": reason})


def _overridden(one: SentenceGrade) -> SentenceGrade:
    """The sentence with the judge's status; a contradiction leaves a note."""
    if one.status in _GROUNDED:
        return one
    was = one.status is SentenceStatus.CONTRADICTED
    note = f"the judge found it supported; before: {one.reason or 'contradicted'}" if was else ""
    return one.model_copy(update={"status": SentenceStatus.SUPPORTED, "reason": note})


def _as(grade: AnswerGrade, method: str, **fields: Any) -> AnswerGrade:
    return grade.model_copy(update={"method": method, **fields})
