"""Grades without a model call: the verdicts of code."""

from __future__ import annotations

from qagen_dagster.english.sentences import claims
from qagen_dagster.grounding.generic import claim_of, is_generic, is_refusal
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.grounding.tally import tally
from qagen_dagster.grounding.verdicts import Decision, Rule, decide
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus


def grade(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade each sentence of `answer` by code; odd input never raises."""
    return tally(sentences(answer, source, question), "semantic")


def sentences(answer: str, source: Source, question: str = "") -> list[SentenceGrade]:
    """The sentences of `answer` with their grades."""
    return [_graded(*one, source) for one in decisions(answer, source, question)]


def decisions(answer: str, source: Source, question: str = "") -> list[tuple[str, Decision]]:
    """The sentences of `answer`, each with its verdict."""
    said = claims(answer)
    copies = source.copies.find(answer, said)
    return [
        (one.text, _decision(one.text, source, question, copy))
        for one, copy in zip(said, copies, strict=True)
    ]


def _decision(text: str, source: Source, question: str, copy: int | None) -> Decision:
    if is_generic(text) or is_refusal(text):
        return Decision(True, 1.0, Rule.NO_CLAIM)
    if copy is not None:
        return Decision(True, 1.0, Rule.COPY, Window(copy, 1))
    return decide(claim_of(text) or text, source, question)


def _graded(text: str, found: Decision, source: Source) -> SentenceGrade:
    if found.rule is Rule.NO_CLAIM:
        return SentenceGrade(sentence=text, status=SentenceStatus.GENERIC)
    return SentenceGrade(
        sentence=text,
        status=_status(found),
        score=found.score,
        evidence=None if found.window is None else source.evidence(found.window),
        reason=found.reason,
    )


def _status(found: Decision) -> SentenceStatus:
    if found.supported is None:
        return SentenceStatus.NOT_MEASURED
    if found.supported:
        return SentenceStatus.SUPPORTED
    absent = found.rule in (Rule.ABSENT_NAME, Rule.ABSENT_VALUE)
    return SentenceStatus.NOT_FOUND if absent else SentenceStatus.CONTRADICTED
