"""Finds answers of a type that cannot answer their question: a bare number for a date, a cause for a count."""

import re

from qagen_dagster.english.facts import Facts, facts
from qagen_dagster.english.words import is_content, named_words, tokens, word_set

_WHEN = re.compile(r"\bwhen\b|\b(?:what|which)\s+(?:year|date|day|month|decade|century)\b", re.I)
_COUNT = re.compile(
    r"\bhow\s+(?:many|much)\b|\bwhat\s+(?:is\s+the\s+|was\s+the\s+)?(?:number|count|percentage)\b", re.I
)
_SIZE = re.compile(r"\bhow\s+(?:long|old|far|tall|high|deep|wide|heavy|often|fast)\b", re.I)
_OF_ONE_TYPE = re.compile(r"\b(?:who|whom|whose|when|where|how\s+(?:many|much|long|old|far|often))\b", re.I)
_WH = re.compile(r"^\W*(?:\w+\s+)?(?:what|who|whom|whose|when|where|which|why|how)\b", re.I)
_CAUSE = re.compile(r"^\W*(?:because|due to|owing to|thanks to|so that|in order to)\b", re.I)
_ROMAN = re.compile(r"[IVXLCDM]+")
_YES_NO = frozenset(("yes", "no", "true", "false"))
_AMOUNTS = frozenset(named_words("amount_words"))
_TIMES = frozenset(named_words("time_words"))
_SIZES = word_set("as like size length height same across from to between")


def wrong_type(question: str, reference: str, given: str) -> str:
    """Why `given` cannot answer the question, whatever is true; empty if it can. `reference` is the right
    answer. A type is only called wrong if the question and the right answer have another one."""
    wanted, found = facts(reference), facts(given)
    said = {word.removesuffix("s") for word in tokens(given)} | set(tokens(given))
    other_script = any(char > "\u024f" and char.isalpha() for char in given)
    if not said or other_script or _ROMAN.fullmatch(given.strip()):
        return ""
    return (
        _not_a_number(question, wanted, found, said)
        or _not_a_date(question, wanted, found, said)
        or _number_for_words(reference, given, found)
        or _other_form(question, reference, given)
    )


def _not_a_number(question: str, wanted: Facts, found: Facts, said: set[str]) -> str:
    if not wanted.amounts or wanted.dates or found.amounts:
        return ""
    if found.dates:
        asked = _COUNT.search(question) or _SIZE.search(question)
        return "a date, not a number" if asked and not _shared(found, wanted) else ""
    if _COUNT.search(question):
        return "" if said & _AMOUNTS else "no number"
    return "no number" if _SIZE.search(question) and not said & (_AMOUNTS | _TIMES | _SIZES) else ""


def _not_a_date(question: str, wanted: Facts, found: Facts, said: set[str]) -> str:
    if not wanted.dates or wanted.amounts or found.dates or not _WHEN.search(question):
        return ""
    if said & _TIMES:
        return ""
    if not found.amounts:
        return "no date"
    return "" if _shared(wanted, found) else "a number, not a date"


def _shared(dated: Facts, numbered: Facts) -> bool:
    """Whether a number can be a part of a date: its year, month or day, or the last digits of its year."""
    parts = {part for one in dated.dates for part in (one.year, one.month, one.day) if part is not None}
    parts |= {one.year % 100 for one in dated.dates if one.year is not None}
    return any(one.value in parts or one.unit == "rank" for one in numbered.amounts)


def _number_for_words(reference: str, given: str, found: Facts) -> str:
    """A number or date and nothing else, where the right answer has no digit and no word for a number or a time."""
    wanted = facts(reference)
    words = set(tokens(reference))
    if wanted.amounts or wanted.dates or any(map(str.isdigit, reference)) or words & (_AMOUNTS | _TIMES):
        return ""
    roman = re.search(rf"\b{_ROMAN.pattern}\b", reference)
    if not (found.amounts or found.dates) or _rest(given, found) or roman:
        return ""
    return "a number where the answer is words"


def _rest(text: str, found: Facts) -> list[str]:
    """The content words beside numbers and dates."""
    spans = [(one.start, one.end) for one in (*found.amounts, *found.dates)]
    left = "".join(char for at, char in enumerate(text) if not any(a <= at < b for a, b in spans))
    return [word for word in tokens(left) if is_content(word)]


def _other_form(question: str, reference: str, given: str) -> str:
    """A yes or no, or a cause, for a question that asks for something else."""
    bare = given.strip().rstrip(".!").casefold()
    if bare in _YES_NO and _WH.match(question) and reference.split()[:1]:
        first = reference.split()[0].strip(".,;!").casefold()
        return "" if first in _YES_NO else "a yes or no where the answer is a fact"
    if _CAUSE.match(given) and _OF_ONE_TYPE.search(question) and not _CAUSE.match(reference):
        return "" if re.search(r"\bwhy\b", question, re.I) else "a cause, which was not asked for"
    return ""
