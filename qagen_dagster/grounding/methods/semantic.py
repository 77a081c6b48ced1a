"""Semantic grades without a model call: the detector's, and the reference rule for comparison."""

from __future__ import annotations

import numpy as np

from qagen_dagster.grounding.calibration import calibration, chance
from qagen_dagster.grounding.copies import Copy, covering
from qagen_dagster.grounding.facts import Conflict, Kind, differences, facts
from qagen_dagster.grounding.features import Measured, measure
from qagen_dagster.grounding.generic import claim_of, is_generic, is_outlook, is_refusal
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.grounding.tally import tally
from qagen_dagster.grounding.words import content_stems
from qagen_dagster.index.sentences import claims
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus

DESCRIBED_THRESHOLD = 0.5
DESCRIBED_EACH = 30  # windows of each size that are encoded for a long document
CAPPED = 0.98  # share of the threshold that caps the score of a claim with a changed fact
NOTHING_ALIKE = "nothing in the document is like it"
NOT_TOGETHER = "its words stand in the document, but not together"
_HARD = (Kind.NUMBER, Kind.DATE, Kind.NEGATION)
_METHOD = "semantic"


def grade(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade each sentence of `answer` with the detector; odd input never raises."""
    copies = source.copies.find(answer)
    said = list(claims(answer))
    several = len(said) > 1
    found = [
        _graded(claim.text, source, question, covering(copies, claim), several=several) for claim in said
    ]
    return tally(found or [_graded(text, source, question) for text in _short(answer)], _METHOD)


def grade_as_described(answer: str, source: Source, threshold: float = DESCRIBED_THRESHOLD) -> AnswerGrade:
    """Grounded from a cosine of `threshold`, as in "QAGRedo Algorithm Report", section 4.3.1."""
    return tally(
        [_described(claim.text, source, threshold) for claim in claims(answer)], "semantic as described"
    )


def claims_nothing(text: str, *, several: bool = False) -> bool:
    """Whether nothing in a sentence could be wrong; with `several`, a call for more research counts as well."""
    return is_generic(text) or is_refusal(text) or (several and is_outlook(text))


def _short(answer: str) -> list[str]:
    """An answer that is not a sentence, such as "7"; the question makes it gradable."""
    kept = answer.strip()
    return [kept] if any(map(str.isalnum, kept)) else []


def _graded(
    text: str, source: Source, question: str, copy: Copy | None = None, *, several: bool = False
) -> SentenceGrade:
    if claims_nothing(text, several=several):
        return SentenceGrade(sentence=text, status=SentenceStatus.GENERIC)
    if copy is not None:
        span = source.evidence(Window(copy.first, copy.count))
        return SentenceGrade(sentence=text, status=SentenceStatus.SUPPORTED, score=1.0, evidence=span)
    claim = claim_of(text) or text
    measured = measure(claim, source, question, several=several)
    if measured is None:
        return SentenceGrade(sentence=text, status=SentenceStatus.NOT_FOUND, score=0.0, reason=NOTHING_ALIKE)
    return _judged(text, claim, measured, source)


def _judged(text: str, claim: str, measured: Measured, source: Source) -> SentenceGrade:
    model = calibration()
    score, best = _scored(claim, measured, source)
    span = source.evidence(best)
    changed = tuple(one for one in measured.conflicts if one.kind in _HARD)
    if measured.overruled:
        score = min(score, CAPPED * model.threshold)
    if score >= model.threshold:
        return SentenceGrade(sentence=text, status=SentenceStatus.SUPPORTED, score=score, evidence=span)
    contradicted = bool(measured.conflicts) and measured.coverage >= 0.5
    status = SentenceStatus.CONTRADICTED if contradicted else SentenceStatus.NOT_FOUND
    reason = (
        _reason((changed or measured.conflicts)[0], measured, source)
        if contradicted
        else _missing(text, source)
    )
    return SentenceGrade(sentence=text, status=status, score=score, evidence=span, reason=reason)


def _scored(claim: str, measured: Measured, source: Source) -> tuple[float, Window]:
    """The chance of the claim and its best window, by its words, or else as a conclusion."""
    model = calibration()
    odds = model.odds(measured)
    if chance(odds) >= model.threshold or measured.overruled:
        return chance(odds), measured.best
    if measured.near:
        nearest, cosine = source.nearest(claim, measured.near)
        if cosine >= model.cosine:
            return model.conclusion(odds, cosine), nearest
    elif measured.little:
        return model.undecided(odds), measured.best
    return chance(odds), measured.best


def _reason(conflict: Conflict, measured: Measured, source: Source) -> str:
    """The conflict, with the line of the contradicting sentence unless several say it together."""
    if conflict.kind is Kind.NEGATION:  # found in the best window, as stems
        return conflict.line(f"line {source.evidence(measured.best).start_line}")
    for window in measured.kept if conflict.evidence else ():
        for number in range(window.first, window.first + window.size):
            if conflict.evidence in source.sentences[number].text:
                return conflict.line(f"line {source.evidence(Window(number, 1)).start_line}")
    return conflict.line()


def _missing(text: str, source: Source) -> str:
    """The words of a claim that the document lacks."""
    missing = [word for word in dict.fromkeys(content_stems(text)) if not source.has(word)]
    shown = [word.strip(".,;:!?()\"'") for word in text.split() if {*content_stems(word)} & {*missing}]
    return f"the document does not have {', '.join(shown[:5])}" if shown else NOT_TOGETHER


def _windows(claim: str, source: Source) -> list[Window]:
    stems = content_stems(claim)
    return source.candidates(stems, DESCRIBED_EACH) if stems else source.windows()[:DESCRIBED_EACH]


def _described(claim: str, source: Source, threshold: float) -> SentenceGrade:
    windows = _windows(claim, source)
    if not windows:
        return SentenceGrade(sentence=claim, status=SentenceStatus.NOT_FOUND, score=0.0, reason=NOTHING_ALIKE)
    cosines = source.vectors(windows) @ source.encode([claim])[0]
    best = int(np.argmax(cosines))
    score = float(min(max(float(cosines[best]), 0.0), 1.0))
    span = source.evidence(windows[best])
    if score >= threshold:
        return SentenceGrade(sentence=claim, status=SentenceStatus.SUPPORTED, score=score, evidence=span)
    different = differences(facts(claim), facts(span.quote))
    reason = different[0].line(f"line {span.start_line}") if different else NOTHING_ALIKE
    return SentenceGrade(
        sentence=claim, status=SentenceStatus.NOT_FOUND, score=score, evidence=span, reason=reason
    )
