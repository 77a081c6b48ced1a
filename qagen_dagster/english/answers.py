"""Compares two short answers to find out whether they can state the same fact."""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from qagen_dagster.english.amounts import Amount
from qagen_dagster.english.dates import Date
from qagen_dagster.english.facts import Facts, differences, facts
from qagen_dagster.english.facts import Kind as Difference
from qagen_dagster.english.polarity import negates
from qagen_dagster.english.words import STOP_WORDS, is_content, stem, tokens, word_set
from qagen_dagster.records.ids import normalise

T = TypeVar("T")

SHORT = 4  # content words; in answers with at least this many, different words may state the same fact
_SEVERAL_CLAIMS = re.compile(r"[.;]\s")  # separates claims; a negation belongs to one claim
MAX_ROUNDING = 0.06  # as a share of the amount
_ROUNDED_POWER = 0.005  # maximum rounding (1.2 %) of an amount, as the decimal logarithm of a ratio
_HEDGES = word_set(
    "about around approximately approx roughly circa ca nearly almost some dr mr mrs ms prof professor sir"
)
_FIRST = frozenset(("A", "I", *(word.title() for word in STOP_WORDS if len(word) == 2)))
_LEADING = word_set("in on at because it they is are was were")
_POLARITY = {"yes": True, "true": True, "no": False, "false": False}
_SYMBOL = re.compile(r"(\d[\d.,]*)\s?([TGMkcmμunp]?)(mol|Pa|Hz|eV|[gmslLAVWJNFΩ])\b")  # number, prefix, unit
_EDGES = re.compile(r"^\W+|\W+$")
_MINUS = re.compile(r"(?:\bminus\s+|(?<![\w.,)])[-\u2212])([$£€]?)(?=\d)", re.IGNORECASE)
_DOTTED = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")  # a date
_DETERMINERS = re.compile(r"\b(?:a|an|the)\b")
_ARTICLE = re.compile(r"\b(?:[Tt]he|[Aa]n|a)\s+(?=\w)")  # not the A of a name such as "vitamin A"
_SIGN = re.compile(r"[^\w\s.,;:!?'\"()\u2018\u2019\u201c\u201d]|_")  # "C++", "p < 0.05"
_ZEROS = re.compile(r"^0\d+|\.\d*0(?!\d)")  # version 1.20 is not version 1.2
_BARE_YEAR = re.compile(r"\d{4}")
_LETTERS = re.compile(r"[^\W\d_]+")


class Match(StrEnum):
    """Whether two answers state the same fact."""

    SAME = "same"  # the same fact in almost the same words, with numbers and units converted
    CLOSE = "close"  # the answers probably state the same fact: they share words, or one rounds the other
    APART = "apart"  # the answers have little or nothing in common, but do not contradict each other
    CONFLICT = "conflict"  # the answers cannot both answer the same question


@dataclass(frozen=True)
class _Answer:
    normal: str
    facts: Facts
    words: frozenset[str]  # stems of all words except numbers and dates
    polarity: bool | None
    negates: bool
    named: bool  # the answer consists only of names
    minus: bool  # a number has a minus, which also states a fall


def match(one: str, other: str) -> Match:
    """Compare two answers. The order of the arguments does not matter."""
    a, b = _answer(one), _answer(other)
    if not a.normal or not b.normal:
        return Match.SAME if one == other and one else Match.CLOSE  # nothing to compare
    if a.normal == b.normal:
        return Match.CLOSE if a.minus != b.minus or _prefixes_differ(one, other) else Match.SAME
    a, b = _as_amount(a, b), _as_amount(b, a)
    if a.polarity is not None and b.polarity is not None and a.polarity != b.polarity:
        return Match.CONFLICT
    numbers = _numbers(a.facts, b.facts)
    if numbers is Match.CONFLICT or _contradict(a, b):
        return Match.CONFLICT
    words = _words(a, b)
    if numbers is None:
        return words
    if _prefixes_differ(one, other):
        return Match.CONFLICT if words is Match.CONFLICT else Match.CLOSE
    return _with_numbers(numbers, words, bare=not a.words or not b.words)


def _prefixes_differ(one: str, other: str) -> bool:
    """Whether the answers write a number in units that differ only in the prefix: "5 mΩ" and "5 MΩ"."""
    left, right = (_SYMBOL.findall(unicodedata.normalize("NFKC", text)) for text in (one, other))
    return any(
        a[::2] == b[::2] and {a[1], b[1]} not in ({a[1]}, {"u", "μ"})
        for a, b in zip(left, right, strict=False)
    )


def clearly_different(one: str, other: str) -> bool:
    """Whether the answers state different facts. Different words are enough only for short answers."""
    found = match(one, other)
    if found is Match.APART:
        return max(len(_answer(one).words), len(_answer(other).words)) < SHORT
    return found is Match.CONFLICT


def equal(one: str, other: str) -> bool:
    """Whether the answers are certainly the same: they have the same words, dates and numbers with units in the same order."""
    found = _sequence(one)
    same = bool(found) and found == _sequence(other) and _capitals(one) == _capitals(other)
    return same and match(one, other) is Match.SAME


def contradiction(one: str, other: str) -> str:
    """The reason why the answers cannot both be right; empty if they can be. Different names prove nothing, because a thing can have two
    names. Amounts that differ by a power of ten also prove nothing, because the header of a table can give the scale."""
    a, b = _answer(one), _answer(other)
    if not a.normal or not b.normal or a.normal == b.normal:
        return ""
    if None not in (a.polarity, b.polarity) and a.polarity != b.polarity:
        return "one says yes, the other no"
    if _numbers(a.facts, b.facts) is Match.CONFLICT and not _scaled(a.facts.amounts, b.facts.amounts):
        return "their numbers or dates differ"
    alike = 2 * len(a.words & b.words) > max(len(a.words), len(b.words))
    several = _SEVERAL_CLAIMS.search(one.strip()) and _SEVERAL_CLAIMS.search(other.strip())
    return "one denies what the other states" if alike and not several and _contradict(a, b) else ""


def informative(answer: str) -> bool:
    """Whether few other questions have this answer. A yes, a no or a number without a unit is not informative."""
    parsed = _answer(answer)
    if parsed.polarity is not None:
        return False
    return bool(parsed.words or parsed.facts.dates or any(amount.measured for amount in parsed.facts.amounts))


@lru_cache(maxsize=50_000)
def _answer(text: str) -> _Answer:
    text = _DOTTED.sub(r"\1/\2/\3", _MINUS.sub(r"\1-", text))
    read = facts(text)
    spans = [(one.start, one.end) for one in (*read.amounts, *read.dates)]
    rest = "".join(char for at, char in enumerate(text) if not any(start <= at < end for start, end in spans))
    content = [word for word in tokens(rest) if is_content(word) and word not in _HEDGES]
    capitals = [word for word in _LETTERS.findall(rest) if is_content(word.lower())]
    normal = " ".join(_DETERMINERS.sub(" ", _EDGES.sub("", normalise(text))).split())
    first = normal.split(",", 1)[0].split(" ", 1)[0]
    return _Answer(
        normal=normal,
        facts=read,
        words=frozenset(map(stem, content)),
        polarity=_POLARITY.get(first),
        negates=negates(text),
        minus=_MINUS.search(text) is not None,
        named=bool(capitals) and all(word[0].isupper() for word in capitals),
    )


def _as_amount(one: _Answer, other: _Answer) -> _Answer:
    """`one`. If it is a bare year ("1240"), and `other` has amounts but no dates, the year is returned as an amount."""
    if other.facts.dates or not other.facts.amounts or not _BARE_YEAR.fullmatch(one.normal):
        return one
    number = float(one.normal)
    amount = Amount(number, "", one.normal, 0, len(one.normal), number=number)
    return replace(one, facts=replace(one.facts, amounts=(amount,), dates=()))


def _sequence(text: str) -> list[object]:
    """The stems, symbols, amounts and dates of an answer in order, without articles and without words of `_LEADING` at the beginning."""
    read = _answer(text).facts
    found: list[object] = []
    at = 0
    for fact in sorted((*read.amounts, *read.dates), key=lambda fact: fact.start):
        found += _stems_and_signs(text[at : fact.start])
        at = max(at, fact.end)
        if isinstance(fact, Date):
            found.append((fact.year, fact.month, fact.day, fact.decade))
        else:
            unit = fact.unit if fact.measured or fact.unit == "rank" else ""
            found.append((f"{fact.value:.9g}", unit, *_ZEROS.findall(fact.text)))
    found += _stems_and_signs(text[at:])
    while found and found[0] in _LEADING:
        found.pop(0)
    return found


def _stems_and_signs(text: str) -> list[str]:
    words = tokens(_ARTICLE.sub(" ", text))
    return [*(word if word in _LEADING else stem(word) for word in words), *_SIGN.findall(text)]


def _capitals(text: str) -> list[str]:
    """The words in which capitals have a meaning, such as "mW", "CO" and "K", but not "A", "I" or "In"."""
    return [
        word
        for word in _LETTERS.findall(text)
        if word[1:] != word[1:].lower() or (len(word) < 3 and word != word.lower() and word not in _FIRST)
    ]


def _numbers(a: Facts, b: Facts) -> Match | None:
    """Compare the numbers and dates; None if neither answer has any."""
    if not (a.amounts or a.dates or b.amounts or b.dates):
        return None
    if not (a.amounts or a.dates) or not (b.amounts or b.dates):
        return Match.APART
    parts = (
        _pairing(a.amounts, b.amounts, lambda one, other: one.exact().same(other.exact()), _near_amount),
        _pairing(a.dates, b.dates, lambda one, other: one.agrees(other) and other.agrees(one), _near_date),
    )
    found = [part for part in parts if part is not None]
    if not found:
        return Match.APART  # one answer has a date, the other an amount
    return max(found, key=list(Match).index)


def _pairing(
    a: Sequence[T], b: Sequence[T], same: Callable[[T, T], bool], near: Callable[[T, T], bool]
) -> Match | None:
    """Compare two lists of the same kind of facts; None if one list is empty."""
    if not a or not b:
        return None
    mine = [one for one in a if not any(same(one, other) for other in b)]
    theirs = [other for other in b if not any(same(one, other) for one in a)]
    if not mine and not theirs:
        return Match.SAME
    if not mine or not theirs:
        return Match.CLOSE  # one answer says more than the other
    return Match.CLOSE if any(near(one, other) for one in mine for other in theirs) else Match.CONFLICT


def _near_amount(one: Amount, other: Amount) -> bool:
    """Whether one amount is the other rounded, or one is a limit that the other meets."""
    return _rounded(one, other) or one.same(other) or other.same(one)


def _near_date(one: Date, other: Date) -> bool:
    return not one.comparable(other) or one.agrees(other) or other.agrees(one)


def _rounded(one: Amount, other: Amount) -> bool:
    """Whether the amount with fewer digits is the other amount rounded."""
    if one.measured and other.measured and one.unit != other.unit:
        return False
    few, many = sorted((one.value, other.value), key=_digits)
    if _digits(few) == _digits(many) or not math.isclose(few, many, rel_tol=MAX_ROUNDING):
        return False
    place = _digits(few) - 1 - math.floor(math.log10(abs(few)))
    return math.isclose(round(many, place), few, rel_tol=1e-9)


def _scaled(a: Sequence[Amount], b: Sequence[Amount]) -> bool:
    """Whether an amount of `a` is about an amount of `b` times a power of ten, such as 12.8 million and 12,843."""
    powers = [math.log10(one.value / other.value) for one in a for other in b if one.value * other.value > 0]
    return any(round(power) != 0 and abs(power - round(power)) <= _ROUNDED_POWER for power in powers)


def _digits(value: float) -> int:
    """The number of significant digits."""
    return len(f"{abs(value):.12g}".replace(".", "").strip("0")) if "e" not in f"{value:.12g}" else 12


def _contradict(a: _Answer, b: _Answer) -> bool:
    """Whether the directions of the answers are opposite, or only one of them negates. A negation counts if they share at least half of the
    words of the longer answer, and if both are a yes or no, or neither is."""
    alike = 2 * len(a.words & b.words) >= max(len(a.words), len(b.words))
    if alike and (a.polarity is None) == (b.polarity is None) and a.negates != b.negates:
        return True
    kinds = {one.kind for left, right in ((a, b), (b, a)) for one in differences(left.facts, right.facts)}
    return Difference.DIRECTION in kinds


def _words(a: _Answer, b: _Answer) -> Match:
    shared = a.words & b.words
    shorter, longer = sorted((a.words, b.words), key=len)
    if not shorter:
        return Match.SAME if not longer else Match.APART
    if len(shared) == len(shorter):
        return Match.SAME if 2 * len(shorter) >= len(longer) else Match.CLOSE
    if shared:
        return Match.CLOSE if 2 * len(shared) >= len(shorter) else Match.APART
    if a.named and b.named and not _initials(a.normal, b.normal) and not _initials(b.normal, a.normal):
        return Match.CONFLICT
    return Match.CLOSE if _initials(a.normal, b.normal) or _initials(b.normal, a.normal) else Match.APART


def _with_numbers(numbers: Match, words: Match, *, bare: bool) -> Match:
    """The match of two answers from the matches of their numbers and words. `bare` means that one answer has only numbers."""
    if numbers is Match.APART:
        return Match.CLOSE if not bare and words in (Match.SAME, Match.CLOSE) else Match.APART
    if numbers is Match.SAME and (bare or words is Match.SAME):
        return Match.SAME
    return Match.CONFLICT if words is Match.CONFLICT else Match.CLOSE


def _initials(short: str, long: str) -> bool:
    """Whether `short` abbreviates the words of `long`."""
    letters = short.replace(".", "")
    found = "".join(word[0] for word in _LETTERS.findall(long))
    return 2 <= len(letters) <= 6 and letters.isalpha() and letters == found
