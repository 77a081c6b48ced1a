"""Grading of questions: whether the document has the names, dates, amounts and quoted words of a question.

A question claims little and often uses other words than the document ("how does A differ from B"). It is therefore
not graded like an answer: only what it names must be in the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from qagen_dagster.english.facts import (
    facts,
    facts_of_document,
    missing_amounts,
    missing_dates,
    missing_names,
)
from qagen_dagster.english.words import content_stems, plain
from qagen_dagster.grounding.source import Source
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus

LEAST_WORDS = 0.5  # minimum share of its content words in the document
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{3,200})[\"\u201d]")
_METHOD = "facts of the question"
_SIGNS = {"celsius": "\u00b0c", "fahrenheit": "\u00b0f"}  # documents write the sign, questions the name


def grade_question(
    question: str, source: Source, *, metadata: str = "", hypothetical: bool = False
) -> AnswerGrade:
    """Grounded if the document lacks nothing that the question names; the confidence is the share of its words found.

    `metadata` is the document's description outside its text: title, authors, file, corpus. A `hypothetical` question
    supposes a different situation, so it may introduce amounts and dates.
    """
    missing = list(dict.fromkeys(_missing(question, source, metadata, hypothetical=hypothetical)))
    words = set(content_stems(question))
    known = words & set(content_stems(metadata))
    there = sum(source.has(word) or word in known for word in words)
    share = there / len(words) if words else 0.0
    reason = "" if share >= LEAST_WORDS else "few of its words are in the document"
    if missing:
        reason = f"the document does not have {', '.join(missing[:5])}"
    score = min(share, LEAST_WORDS) if reason else 1.0
    status = SentenceStatus.NOT_FOUND if reason else SentenceStatus.SUPPORTED
    sentence = SentenceGrade(sentence=question, status=status, score=score, reason=reason)
    issues = (reason,) if reason else ()
    return AnswerGrade(
        is_grounded=not reason, confidence=score, method=_METHOD, issues=issues, sentences=(sentence,)
    )


def _missing(question: str, source: Source, metadata: str, *, hypothetical: bool) -> Iterator[str]:
    """Names and values of the question that the document lacks, as written. A limit ("at least 5") need not be in it."""
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
                yield name  # "which of the two" counts things, it names nothing
    text = _flat(f"{source.text} {metadata}") if _QUOTED.search(question) else ""
    yield from (f'"{said}"' for said in _QUOTED.findall(question) if _flat(said) not in text)


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[^\w%]+", " ", plain(text).casefold()).split())
