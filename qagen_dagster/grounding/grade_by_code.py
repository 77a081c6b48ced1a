"""Grades answers without a model call, by the verdicts of code, with or without key phrases. Combines the grades of sentences.

The grades follow "QAGRedo Algorithm Report", sections 4.3 and 5.2. Key phrases have two or three words and no stop words. The words of a
sentence that is too short for a phrase are searched one by one. A phrase that is found proves only the topic and supports nothing.
`Amount.same` in `english/amounts.py` decides whether two numbers are equal.

A claim that joins statements by "and" is split: "Both John and Peter were arrested" states two things. It is split only if each part is
a whole statement. A claim is not split if it is about things together ("the two were brothers", "10 in total"), or has a clause that may
belong to only one part.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from qagen_dagster.english.sentences import claims
from qagen_dagster.english.words import STOP_WORDS, read, tokens
from qagen_dagster.grounding.claim_rules import Decision, Rule, decide
from qagen_dagster.grounding.no_claim import claim_of, is_generic, is_refusal, is_unsure
from qagen_dagster.grounding.source import Source, Window
from qagen_dagster.records.grading import UNGROUNDED, AnswerGrade, SentenceGrade, SentenceStatus

GROUNDED_CONFIDENCE = 0.7
_NAMES = {
    SentenceStatus.CONTRADICTED: "Contradicted",
    SentenceStatus.NOT_FOUND: "Low similarity",
    SentenceStatus.NOT_MEASURED: "Undecided",
}
_SINGULAR = {"were": "was", "are": "is", "have": "has", "do": "does"}
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|did|do|does|will|would|can|could|may|might|must)\b")
_WHOLE = re.compile(
    r"\b(?:together|each other|one another|same|between|combined|total|altogether|respectively|jointly|equal|twice|or|nor|neither|either"
    r"|not|no|never|that|which|who|whom|whose|where|when|while|because|if|unless|although|though|but|than|as|before|after|until"
    r"|other|others|brothers|sisters|siblings|twins|partners|friends|married|divorced|met|differ\w*|two|three|four|five|all)\b",
    re.IGNORECASE,
)
_SUBJECTS = re.compile(
    r"(?:both )?(?P<items>.{1,200}?) (?P<verb>were|are|have|had|did|do) (?P<rest>.+)", re.IGNORECASE
)
_AND = re.compile(r",? and |, ")
_CLAUSES = re.compile(r"[,;]? and |; ")
_MOST_WORDS = 6  # maximum words of one subject
_MOST_PARTS = 8


def tally(sentences: Sequence[SentenceGrade], method: str, *, boost: float = 0.0) -> AnswerGrade:
    """Grade an answer. Its confidence is the share of grounded sentences among the decided sentences, plus
    `boost`, at most 1. The answer is grounded if no sentence is ungrounded and its confidence is at least
    `GROUNDED_CONFIDENCE`. It is undecided if no sentence is ungrounded, and some sentence is undecided or there is no sentence."""
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
    """One line for each sentence that is ungrounded or undecided, such as `Low similarity (0.32): '...'`."""
    return tuple(_issue(one) for one in sentences if one.status in _NAMES)


def _issue(one: SentenceGrade) -> str:
    name = "Not found" if one.status is SentenceStatus.NOT_FOUND and one.score is None else _NAMES[one.status]
    score = "" if one.score is None else f" ({one.score:.2f})"
    return f"{name}{score}: '{one.sentence}'" + (f" - {one.reason}" if one.reason else "")


def grade_by_code(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade `answer` by the verdicts of code on its sentences. No input raises."""
    return tally(sentences(answer, source, question), "semantic")


def sentences(answer: str, source: Source, question: str = "") -> list[SentenceGrade]:
    return [_graded(*one, source) for one in decisions(answer, source, question)]


def decisions(answer: str, source: Source, question: str = "") -> list[tuple[str, Decision]]:
    stated = claims(answer)
    copies = source.copies.find(answer, stated)
    return [
        (one.text, _decision(one.text, source, question, copy))
        for one, copy in zip(stated, copies, strict=True)
    ]


def _decision(text: str, source: Source, question: str, copy: int | None) -> Decision:
    if is_generic(text) or is_refusal(text):
        return Decision(True, 1.0, Rule.NO_CLAIM)
    claim = claim_of(text)
    if copy is None and claim != text:
        copy = next(iter(source.copies.find(claim, claims(claim))), None)
    if copy is not None:
        return Decision(True, 1.0, Rule.COPY, Window(copy, 1))
    found = [decide(part, source) for part in parts_of(claim)]
    if found and all(one.supported for one in found):
        return replace(min(found, key=lambda one: one.score), rule=Rule.PARTS)
    return decide(claim, source, question)


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


BOOST = 0.2  # added confidence of an answer that admits not knowing
_SIZES = (3, 2)  # words in a key phrase
_NO_PHRASE = "no phrase of it is in the document"


def grade_by_keywords(answer: str, source: Source, *, question: str = "") -> AnswerGrade:
    """Grade `answer` by the verdicts of code. Sentences that code leaves undecided are graded by key phrases. No input raises."""
    searched = [_searched(one, source) for one in sentences(answer, source, question)]
    return tally(searched, "keyword", boost=BOOST if is_unsure(answer) else 0.0)


def key_phrases(sentence: str) -> list[str]:
    """The phrases of three and of two consecutive words without stop words; single words if there is no phrase."""
    runs = [list(run) for stop, run in groupby(tokens(sentence), STOP_WORDS.__contains__) if not stop]
    phrases = [
        " ".join(run[first : first + size])
        for size in _SIZES
        for run in runs
        for first in range(len(run) - size + 1)
    ]
    return list(dict.fromkeys(phrases or [word for run in runs for word in run]))


def _searched(one: SentenceGrade, source: Source) -> SentenceGrade:
    phrases = key_phrases(claim_of(one.sentence))
    if one.status is not SentenceStatus.NOT_MEASURED or not phrases:
        return one
    words = _words(source)
    # Scripts without spaces are searched without word boundaries.
    found = sum((f" {phrase} " if phrase.isascii() else phrase) in words for phrase in phrases)
    if found:
        return one.model_copy(update={"reason": f"the document has {found} of its {len(phrases)} phrases"})
    update = {"status": SentenceStatus.NOT_FOUND, "score": 0.0, "evidence": None, "reason": _NO_PHRASE}
    return one.model_copy(update=update)


@lru_cache(maxsize=4)
def _words(source: Source) -> str:
    """The words of the document, separated by spaces, for the search for key phrases."""
    return f" {' '.join(read(source.text))} "


def parts_of(claim: str) -> tuple[str, ...]:
    """The statements that a claim joins, at least two; an empty tuple if the claim states one thing or cannot be split."""
    flat = " ".join(claim.split()).rstrip(".!")
    if _WHOLE.search(flat):
        return ()
    return _of_subjects(flat) or _of_clauses(flat)


def _of_subjects(claim: str) -> tuple[str, ...]:
    """One statement for each subject, if several subjects have one predicate."""
    found = _SUBJECTS.fullmatch(claim)
    items = _AND.split(found["items"]) if found else []
    fits = all(0 < len(item.split()) <= _MOST_WORDS and not _VERB.search(item) for item in items)
    if found is None or not 2 <= len(items) <= _MOST_PARTS or not fits or _VERB.search(found["rest"]):
        return ()
    verb = found["verb"].lower()
    return tuple(f"{item} {_SINGULAR.get(verb, verb)} {found['rest']}" for item in items)


def _of_clauses(claim: str) -> tuple[str, ...]:
    """Clauses that each have a subject and a verb."""
    parts = tuple(part.strip() for part in _CLAUSES.split(claim))
    whole = all((verb := _VERB.search(part)) is not None and part[: verb.start()].strip() for part in parts)
    return parts if whole and 2 <= len(parts) <= _MOST_PARTS else ()
