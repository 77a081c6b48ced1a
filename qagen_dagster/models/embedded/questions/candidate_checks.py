"""The checks that refuse candidates. Each check stands for one reason not to ask a question, and looks at the words of the
question and its answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.questions.candidate import Candidate, Context
from qagen_dagster.models.embedded.text.passages import balanced

# Words whose meaning depends on the text around the sentence. "You" is the reader of the document.
_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|we|us|our|i|me|my|it|itself|some|here|there|such|previous|previously|today|yesterday|now|currently|later|then|next|subsequent|"
    r"again|another|only|latter|former|a different|additional|further|the (?:same|present|other|one)|et al|(?:section|table|figure|box|step|item|line) \d+)\b|\b(?:above|below)(?! \d)",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(?:where|to|of|and|or|by|in|on|at|for|from|with|than|as|because|the|a)\??$"
)  # a formula follows
_FORMULA = re.compile(
    r" - |--|[\U0001d400-\U0001d7ff\u2200-\u22ff\\|^{}]|(?<![\w'\u2019.])[b-uw-z](?![\w'.\u2019°])"
)
_OPINION = re.compile(
    r"^(?:only|now|still|either|in fact)\b|^(?:(?:an?|the|one of the) )?(?:[\w-]+ ){0,2}(?:important|useful|ideal|key|major|serious|central|essential|interesting|good|excellent|common|typical|unusual|positive|most|"
    r"(?:problem|way|issue|challenge|step|part|example|cause|result|approach|requirement|concept|advantage|feature|factor|lesson|goal|reason)s?)\b"
)
_STOP = word_set(
    "a an the of in on at to for from by with and or but is are was were be been being do does did has have had what which who whom "
    "when where why how many much long according not no that as it its than into can could may might must shall should will would "
    "give given use used there"
)
STRUCTURED = frozenset({"key", "cell", "acronym"})  # families whose questions are not made from sentences
MAX_QUESTION_WORDS = 34
MAX_ANSWER_WORDS = 30


def _content_words(text: str) -> list[str]:
    """Lower-case words that carry meaning."""
    return [
        word
        for word in re.findall(r"[\w'-]+", text.lower())
        if (word not in _STOP and len(word) > 1) or word.isdigit()
    ]


def _pointing(candidate: Candidate, context: Context) -> bool:
    """Whether the question has a word whose meaning depends on the text around the sentence."""
    return candidate.family not in STRUCTURED and bool(_POINTING.search(candidate.asked))


def _answer_shown(candidate: Candidate, context: Context) -> bool:
    """Whether the question reveals the answer."""
    answer, asked = _content_words(candidate.answer), set(_content_words(candidate.question))
    return (not answer and not any(char.isdigit() for char in candidate.answer)) or (
        bool(answer) and all(word in asked for word in answer)
    )


def _bad_form(candidate: Candidate, context: Context) -> bool:
    """Whether the question or the answer is too long, or broken off."""
    asked, answer = candidate.asked, candidate.answer
    if len(asked.split()) > MAX_QUESTION_WORDS or len(answer.split()) > MAX_ANSWER_WORDS:
        return True
    if not (balanced(asked) and balanced(answer)):
        return True
    broken = _CUT.search(asked) or _CUT.search(answer) or _FORMULA.search(asked) or _FORMULA.search(answer)
    return candidate.family not in STRUCTURED and bool(broken)


def _anywhere(candidate: Candidate, context: Context) -> bool:
    """Whether the question could be asked of any document.

    That is the case if it is short, asks "why" or is about a long document, and contains no name and no number.
    """
    short = len(set(_content_words(candidate.asked))) < 4 and candidate.family in ("when", "how_many")
    deep = context.long and candidate.family not in {*STRUCTURED, "definition"}
    deep |= candidate.family == "why"
    return (short or deep) and not re.search(r"\d|.[A-Z]|[`_/]|\w\.\w|\s-\w", candidate.asked)


def _opinion(candidate: Candidate, context: Context) -> bool:
    """Whether a "definition" only judges how good, bad or important a thing is."""
    subject = candidate.asked.split(" ", 2)[-1]
    return candidate.family == "definition" and any(map(_OPINION.match, (subject, candidate.answer)))


CHECKS: tuple[Callable[[Candidate, Context], bool], ...] = (
    _pointing, _answer_shown, _bad_form, _anywhere, _opinion,
)  # fmt: skip


def refusal(candidate: Candidate, context: Context) -> str | None:
    """The name of the first check that refuses the candidate, or None."""
    return next((check.__name__.strip("_") for check in CHECKS if check(candidate, context)), None)
