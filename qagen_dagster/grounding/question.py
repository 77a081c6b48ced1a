"""Grading of questions: whether the document has the names, dates, amounts and quoted words of a question.

A question claims little and often uses other words than the document ("how does A differ from B"). It is therefore
not graded like an answer: only what it names must be in the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from qagen_dagster.facts.statement import (
    facts,
    facts_of_document,
    missing_amounts,
    missing_dates,
    missing_names,
)
from qagen_dagster.facts.words import content_stems, plain
from qagen_dagster.grounding.source import Source
from qagen_dagster.records.grading import AnswerGrade, SentenceGrade, SentenceStatus

LEAST_WORDS = 0.5  # minimum share of its content words in the document
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{3,200})[\"\u201d]")
# A limit ("at least 5") need not be in the document itself.
_LIMIT_BEFORE = re.compile(
    r"(?:\bat (?:least|most)|\b(?:more|less|fewer|higher|lower|larger|smaller|greater|longer|shorter|later|earlier) than"
    r"|\b(?:over|under|above|below|exceed(?:s|ed|ing)?|up to|between)|\bbetween [\d.,]{1,12} and)\s{0,3}$",
    re.IGNORECASE,
)
_LIMIT_AFTER = re.compile(
    r"(?:\s{1,3}\w{1,20}){0,2}\s{0,3}\b(?:or|and) (?:more|less|fewer|higher|lower|above|below|over|under|longer|later|earlier)\b",
    re.IGNORECASE,
)
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
    if not missing and share >= LEAST_WORDS:
        sentence = SentenceGrade(sentence=question, status=SentenceStatus.SUPPORTED, score=1.0)
        return AnswerGrade(is_grounded=True, confidence=1.0, method=_METHOD, sentences=(sentence,))
    reason = (
        f"the document does not have {', '.join(missing[:5])}"
        if missing
        else "few of its words are in the document"
    )
    score = min(share, LEAST_WORDS)
    sentence = SentenceGrade(sentence=question, status=SentenceStatus.NOT_FOUND, score=score, reason=reason)
    return AnswerGrade(
        is_grounded=False, confidence=score, method=_METHOD, issues=(reason,), sentences=(sentence,)
    )


def _missing(question: str, source: Source, metadata: str, *, hypothetical: bool) -> Iterator[str]:
    """Names and values of the question that the document lacks, as written."""
    mine, beside, whole = facts(question).exact(), facts_of_document(metadata).exact(), source.facts.exact()
    folded = source.text.casefold()
    signed = {name for name, sign in _SIGNS.items() if sign in folded}
    lacking = {*missing_names(mine, beside)}
    yield from (
        name for name in missing_names(mine, whole) if name in lacking and name.casefold() not in signed
    )
    if not hypothetical:
        elsewhere = (missing_amounts(mine, beside), missing_dates(mine, beside))
        for found, other in zip(
            (missing_amounts(mine, whole), missing_dates(mine, whole)), elsewhere, strict=True
        ):
            named = (
                question[one.start : one.end]
                for one in found
                if one in other and not is_limit(question, one.start, one.end)
            )
            yield from (
                name for name in named if not name.isalpha()
            )  # "which of the two" counts things, it names nothing
    text = _flat(f"{source.text} {metadata}") if _QUOTED.search(question) else ""
    yield from (f'"{said}"' for said in _QUOTED.findall(question) if _flat(said) not in text)


def is_limit(text: str, start: int, end: int) -> bool:
    """Whether the value at this place is a limit, such as "more than 5"."""
    before = text[max(0, start - 40) : start]
    return _LIMIT_BEFORE.search(before) is not None or _LIMIT_AFTER.match(text, end) is not None


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[^\w%]+", " ", plain(text).casefold()).split())
