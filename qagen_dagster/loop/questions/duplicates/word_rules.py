"""Rules over the words of two questions. If a rule tells the questions apart, neither similarity nor a model can make them duplicates."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from qagen_dagster.english.amounts import unit_of
from qagen_dagster.english.answers import Match, clearly_different, informative, match
from qagen_dagster.english.facts import Facts, Kind, differences, facts, missing_amounts, missing_dates
from qagen_dagster.english.polarity import by_form, denied, negates
from qagen_dagster.english.words import content_stems, plain, tokens
from qagen_dagster.loop.questions.duplicates import question_form
from qagen_dagster.records.ids import normalise

_IN_UNIT = re.compile(r"\bin\s+([a-z°%µμ]+)", re.IGNORECASE)
_DIFFERENT = {
    "time": "one asks when, the other does not",
    "place": "one asks where, the other does not",
    "person": "one asks who, the other does not",
    "quantity": "one asks how much, the other does not",
    "reason": "one asks why, the other does not",
}


@dataclass(frozen=True)
class Known:
    """A question with its answer."""

    question: str
    answer: str


class Ruling(StrEnum):
    """The result of the word rules for a pair."""

    SAME = "same"  # the same words
    FREE = "free"  # the same content words, with no roles exchanged
    DOUBT = "doubt"  # one question has words that the other lacks
    CROSSED = "crossed"  # each question asks for what the other states
    DIFFERENT = "different"


@dataclass(frozen=True)
class Finding:
    ruling: Ruling
    reason: str


def examine(one: Known, other: Known) -> Finding:
    """The result of the word rules for two questions. The order of the questions does not matter."""
    one, other = (
        Known(question_form.without_opening(known.question), known.answer) for known in (one, other)
    )
    if normalise(one.question) == normalise(other.question):
        return Finding(Ruling.SAME, "the same words")
    a, b = question_form.form(one.question), question_form.form(other.question)
    answers = match(one.answer, other.answer)
    if a.words == b.words and a.symbols == b.symbols and answers in (Match.SAME, Match.CLOSE):
        return Finding(Ruling.SAME, "the same words but for articles and spelling")
    if negates(one.question) != negates(other.question):
        agreed = answers is Match.SAME and informative(one.answer) and informative(other.answer)
        reworded = agreed and _denies_what_the_other_leaves_out(one.question, other.question)
        return Finding(Ruling.DOUBT if reworded else Ruling.DIFFERENT, "one of them denies")
    if crossing(one).crosses(crossing(other)):
        return Finding(Ruling.CROSSED, "each asks for what the other tells")
    if reason := _apart(one.question, other.question):
        return Finding(Ruling.DIFFERENT, reason)
    if answers is Match.CONFLICT:
        return Finding(Ruling.DIFFERENT, "the answers contradict each other")
    doubt = _doubt(one.question, other.question)
    if doubt and clearly_different(one.answer, other.answer):
        return Finding(Ruling.DIFFERENT, f"{doubt}, and the answers differ")
    return Finding(Ruling.DOUBT, doubt) if doubt else Finding(Ruling.FREE, "the same content words")


def _denies_what_the_other_leaves_out(one: str, other: str) -> bool:
    """Whether one of two questions denies only words that the other question lacks, as in "without its users"."""
    denier, affirmer = (one, other) if negates(one) else (other, one)
    scope = denied(denier)
    return bool(scope) and not scope & {*content_stems(affirmer)}


def _apart(one: str, other: str) -> str:
    """The reason why two questions cannot ask for the same fact, whatever their answers; empty if they can."""
    a, b = question_form.form(one), question_form.form(other)
    if a.asked != b.asked and a.asked in _DIFFERENT and b.asked in _DIFFERENT:
        return _DIFFERENT[a.asked]
    if {a.asked, b.asked} in ({"manner", "time"}, {"manner", "person"}):
        return "one asks how, the other does not"
    if _numbers_differ(_exact(one), _exact(other)):
        return "numbers or dates differ"
    if _names_left(one, other) and _names_left(other, one):
        return "names differ"
    if _opposite(one, other):
        return "they ask for opposites"
    if _units(one) and _units(other) and not _units(one) & _units(other):
        return "units differ"
    return "the roles are exchanged" if question_form.swapped(a, b) else ""


def _numbers_differ(a: Facts, b: Facts) -> bool:
    """Whether each question has a number or a date that the other lacks."""
    return all(missing_amounts(x, y) or missing_dates(x, y) for x, y in ((a, b), (b, a)))


@lru_cache(maxsize=50_000)
def _exact(question: str) -> Facts:
    return facts(question).exact()


def _names_left(question: str, other: str) -> list[str]:
    """The names of a question that `other` has neither as a word, nor as initials, nor written out."""
    words = {word for word, _ in facts(other).names} | {*question_form.form(other).words, *facts(other).stems}
    left = [shown for name, shown in facts(question).names if name not in words]
    return [shown for shown in left if not _abbreviates(shown, other)]


def _abbreviates(short: str, text: str) -> bool:
    """Whether capitals stand for words of `text`: their initials, or letters in order from one or two words."""
    if not (2 <= len(short) <= 6 and short.isalpha() and short.isupper()):  # no abbreviation
        return any(_abbreviates(word, short) for word in re.findall(r"\b[A-Z]{2,6}\b", text) if word != short)
    words, letters = tokens(plain(text)), short.lower()
    if letters in "".join(word[0] for word in words):
        return True
    return any(_in_order(letters, "".join(words[at : at + 2])) for at in range(len(words)))


def _in_order(letters: str, word: str) -> bool:
    rest = iter(word)
    return (
        word[:1] == letters[0] and len(word) >= 3 * len(letters) and all(letter in rest for letter in letters)
    )


def _opposite(one: str, other: str) -> bool:
    a, b = facts(one), facts(other)
    if any(found.kind is Kind.DIRECTION for x, y in ((a, b), (b, a)) for found in differences(x, y)):
        return True
    mine, theirs = set(tokens(one)), set(tokens(other))
    return any(by_form(word) & (theirs - mine) for word in mine - theirs)  # "inhabited" beside "uninhabited"


@lru_cache(maxsize=50_000)
def _units(question: str) -> frozenset[tuple[str, float]]:
    """The units in which a question wants its answer."""
    found = (unit_of(match.group(1)) for match in _IN_UNIT.finditer(question))
    return frozenset(one for one in found if one is not None)


def _doubt(one: str, other: str) -> str:
    """A difference that may be only another wording; empty if there is no such difference."""
    a, b = question_form.form(one), question_form.form(other)
    left, right = _exact(one), _exact(other)
    if any(missing_amounts(x, y) or missing_dates(x, y) for x, y in ((left, right), (right, left))):
        return "a number is in one only"
    if _names_left(one, other) or _names_left(other, one):
        return "a name is in one only"
    if a.symbols != b.symbols:
        return "signs differ"
    return "words differ" if a.content != b.content else ""


@dataclass(frozen=True)
class Crossing:
    """The words that decide whether a question asks for what another question states."""

    answer: frozenset[str]  # empty if the question states its own answer
    question: frozenset[str]

    def crosses(self, other: "Crossing") -> bool:
        """Whether each answer occurs in the other question but not in its own."""
        if not self.answer or not other.answer:
            return False
        return self.answer <= other.question and other.answer <= self.question


def crossing(known: Known) -> Crossing:
    own = content_stems(known.question)
    answer = frozenset(content_stems(known.answer)) or frozenset(tokens(known.answer))
    return Crossing(frozenset() if answer <= set(own) else answer, frozenset((*own, *tokens(known.question))))
