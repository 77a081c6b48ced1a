"""Marks answers: whether an answer is right, how many words it shares with the reference answer, and whether its type can
answer the question. For example, a cause cannot answer a question about a number.
"""

import re
import string
import unicodedata
from collections import Counter
from dataclasses import dataclass

from qagen_dagster.agents import evaluation
from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.facts import Facts, facts, missing_amounts, missing_dates, missing_names
from qagen_dagster.english.words import is_content, named_words, tokens, word_set
from qagen_dagster.grounding.no_claim import abstained, says_nothing
from qagen_dagster.models.base import Model
from qagen_dagster.records.evaluation import Decided
from qagen_dagster.records.run import Outcome

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII = frozenset(string.punctuation)
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
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
_EUROPEAN = re.compile(r"(?<=\d) (?=\d{3}\b)|(?<=\d),(?=\d{1,2}\b)")  # in "6 590" and "12,5"
_TIMES = frozenset(named_words("time_words"))
_SIZES = word_set("as like size length height same across from to between")


def exact(given: str, right: str) -> bool:
    """Whether both answers have the same words in the same order. Two answers without words are compared as strings."""
    mine, wanted = words(given), words(right)
    return mine == wanted if mine or wanted else given.strip() == right.strip()


def token_f1(given: str, right: str) -> float:
    """The harmonic mean of precision and recall over words, 0 to 1."""
    mine, wanted = Counter(words(given)), Counter(words(right))
    if not mine or not wanted:
        return float(exact(given, right))
    common = (mine & wanted).total()
    return 2 * common / (mine.total() + wanted.total())


def words(text: str) -> list[str]:
    """The words of a text in lower case, without articles and punctuation. In scripts without spaces, each character is a word."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    bare = (char for char in plain if char not in _ASCII and not unicodedata.category(char).startswith("P"))
    return _UNSPACED.sub(r" \1 ", _ARTICLES.sub(" ", "".join(bare))).split()


@dataclass(frozen=True)
class Marked:
    """Whether an answer is right, and what decided this: code, a model, or the lack of an answer (Decided.UNKNOWN)."""

    right: bool
    decided: Decided
    explanation: str


def mark_abstention(
    question: str, reference: str, given: str, model: Model | None, role: str
) -> Outcome[Marked]:
    """Decide whether `given` says that the question has no answer, as `reference` does. Code decides if `given` abstains, states the same
    as `reference`, or has a number, date or name that is in neither the question nor `reference`. Else `model` decides (`mark_answer`).
    """
    if abstained(given):
        return Outcome(Marked(True, Decided.UNKNOWN, "it says that there is no answer"))
    if match(given, reference) is Match.SAME:
        return Outcome(Marked(True, Decided.MATCH, "the same words, numbers and names"))
    own, known = facts(given), facts(f"{question}\n{reference}")
    if missing_amounts(own, known) or missing_dates(own, known) or missing_names(own, known):
        return Outcome(Marked(False, Decided.MATCH, "it states a number, date or name as the answer"))
    return _judged(question, reference, given, model, role)


def mark_answer(question: str, reference: str, given: str, model: Model | None, role: str) -> Outcome[Marked]:
    """Compare `given` with the reference answer. If code cannot decide, `model` decides. The caller records the calls of `model`. If there
    is no model, or if its reply is unusable, the outcome has no result. Raises ModelError."""
    if says_nothing(given):
        return Outcome(Marked(False, Decided.UNKNOWN, "no answer was given"))
    found = match(given, reference)
    english = (_EUROPEAN.sub(lambda one: "." * (one[0] == ","), text) for text in (given, reference))
    if Match.SAME in (found, match(*english)):
        return Outcome(Marked(True, Decided.MATCH, "the same words, numbers and names"))
    if found is Match.CONFLICT:
        return Outcome(Marked(False, Decided.MATCH, "another number, date or name, or the opposite"))
    if other := wrong_type(question, reference, given):
        return Outcome(Marked(False, Decided.MATCH, f"the wrong type of answer: {other}"))
    return _judged(question, reference, given, model, role)


def _judged(question: str, reference: str, given: str, model: Model | None, role: str) -> Outcome[Marked]:
    if model is None:
        return Outcome(None, "code cannot decide, and the profile has no judge")
    marked = evaluation.mark(model, role, question, reference, given)
    if marked.result is None:
        return Outcome(None, f"comparison: {marked.failure}")
    return Outcome(Marked(marked.result.right, Decided.MODEL, marked.result.explanation))


def wrong_type(question: str, reference: str, given: str) -> str:
    """The reason why the type of `given` cannot answer the question; empty if it can. `reference` is the right answer. An answer
    without words, with a letter above U+024F (most of these are not Latin), or with only a Roman numeral is never of a wrong type."""
    wanted, found = facts(reference), facts(given)
    written = {word.removesuffix("s") for word in tokens(given)} | set(tokens(given))
    other_script = any(char > "\u024f" and char.isalpha() for char in given)
    if not written or other_script or _ROMAN.fullmatch(given.strip()):
        return ""
    return (
        _not_a_number(question, wanted, found, written)
        or _not_a_date(question, wanted, found, written)
        or _number_for_words(reference, given, found)
        or _other_form(question, reference, given)
    )


def _not_a_number(question: str, wanted: Facts, found: Facts, written: set[str]) -> str:
    if not wanted.amounts or wanted.dates or found.amounts:
        return ""
    if found.dates:
        asked = _COUNT.search(question) or _SIZE.search(question)
        return "a date, not a number" if asked and not _shared(found, wanted) else ""
    if _COUNT.search(question):
        return "" if written & _AMOUNTS else "no number"
    return "no number" if _SIZE.search(question) and not written & (_AMOUNTS | _TIMES | _SIZES) else ""


def _not_a_date(question: str, wanted: Facts, found: Facts, written: set[str]) -> str:
    if not wanted.dates or wanted.amounts or found.dates or not _WHEN.search(question):
        return ""
    if written & _TIMES:
        return ""
    if not found.amounts:
        return "no date"
    return "" if _shared(wanted, found) else "a number, not a date"


def _shared(dated: Facts, numbered: Facts) -> bool:
    """Whether a number can be a part of a date: its year, the last two digits of the year, its month or its day. An ordinal always can."""
    parts = {part for date in dated.dates for part in (date.year, date.month, date.day) if part is not None}
    parts |= {date.year % 100 for date in dated.dates if date.year is not None}
    return any(amount.value in parts or amount.unit == "rank" for amount in numbered.amounts)


def _number_for_words(reference: str, given: str, found: Facts) -> str:
    """The fault of an answer that is only a number or date; empty if the right answer has one, also as a Roman numeral or in words."""
    wanted = facts(reference)
    words = set(tokens(reference))
    if wanted.amounts or wanted.dates or any(map(str.isdigit, reference)) or words & (_AMOUNTS | _TIMES):
        return ""
    roman = re.search(rf"\b{_ROMAN.pattern}\b", reference)
    if not (found.amounts or found.dates) or _rest(given, found) or roman:
        return ""
    return "a number where the answer is words"


def _rest(text: str, found: Facts) -> list[str]:
    """The content words that are not numbers or dates."""
    spans = [(one.start, one.end) for one in (*found.amounts, *found.dates)]
    left = "".join(char for at, char in enumerate(text) if not any(a <= at < b for a, b in spans))
    return [word for word in tokens(left) if is_content(word)]


def _other_form(question: str, reference: str, given: str) -> str:
    """The fault of an answer that is a yes or no, or a cause, if the question asks for something else; otherwise empty."""
    bare = given.strip().rstrip(".!").casefold()
    if bare in _YES_NO and _WH.match(question) and reference.split()[:1]:
        first = reference.split()[0].strip(".,;!").casefold()
        return "" if first in _YES_NO else "a yes or no where the answer is a fact"
    if _CAUSE.match(given) and _OF_ONE_TYPE.search(question) and not _CAUSE.match(reference):
        return "" if re.search(r"\bwhy\b", question, re.I) else "a cause, which was not asked for"
    return ""
