"""Decides without a model whether the evidence supports an answer: its numbers and most of its words must occur in the quotes.

The validator judges every answer that passes. The type of a question is a claim of the model that wrote it: a type that
promises a derived answer allows more words of its own and computed numbers, but no type turns the check off.
"""

from __future__ import annotations

import re

from qagen_dagster.agents.questions.evidence.computed import computable, counts

_WORD = re.compile(r"[^\W\d_][\w'\u2019]*|\d[\d.,:/]*\d|\d", re.UNICODE)
_DERIVED_TYPES = (
    "aggregation analysis calculation comparison computed counterfactual counting evaluation inference multi_hop "
    "multi-hop numeric synthesis"
)
_DERIVED = frozenset(_DERIVED_TYPES.split())
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_SMALL_NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split())}
_FUNCTION_WORD_LIST = (
    "a an and are as at be but by for from has have in into is it its no not of on or per so than that the their then "
    "there these they this those to was were which with yes"
)
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())
MIN_SHARE = 0.5
MIN_DERIVED_SHARE = 0.2
_PRONOUN = re.compile(
    r"\b(?:this|that|the|each|every|no|any|which|another)\s+one\b|\bone\s+(?:of|another|must|can|may|should)\b",
    re.IGNORECASE,
)


def unsupported(
    question: str, answer: str, evidence: str, question_type: str, *, graded: bool = False
) -> str | None:
    """Why `evidence` does not support `answer`; None if there is no reason.

    The words of a derived answer that is `graded` afterwards are left to grading.
    """
    quoted, asked = _tokens(evidence), _tokens(question)
    known = {*quoted, *asked}
    wanted = [token for token in _tokens(_PRONOUN.sub(" ", answer)) if token not in _FUNCTION_WORDS]
    derived = question_type.strip().lower().replace(" ", "_") in _DERIVED
    missing = [token for token in wanted if not _covered(token, known)]
    numbers = [token for token in missing if token[0].isdigit()]
    if derived:
        worked_out = [
            one
            for one in numbers
            if computable(one, quoted, asked) or counts(one, question, answer, evidence)
        ]
        numbers = [one for one in numbers if one not in worked_out]
        missing = [token for token in missing if token not in worked_out]
    if numbers:
        return f"the answer's {', '.join(numbers[:3])} stands in no evidence quote"
    least = MIN_SHARE if not derived else 0.0 if graded else MIN_DERIVED_SHARE
    if len(wanted) - len(missing) < least * len(wanted):
        return f"most words of the answer stand in no evidence quote ({', '.join(missing[:5])})"
    return None


def _tokens(text: str) -> list[str]:
    found = (match.group().casefold() for match in _WORD.finditer(text))
    return [_SMALL_NUMBERS.get(token, _number(token)) for token in found]


def _number(token: str) -> str:
    return token.replace(",", "").rstrip(".:/") if token[0].isdigit() else token.replace("\u2019", "'")


def _covered(token: str, known: set[str]) -> bool:
    """Whether the token is known, or another form of the word (same beginning)."""
    if token in known or token[0].isdigit():
        return token in known
    if len(token) < 4:
        return False
    stem = token[: max(4, len(token) - 3)]
    return any(word.startswith(stem) for word in known)
