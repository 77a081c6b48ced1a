"""Finds numbers in text: digits with separators, scales, number words, ordinals, percentages, money, units.

A comparison around a number or date ("more than 80", "before 1967", "85 or more") states a limit, not a value.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from qagen_dagster.english.words import listed, named_words


class Bound(StrEnum):
    """The comparison that makes a number or date a limit."""

    MORE = ">"
    LEAST = ">="
    LESS = "<"
    MOST = "<="

    @property
    def upward(self) -> bool:
        return self in (Bound.MORE, Bound.LEAST)

    def holds(self, value: float, limit: float) -> bool:
        """Whether `value` is within the limit."""
        if value == limit:
            return self in (Bound.LEAST, Bound.MOST)
        return (value > limit) is self.upward


_LOOSE = (
    r"(?:\s?(?:the|about|around|approximately|early|late|mid|a total of|at least|end of)\b[\s-]?){0,2}\s?$"
)
_AMOUNT: Mapping[Bound, str] = {
    Bound.LEAST: r"at least|between|(?:no|not) (?:less|fewer|lower|smaller) than|(?:a )?minimum of|≥|>=",
    Bound.MOST: r"at most|up to|between [\d.,]{1,12} and|(?:no|not) (?:more|greater|higher|larger|longer) than|(?:a )?maximum of|≤|<=",
    Bound.LESS: r"(?:less|fewer|lower|smaller|shorter|younger|lighter|cheaper|slower) than|under|below|<",
    Bound.MORE: r"(?:more|[a-z]+er) than|over|above|exceed(?:s|ed|ing)?|>",
}
_DATE: Mapping[Bound, str] = {
    Bound.LEAST: r"since|(?:no|not) (?:earlier than|before)|from",
    Bound.MOST: r"until|till|up to|by|(?:no|not) (?:later than|after)",
    Bound.LESS: r"before|prior to|earlier than|<",
    Bound.MORE: r"after|later than|>",
}
_AFTERWARDS = {
    Bound.LEAST: re.compile(r"\+(?!\d)|(?:,?\s(?:or|and)|(?:\s[a-z]{1,20}){1,2} or) (?:more|over|above|older|longer|later|higher)\b|\sonwards?\b", re.IGNORECASE),
    Bound.MOST: re.compile(r"(?:,?\s(?:or|and)|(?:\s[a-z]{1,20}){1,2} or) (?:less|fewer|under|below|younger|shorter|earlier|lower)\b", re.IGNORECASE),
}  # fmt: skip
_FAR = 40  # characters before a number that are searched for its comparison


_SHOWN = {
    Bound.MORE: ("more than", "after"),
    Bound.LEAST: ("at least", "since"),
    Bound.LESS: ("less than", "before"),
    Bound.MOST: ("at most", "by"),
}


def with_bound(text: str, bound: Bound | None, *, date: bool = False) -> str:
    """The text of an amount or date with its comparison, for a person."""
    return f"{_SHOWN[bound][date]} {text}" if bound else text


def _before(words: Mapping[Bound, str]) -> dict[Bound, re.Pattern[str]]:
    return {
        bound: re.compile(rf"(?:\b|(?=[<>≤≥]))(?:{one}){_LOOSE}", re.IGNORECASE)
        for bound, one in words.items()
    }


_BEFORE_AMOUNT, _BEFORE_DATE = _before(_AMOUNT), _before(_DATE)


def bound_of(text: str, start: int, end: int, *, date: bool = False) -> Bound | None:
    """The comparison around characters `start` to `end`; None if the characters state a value."""
    near = text[max(0, start - _FAR) : start]
    found = (bound for bound, one in (_BEFORE_DATE if date else _BEFORE_AMOUNT).items() if one.search(near))
    after = (bound for bound, one in _AFTERWARDS.items() if one.match(text, end))
    return next(found, None) or next(after, None)


SPELLED = {word: value for value, word in enumerate(named_words("numbers"))} | {
    word: 10 * value for value, word in enumerate(named_words("tens"), start=2)
}
_ORDINALS = {word: value for value, word in enumerate(named_words("ordinals"), start=1)} | {
    f"{word[:-1]}ieth": value for word, value in SPELLED.items() if value >= 20
}
_LARGE = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES = {"hundred": 1e2, **_LARGE} | {
    "k": 1e3, "mn": 1e6, "m": 1e6, "mm": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12, "dozen": 12.0,
}  # fmt: skip
_MONEY_SCALES = ("million", "billion", "trillion", "mn", "bn", "tn")  # "pounds" after one of these is money
_MONEY = {"$": "usd", "us$": "usd", "£": "gbp", "€": "eur", "¥": "jpy", "₹": "inr"} | {
    code: code for code in listed("usd gbp eur jpy inr")
}
_AT_HOME = dict(
    pair.split(":")
    for pair in listed("us:usd u.s.:usd american:usd british:gbp uk:gbp japanese:jpy indian:inr")
)

# For each unit: its measures, and its size in the first unit of each measure. "Pounds" may be a mass or money.
_UNITS: dict[str, list[tuple[str, float]]] = {}
for _measure in named_words("measures"):
    for _one in named_words(f"{_measure}_units"):
        _name, _factor = _one.split(":")
        _UNITS.setdefault(_name.replace("_", " "), []).append((_measure, float(_factor)))

_DIGITS = r"\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


# Numbers in words: below a hundred, below a thousand, with scales, ordinals.
_TENS = _any(w for w, v in SPELLED.items() if v >= 20)
_LOW = rf"(?:{_TENS}(?:[\s-]{_any(w for w, v in SPELLED.items() if 0 < v < 10)})?|{_any(SPELLED)})\b"
_MORE = rf"(?![\s-](?:hundred|{'|'.join(_LARGE)})\b)"
_MIDDLE = rf"(?:(?:{_LOW}|an?)[\s-]hundred\b(?:(?:\sand\s|[\s-]){_LOW}{_MORE})?|{_LOW})"
_SCALED = rf"(?:{_MIDDLE}|an?)[\s-]{_any(_LARGE)}\b"
_CARDINAL = rf"{_SCALED}(?:,?\s{_SCALED})*(?:(?:,?\sand\s|,?\s){_MIDDLE}{_MORE})?|an?\sdozen\b|{_MIDDLE}"
_LAST = _any(word for word, value in _ORDINALS.items() if value < 10)
_ORDINAL = rf"(?:{_LOW}[\s-]hundred(?:\sand\s|[\s-]))?(?:{_TENS}(?:-{_LAST}|\s(?!second){_LAST})|{_any(_ORDINALS)})|(?:{_LOW}[\s-])?hundredth"
_NUMBER = re.compile(
    rf"(?P<money>us\$|[$£€¥₹]|\b(?-i:USD|GBP|EUR|JPY|INR)(?=\s?\d))?\s?(?<![\w.])(?P<sign>[-\u2212])?(?P<digits>{_DIGITS})(?:(?P<ordinal>st|nd|rd|th)\b)?"
    rf"|\b(?P<ranked>{_ORDINAL})\b|\b(?P<words>{_CARDINAL})",
    re.IGNORECASE,
)
_SCALE = re.compile(rf"[\s-]?(?P<scale>{_any(_SCALES)})\b(?![./-]\w)", re.IGNORECASE)
_UNIT = re.compile(
    r"[\s\u00a0-]?(?:(?P<sign>%|°\s?[cf]\b|℃|(?:us\$|[$£€¥₹])(?!\s?\d))"
    r"|(?:(?P<nation>(?-i:US|U\.S\.|UK|[A-Z][a-z]{3,}))\s)?(?P<coin>dollars?|pounds?|yen|rupees?)\b"
    r"|(?P<word>per cent\b|[a-zµμ]{1,14}\b(?!\.m\b)))",
    re.IGNORECASE,
)
_LETTERS_ONLY_AFTER_DIGITS = frozenset({"k", "m", "b", "mm", "mn"})
_ATTACHED = re.compile(r"[^\W_]+")
_CODE = re.compile(r"\b[^\W\d_]*[A-Z][^\W_]*-$")  # "COVID-" before a number
_CAPITAL_UNITS = frozenset("VWLAC")  # other single capitals after digits are part of a name: "5G"


@dataclass(frozen=True)
class Amount:
    """A number and the unit or thing that it counts. `unit` is a measure ("length"), "rank", the noun after the number, or empty."""

    value: float  # in the first unit of the measure
    unit: str
    text: str
    start: int
    end: int
    measured: bool = False  # whether `unit` is a measure and not a noun
    number: float = 0.0  # as written, without the factor of the unit
    also: tuple[tuple[float, str], ...] = ()  # other readings, as value and measure: "85 pounds" as money
    bound: Bound | None = None

    @property
    def readings(self) -> tuple[tuple[float, str], ...]:
        return ((self.value, self.unit), *self.also)

    def exact(self) -> "Amount":
        """The amount without its comparison."""
        return self if self.bound is None else replace(self, bound=None)

    def same(self, other: "Amount") -> bool:
        """Whether `other` has the same number. The nouns may differ, but if both amounts have a measure, it must be the same measure.

        If this amount is a limit ("more than 80"), it is the same as each value within it (unless the nouns differ), and as an equal limit
        in the same direction.
        """
        pairs = self._values(other)
        if self.bound and not other.bound:
            alike = self.measured or self.unit == other.unit or not (self.unit and other.unit)
            return alike and any(self.bound.holds(theirs, mine) for mine, theirs in pairs)
        if self.bound and other.bound and self.bound.upward is not other.bound.upward:
            return False
        return any(_close(mine, theirs) for mine, theirs in pairs)

    def _values(self, other: "Amount") -> list[tuple[float, float]]:
        """The pairs of values to compare: the values in the same measure, or the numbers as written if only one amount has a measure."""
        if self.measured != other.measured:
            return [(self.number, other.number)]
        return [
            (mine, theirs)
            for mine, unit in self.readings
            for theirs, measure in other.readings
            if unit == measure or not self.measured
        ]

    def comparable(self, other: "Amount") -> bool:
        """Whether both amounts are of the same kind, so that different values are a conflict."""
        mine, theirs = ({unit for _, unit in one.readings} for one in (self, other))
        return bool(mine & theirs) or (
            not self.measured and not other.measured and "rank" not in (self.unit, other.unit)
        )


# Relative difference up to which two numbers are equal. The factors of units have at least eight correct digits, and floats round.
_EQUAL = 1e-6


def _close(claim: float, evidence: float) -> bool:
    """Whether the numbers are equal, or the claim's number is the other number, rounded to two digits or more ("1.2 million" for
    1,234,567)."""
    if math.isclose(claim, evidence, rel_tol=_EQUAL, abs_tol=1e-12):
        return True
    digits = f"{abs(claim):.0f}"
    kept = digits.rstrip("0")
    grain = 10.0 ** (len(digits) - len(kept))
    return len(kept) >= 2 and grain >= 100 and abs(claim - evidence) <= grain / 2


def amounts(text: str) -> Iterator[Amount]:
    """The amounts of `text`, in order."""
    end = 0
    for match in _NUMBER.finditer(text):
        if match.start() < end:
            continue
        amount = _amount(text, match)
        if amount is not None:
            end = amount.end
            yield amount


def _amount(text: str, match: re.Match[str]) -> Amount | None:
    if match["ranked"]:
        rank = _worth(match["ranked"])
        return Amount(rank, "rank", match.group(), *match.span(), number=rank)
    start, end = match.span()
    value = _worth(match["words"]) if match["words"] else _digits(match)
    if (match["words"] or "").lower() == "one" and not _counts(text, end):
        return None
    if match["words"] and match["words"][:2].lower() in ("a ", "an"):
        before = text[max(0, start - 5) : start].lower()
        if before.endswith("of "):
            return None  # "a quarter of a million"
        value *= 0.5 if before.endswith("half ") else 1.0
    if match["ordinal"]:
        return Amount(value, "rank", match.group().strip(), start, end, number=value)
    if match["digits"] and _is_code(text, match):
        return None
    money = _MONEY.get((match["money"] or "").lower(), "")
    value, end = _scaled(text, value, end, money=bool(money))
    if money:
        found = Amount(value, money, text[start:end].strip(), start, end, measured=True)
    else:
        found = _with_unit(text, value, start, end)
    number = match.start("digits") if match["digits"] else start
    return replace(found, number=value, bound=bound_of(text, start if money else number, found.end))


def _is_code(text: str, match: re.Match[str]) -> bool:
    """Whether digits are part of a name of letters and digits: "COVID-19", "5G", "5W30"; not "5kg", "20MHz", "10am"."""
    if _CODE.search(text[max(0, match.start("digits") - 16) : match.start("digits")]):
        return True
    attached = _ATTACHED.match(text, match.end())
    if attached is None or attached.group().islower():
        return bool(attached) and not attached.group().isalpha()
    run = attached.group()
    if len(run) == 1:
        return run not in _CAPITAL_UNITS and run.lower() not in _LETTERS_ONLY_AFTER_DIGITS
    return unit_of(run) is None and run.lower() not in _SCALES


def _scaled(text: str, value: float, end: int, *, money: bool) -> tuple[float, int]:
    """The value multiplied by the scales after it ("million"), and the position after these scales."""
    scale = _SCALE.match(text, end)
    if scale is None:
        return value, end
    written = scale["scale"]
    attached = scale.start("scale") == end and len(written) == 1 and written.isupper()  # "10M users"
    if not money and written.lower() in _LETTERS_ONLY_AFTER_DIGITS and not attached:
        return value, end
    value, end = value * _SCALES[written.lower()], scale.end()
    again = _SCALE.match(text, end)
    if again and len(again["scale"]) > 4:
        value, end = value * _SCALES[again["scale"].lower()], again.end()
    return value, end


def unit_of(word: str) -> tuple[str, float] | None:
    """The measure of a unit and its size in the measure's first unit; None if the word is not a unit."""
    return next(iter(_readings(word)), None)


def _readings(word: str) -> list[tuple[str, float]]:
    word = word.lower()
    return _UNITS.get(word) or _UNITS.get(word.removesuffix("s")) or _UNITS.get(word.removesuffix("es")) or []


def _counts(text: str, end: int) -> bool:
    """Whether the word "one" before `end` is a number. It is a number only before a scale or a unit, because elsewhere it may be a
    pronoun."""
    unit = _UNIT.match(text, end)
    word = (unit["word"] or "").lower() if unit else ""
    return bool(_SCALE.match(text, end)) or (len(word) > 2 and word in _UNITS)


def _worth(words: str) -> float:
    """The value of a number in words."""
    total = group = 0.0
    for word in re.findall("[a-z]+", words.lower()):
        if word in ("hundred", "hundredth"):
            group = max(group, 1.0) * 100
        elif word in _LARGE:
            total, group = total + max(group, 1.0) * _LARGE[word], 0.0
        elif word == "dozen":
            group = 12.0
        else:
            group += SPELLED.get(word, _ORDINALS.get(word, 0))
    return total + group


def _digits(match: re.Match[str]) -> float:
    value = float(re.sub(r"[,\u00a0\u202f]", "", match["digits"]))
    return -value if match["sign"] else value


def _with_unit(text: str, value: float, start: int, end: int) -> Amount:
    unit = _UNIT.match(text, end)
    written = text[start:end].strip()
    if unit is None:
        return Amount(value, "", written, start, end)
    word = (unit["sign"] or unit["coin"] or unit["word"]).lower().replace("° ", "°")
    known = _coin(word, unit["nation"]) or _readings(word)
    if word in _MONEY:
        known = [(_MONEY[word], 1.0)]
    if len(known) > 1 and written.lower().endswith(_MONEY_SCALES):
        known = known[::-1]
    if known and (unit["sign"] or len(word) > 1 or written[-1].isdigit()):
        (measure, factor), *others = known
        also = tuple((value * size, other) for other, size in others)
        return Amount(
            value * factor, measure, text[start : unit.end()].strip(), start, unit.end(), True, also=also
        )
    return Amount(value, word.removesuffix("s") if len(word) > 2 else "", written, start, end)


def _coin(word: str, nation: str | None) -> list[tuple[str, float]]:
    """The measure of a currency with a country: "US dollars", "Egyptian pounds"."""
    if not nation:
        return []
    return [(_AT_HOME.get(nation.lower(), f"{nation.lower()} {word.removesuffix('s')}"), 1.0)]
