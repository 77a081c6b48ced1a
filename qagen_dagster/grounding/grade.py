"""Grades answers, questions, documents and whole sets by any method. Also reads the error rates of code on public sets.

The grades follow "QAGRedo Algorithm Report", sections 4.3.4, 4.4 and 5.2. The hybrid method asks the judge about answers that code finds
ungrounded or leaves undecided. If there is no judge or no verdict, the result of code stands, and the grade's `method` says so. A question
is grounded if the document has its names, its values and half of its words, because a question claims little and is often reworded.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from pydantic import TypeAdapter

from qagen_dagster.english.facts import (
    facts,
    facts_of_document,
    missing_amounts,
    missing_dates,
    missing_names,
)
from qagen_dagster.english.sentences import claims
from qagen_dagster.english.words import content_stems, plain
from qagen_dagster.grounding import grade_by_code
from qagen_dagster.grounding.grade_by_code import GROUNDED_CONFIDENCE, issues
from qagen_dagster.grounding.judge import Judge, ask_judge, grade_by_judge, grade_of_verdict, judge_issue
from qagen_dagster.grounding.source import Source
from qagen_dagster.records import grading

LEAST_WORDS = 0.5  # minimum share of a question's content words that must be in the document
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{3,200})[\"\u201d]")
_METHOD = "facts of the question"
_SIGNS = {"celsius": "\u00b0c", "fahrenheit": "\u00b0f"}  # documents write the sign, and questions the name


def grade_question(
    question: str, source: Source, *, metadata: str = "", hypothetical: bool = False, own_words: bool = False
) -> grading.AnswerGrade:
    """Grade a question. It is grounded if the document or `metadata` has everything that the question names, and enough of its words.

    `metadata` is the document's description outside its text: title, authors, file, corpus. A `hypothetical` question
    supposes a different situation, so it may introduce amounts and dates. A question in `own_words` may share few words with the document.
    The confidence is 1 if the question is grounded, else the share of its words that document or `metadata` has, at most `LEAST_WORDS`.
    """
    missing = list(dict.fromkeys(_missing(question, source, metadata, hypothetical=hypothetical)))
    words = set(content_stems(question))
    known = words & set(content_stems(metadata))
    found = sum(source.has(word) or word in known for word in words)
    share = found / len(words) if words else 0.0
    reason = "" if own_words or share >= LEAST_WORDS else "few of its words are in the document"
    if missing:
        reason = f"the document does not have {', '.join(missing[:5])}"
    score = min(share, LEAST_WORDS) if reason else 1.0
    status = grading.SentenceStatus.NOT_FOUND if reason else grading.SentenceStatus.SUPPORTED
    sentence = grading.SentenceGrade(sentence=question, status=status, score=score, reason=reason)
    issues = (reason,) if reason else ()
    return grading.AnswerGrade(
        is_grounded=not reason, confidence=score, method=_METHOD, issues=issues, sentences=(sentence,)
    )


def _missing(question: str, source: Source, metadata: str, *, hypothetical: bool) -> Iterator[str]:
    """The names, values and quotations of the question, as it writes them, that neither the document nor `metadata` has. Limits ("at least
    5") are ignored. For a `hypothetical` question, all amounts and dates are ignored."""
    mine, beside, whole = (
        one.exact() for one in (facts(question), facts_of_document(metadata), source.facts)
    )
    folded, elsewhere = source.text.casefold(), missing_names(mine, beside)
    signed = {name for name, sign in _SIGNS.items() if sign in folded}
    for name in missing_names(mine, whole):
        if name in elsewhere and name.casefold() not in signed:
            yield name
    limits = {one.start for one in facts(question).amounts if one.bound}
    for missing in () if hypothetical else (missing_amounts, missing_dates):
        elsewhere = missing(mine, beside)
        for one in missing(mine, whole):
            name = question[one.start : one.end]
            if one in elsewhere and one.start not in limits and not name.isalpha():
                yield name  # a value in words, such as the "two" in "which of the two", is ignored
    text = _flat(f"{source.text} {metadata}") if _QUOTED.search(question) else ""
    yield from (f'"{quotation}"' for quotation in _QUOTED.findall(question) if _flat(quotation) not in text)


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[^\w%]+", " ", plain(text).casefold()).split())


ERROR_RATES_FILE = "error_rates.json"
_RATES = TypeAdapter(tuple[grading.ErrorRate, ...])


@lru_cache(maxsize=1)
def error_rates() -> tuple[grading.ErrorRate, ...]:
    """How often code decides wrongly on public sets: shares (0-1) by length of the document and by verdict."""
    return _RATES.validate_json(
        resources.files("qagen_dagster.grounding").joinpath(ERROR_RATES_FILE).read_bytes()
    )


ALL_PASSED = "hybrid (semantic only -- all passed)"
NOTHING = "hybrid (semantic only -- nothing to grade)"
NO_JUDGE = "hybrid (semantic only -- no judge)"
JUDGE_FAILED = "hybrid (semantic only -- judge failed)"
OVERRIDE = "hybrid (semantic + LLM override)"
CONFIRMED = "hybrid (semantic + LLM confirmed)"
UNSURE = "hybrid (semantic + LLM unsure)"  # the judge's verdict is SUPPORTED, but its confidence is too low to override code
_GROUNDED = (grading.SentenceStatus.SUPPORTED, grading.SentenceStatus.GENERIC)


def grade_by_code_and_judge(
    question: str, answer: str, source: Source, judge: Judge | None
) -> grading.AnswerGrade:
    """Grade `answer` by code. If code does not find it grounded, the judge is also asked."""
    first = grade_by_code.grade_by_code(answer, source, question=question)
    if first.is_grounded or not first.sentences:
        return _as(first, ALL_PASSED if first.is_grounded else NOTHING)
    judged = ask_judge(question, answer, source, judge)
    if judged.verdict is None:
        method = NO_JUDGE if judge is None else JUDGE_FAILED
        return _as(first, method, judge_failure=judged.failure, calls=judged.calls)
    return combine(first, judged.verdict).model_copy(
        update={"llm_verdict": judged.verdict, "calls": judged.calls}
    )


def combine(first: grading.AnswerGrade, verdict: grading.JudgeVerdict) -> grading.AnswerGrade:
    """Combine two grades of an answer: `first`, by code, which did not find the answer grounded, and the judge's `verdict`."""
    judge_line = judge_issue(verdict)
    if verdict.verdict is grading.Verdict.SUPPORTED and verdict.confidence >= GROUNDED_CONFIDENCE:
        contradicted = (one for one in first.sentences if one.status is grading.SentenceStatus.CONTRADICTED)
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
    method = CONFIRMED if verdict.verdict is grading.Verdict.NOT_SUPPORTED else UNSURE
    if first.confidence is None:
        alone = grade_of_verdict([], verdict, ())
        sentences = tuple(_undecided(one, verdict.reason) for one in first.sentences)
        return _as(alone, method, is_grounded=False, issues=(judge_line,), sentences=sentences)
    least = min(first.confidence, verdict.confidence)
    return _as(first, method, is_grounded=False, confidence=least, issues=(*first.issues, judge_line))


def _undecided(one: grading.SentenceGrade, reason: str) -> grading.SentenceGrade:
    """The sentence with the status NOT_FOUND and the judge's reason, unless code found it grounded."""
    if one.status in _GROUNDED:
        return one
    return one.model_copy(update={"status": grading.SentenceStatus.NOT_FOUND, "reason": reason})


def _overridden(one: grading.SentenceGrade) -> grading.SentenceGrade:
    """The sentence with the judge's status, SUPPORTED, unless code found it grounded. A contradiction is kept in the reason."""
    if one.status in _GROUNDED:
        return one
    refuted = one.status is grading.SentenceStatus.CONTRADICTED
    note = f"the judge found it supported; before: {one.reason or 'contradicted'}" if refuted else ""
    return one.model_copy(update={"status": grading.SentenceStatus.SUPPORTED, "reason": note})


def _as(grade: grading.AnswerGrade, method: str, **fields: Any) -> grading.AnswerGrade:
    return grade.model_copy(update={"method": method, **fields})


NO_TEXT = "the document has no text"
MIN_MEASURED = 0.5  # minimum share of measured answers for a grade of several answers
_LEAST = ((0.9, grading.Grade.A), (0.8, grading.Grade.B), (0.7, grading.Grade.C), (0.6, grading.Grade.D))
_BY_CODE = (grading.Method.SEMANTIC, grading.Method.HYBRID)  # the methods that `error_rates` measure
_ROUNDING = 1e-9  # tolerance for rounding: a mean of .9 may come out slightly lower


def grade_answer(
    question: str, answer: str, source: Source, method: grading.Method, judge: Judge | None = None
) -> grading.AnswerGrade:
    """Grade one answer. A judge's failure is part of the result. It is raised, as a ModelError, only if the judge must reply."""
    if not source.text.strip():
        return _unmeasurable(answer, method)
    if method is grading.Method.KEYWORD:
        return grade_by_code.grade_by_keywords(answer, source, question=question)
    if method is grading.Method.LLM:
        return grade_by_judge(question, answer, source, judge)
    if method is grading.Method.HYBRID:
        return grade_by_code_and_judge(question, answer, source, judge)
    return grade_by_code.grade_by_code(answer, source, question=question)


def _unmeasurable(answer: str, method: grading.Method) -> grading.AnswerGrade:
    sentences = tuple(
        grading.SentenceGrade(sentence=claim.text, status=grading.SentenceStatus.NOT_MEASURED, reason=NO_TEXT)
        for claim in claims(answer)
    )
    return grading.AnswerGrade(
        is_grounded=None,
        confidence=None,
        method=f"{method.value} ({NO_TEXT})",
        issues=(f"Not measured: {NO_TEXT}",),
        sentences=sentences,
    )


def letter(confidence: float) -> grading.Grade:
    """A from .90, B from .80, C from .70, D from .60, F below."""
    return next((grade for least, grade in _LEAST if confidence >= least - _ROUNDING), grading.Grade.F)


def grade_document(
    document_id: str, title: str, answers: Sequence[grading.GradedAnswer]
) -> grading.DocumentGrades:
    """Summarise one document: the mean confidence of its measured answers, and the counts of all its answers."""
    grade, confidence = overall((one.grading.confidence for one in answers), len(answers))
    return grading.DocumentGrades(
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
    documents: Sequence[grading.DocumentGrades], *, method: grading.Method, **fields: Any
) -> grading.GroundingReport:
    """Summarise documents. Every answer has the same weight. `fields` are the fields of the report that state the origin of the answers."""
    answers = [one for document in documents for one in document.answers]
    grade, confidence = overall((one.grading.confidence for one in answers), len(answers))
    return grading.GroundingReport(
        **fields,
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


def decided(answers: Iterable[grading.GradedAnswer]) -> grading.Decided:
    """The numbers of answers that were decided by code, decided by the judge, or left undecided (`nobody`)."""
    counts = Counter(one.grading.decided_by for one in answers)
    return grading.Decided(
        code=counts[grading.Decider.CODE], judge=counts[grading.Decider.JUDGE], nobody=counts[None]
    )


def together(parts: Iterable[grading.Decided | None]) -> grading.Decided:
    """The sums of the counts. None adds nothing."""
    counts = Counter[str]()
    for one in parts:
        counts.update({} if one is None else one.model_dump())
    return grading.Decided(**counts)


def overall(confidences: Iterable[float | None], answers: int) -> tuple[grading.Grade | None, float | None]:
    """Returns (grade, mean) of the confidences that were measured; (None, None) if none was. `answers` is the number of all answers. The
    grade is None if fewer than the share MIN_MEASURED of them were measured."""
    measured = [one for one in confidences if one is not None]
    if not measured:
        return None, None
    mean = min(1.0, sum(measured) / len(measured))
    return letter(mean) if len(measured) >= MIN_MEASURED * answers else None, mean


def _highlights(documents: Sequence[grading.DocumentGrades]) -> Iterable[grading.Highlight]:
    for document in documents:
        for one in document.answers:
            if one.grading.is_grounded is False:
                yield grading.Highlight(
                    document_id=document.document_id,
                    question=one.question,
                    answer=one.answer,
                    confidence=one.grading.confidence,
                    reasons=one.grading.issues,
                )
