"""Grades of answers, documents and whole sets, by any method.

After "QAGRedo Algorithm Report", sections 4.4 and 5.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from qagen_dagster.english.sentences import claims
from qagen_dagster.grounding.error_rates import error_rates
from qagen_dagster.grounding.methods import hybrid, keyword, llm, semantic
from qagen_dagster.grounding.source import Source
from qagen_dagster.records.grading import (
    AnswerGrade,
    Decided,
    Decider,
    DocumentGrades,
    Grade,
    GradedAnswer,
    GroundingReport,
    Highlight,
    Method,
    SentenceGrade,
    SentenceStatus,
)
from qagen_dagster.records.ids import Mode

NO_TEXT = "the document has no text"
_LEAST = ((0.9, Grade.A), (0.8, Grade.B), (0.7, Grade.C), (0.6, Grade.D))
_BY_CODE = (Method.SEMANTIC, Method.HYBRID)  # methods whose errors `error_rates` are
_ROUNDING = 1e-9  # tolerance for rounding: a mean of .9 may come out slightly lower


def grade_answer(
    question: str, answer: str, source: Source, method: Method, judge: llm.Judge | None = None
) -> AnswerGrade:
    """Grade one answer. A judge's failure is part of the result and is never raised."""
    if not source.text.strip():
        return _unmeasurable(answer, method)
    if method is Method.KEYWORD:
        return keyword.grade(answer, source, question=question)
    if method is Method.LLM:
        return llm.grade(question, answer, source, judge)
    if method is Method.HYBRID:
        return hybrid.grade(question, answer, source, judge)
    return semantic.grade(answer, source, question=question)


def _unmeasurable(answer: str, method: Method) -> AnswerGrade:
    sentences = tuple(
        SentenceGrade(sentence=claim.text, status=SentenceStatus.NOT_MEASURED, reason=NO_TEXT)
        for claim in claims(answer)
    )
    return AnswerGrade(
        is_grounded=None,
        confidence=None,
        method=f"{method.value} ({NO_TEXT})",
        issues=(f"Not measured: {NO_TEXT}",),
        sentences=sentences,
    )


def letter(confidence: float) -> Grade:
    """A from .90, B from .80, C from .70, D from .60, F below."""
    return next((grade for least, grade in _LEAST if confidence >= least - _ROUNDING), Grade.F)


def grade_document(document_id: str, title: str, answers: Sequence[GradedAnswer]) -> DocumentGrades:
    """Summarise one document: the mean confidence of its measured answers, and counts of all."""
    grade, confidence = _of(answers)
    return DocumentGrades(
        document_id=document_id,
        title=title,
        overall_grade=grade,
        overall_confidence=confidence,
        grounded=sum(one.grading.is_grounded is True for one in answers),
        ungrounded=sum(one.grading.is_grounded is False for one in answers),
        not_measured=sum(one.grading.is_grounded is None for one in answers),
        answers=tuple(answers),
        decided=decided(answers),
    )


def report(
    documents: Sequence[DocumentGrades],
    *,
    corpus: str,
    method: Method,
    scenario: str | None = None,
    mode: Mode | None = None,
    run_id: str = "",
    generator_model: str = "",
    judge_model: str = "",
) -> GroundingReport:
    """Summarise documents; every answer has the same weight, whatever its document."""
    grade, confidence = _of(one for document in documents for one in document.answers)
    return GroundingReport(
        corpus=corpus,
        scenario=scenario,
        mode=mode,
        run_id=run_id,
        generator_model=generator_model,
        judge_model=judge_model,
        method=method,
        overall_grade=grade,
        overall_confidence=confidence,
        grounded=sum(document.grounded for document in documents),
        ungrounded=sum(document.ungrounded for document in documents),
        not_measured=sum(document.not_measured for document in documents),
        documents=tuple(documents),
        decided=together(document.decided for document in documents),
        error_rates=error_rates() if method in _BY_CODE else (),
        ungrounded_highlights=tuple(_highlights(documents)),
    )


def decided(answers: Iterable[GradedAnswer]) -> Decided:
    """How many answers were decided, by whom."""
    counts = Counter(one.grading.decided_by for one in answers)
    return Decided(code=counts[Decider.CODE], judge=counts[Decider.JUDGE], nobody=counts[None])


def together(parts: Iterable[Decided | None]) -> Decided:
    """The sum of the counts."""
    counts = Counter[str]()
    for one in parts:
        counts.update({} if one is None else one.model_dump())
    return Decided(**counts)


def overall(confidences: Iterable[float | None]) -> tuple[Grade | None, float | None]:
    """Grade and mean of the measured confidences; None and None if there are none."""
    measured = [one for one in confidences if one is not None]
    if not measured:
        return None, None
    mean = min(1.0, sum(measured) / len(measured))
    return letter(mean), mean


def _of(answers: Iterable[GradedAnswer]) -> tuple[Grade | None, float | None]:
    return overall(one.grading.confidence for one in answers)


def _highlights(documents: Sequence[DocumentGrades]) -> Iterable[Highlight]:
    for document in documents:
        for one in document.answers:
            if one.grading.is_grounded is False:
                yield Highlight(
                    document_id=document.document_id,
                    question=one.question,
                    answer=one.answer,
                    confidence=one.grading.confidence,
                    reasons=one.grading.issues,
                )
