"""Finds the dates in a text (days, months, years and decades), and compares dates."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from qagen_dagster.english.amounts import Bound, bound_of
from qagen_dagster.english.words import listed

MONTHS = listed("January February March April May June July August September October November December")
WEEKDAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_MONTHS = {name.lower(): number for number, name in enumerate(MONTHS, start=1)} | dict(
    zip(
        listed("jan feb mar apr jun jul aug sep sept oct nov dec"),
        (1, 2, 3, 4, 6, 7, 8, 9, 9, 10, 11, 12),
        strict=True,
    )
)
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"1[0-9]\d\d|20\d\d"
_DECADES = {
    word: 10 * number
    for number, word in enumerate(
        listed("twenties thirties forties fifties sixties seventies eighties nineties"), start=2
    )
}
_CENTURIES = {"seventeen": 1700, "eighteen": 1800, "nineteen": 1900, "twenty": 2000}
_DAY = r"[0-3]?\d(?:st|nd|rd|th)?"
# Words after an amount: in "1500 metres" the number is not a year.
_NO_YEAR = (
    r"percent|per cent|million|billion|thousand|hundred|people|miles?|(?:kilo|centi|milli|micro)?(?:met(?:re|er)s?|grams?|lit(?:re|er)s?)"
    r"|[kcmµμ]?m|[kmµμ]?g|m?l|feet|ft|inch(?:es)?|yards?|tons?|tonnes?|lbs?|pounds?|dollars?|euros?|usd|eur|gbp|hours?|minutes?"
    r"|seconds|days|weeks|months|years|[km]?w|[kmg]wh|[km]?v|volts?|watts?|[kmg]?hz|[kmgt]b|kelvin|rpm|ppm|acres?|hectares?|ha"
)
_DATE = re.compile(
    rf"\b(?P<iso_year>{_YEAR})-(?P<iso_month>[01]\d)-(?P<iso_day>[0-3]\d)\b"
    rf"|\b(?P<day>{_DAY})(?:\s+of)?[\s-](?P<month>{_NAME})\b\.?(?:,?[\s-](?P<year>{_YEAR})\b)?"
    rf"|\b(?P<us_month>{_NAME})\b\.?\s(?P<us_day>{_DAY})\b(?!\s?%|[,.]\d)(?:,?\s(?P<us_year>{_YEAR})\b)?"
    rf"|\b(?P<only_month>{_NAME})\b\.?,?\s(?:of\s)?(?P<month_year>{_YEAR})\b"
    rf"|(?<![\w.,$£€#])(?<![^\W\d]-)(?P<decade>{_YEAR})'?s\b"
    rf"|(?:\b(?:the|early|mid|late)[\s-]['\u2018\u2019]?|['\u2018\u2019])(?P<short>[2-9]0)'?s\b"
    rf"|\b(?:the|early|mid|late)[\s-](?:(?P<century>nineteen|eighteen|seventeen|twenty)[\s-])?(?P<spelled>{'|'.join(_DECADES)})\b"
    rf"|(?<![\w.,$£€#])(?<![^\W\d]-)(?P<alone>{_YEAR})(?![\w%]|[.,]\d|-\d(?!\d)|\s(?:{_NO_YEAR})\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Date:
    """A date with the parts that are known. A decade has its first year as `year`, and `decade` is set. The
    century of "the sixties" is unknown, so its year is 60."""

    year: int | None
    month: int | None
    day: int | None
    text: str
    start: int
    end: int
    decade: bool = False
    bound: Bound | None = None

    def exact(self) -> "Date":
        """The date without its comparison."""
        return replace(self, bound=None)

    def agrees(self, other: "Date") -> bool:
        """Whether both dates have known parts in common, and all of these are equal. A limit ("before 1967")
        agrees with dates within it, and with an equal limit in the same direction."""
        if self.bound is not None and other.bound is None and self._centuries(other):
            return self._allows(self.bound, other)
        if self.bound and other.bound and self.bound.upward is not other.bound.upward:
            return False
        if other.bound in (Bound.MORE, Bound.LESS) and self.bound is None and self._known() == other._known():
            return False  # "in 1967" is not before 1967
        if self.year is not None and other.year is not None and not self._same_year(other):
            return False
        pairs = ((self.month, other.month), (self.day, other.day))
        if any(mine is not None and theirs is not None and mine != theirs for mine, theirs in pairs):
            return False
        return self.comparable(other)

    def comparable(self, other: "Date") -> bool:
        """Whether the year or the month is known for both dates."""
        both_years = self.year is not None and other.year is not None
        return both_years or (self.month is not None and other.month is not None)

    def _same_year(self, other: "Date") -> bool:
        mine, theirs = self.year or 0, other.year or 0
        if not self._centuries(other):  # "the sixties"
            return mine // 10 % 10 == theirs // 10 % 10
        if self.decade or other.decade:
            century = any(one.decade and (one.year or 0) % 100 == 0 for one in (self, other))  # "the 1900s"
            return mine // 10 == theirs // 10 or (century and mine // 100 == theirs // 100)
        return mine == theirs

    def _centuries(self, other: "Date") -> bool:
        """Whether the years of both dates are known with their centuries."""
        return min(self.year or 0, other.year or 0) >= 100

    def _known(self) -> tuple[int, ...]:
        """The year, month and day up to the first unknown part."""
        parts = (self.year, self.month, self.day)
        known = next((at for at, part in enumerate(parts) if part is None), len(parts))
        return tuple(part or 0 for part in parts[:known])

    def _allows(self, bound: Bound, other: "Date") -> bool:
        limit, value = self._known(), other._known()
        if self.decade and bound.upward and not other.decade and bound is Bound.MORE:
            limit = (limit[0] + 9,)
        depth = min(len(limit), len(value))
        if limit[:depth] == value[:depth]:
            return len(value) < len(limit) or bound in (Bound.LEAST, Bound.MOST)
        return (value[:depth] > limit[:depth]) is bound.upward


def dates(text: str) -> Iterator[Date]:
    """The dates of `text`, in order."""
    for match in _DATE.finditer(text):
        found = _read(match)
        if found is not None:
            yield replace(found, bound=bound_of(text, found.start, found.end, date=True))


def _read(match: re.Match[str]) -> Date | None:
    group = match.groupdict()
    years = ("iso_year", "year", "us_year", "month_year", "decade", "alone", "short")
    year = _number(next((group[name] for name in years if group[name]), None))
    if group["spelled"]:
        year = _DECADES[group["spelled"].lower()] + _CENTURIES.get((group["century"] or "").lower(), 0)
    name = group["month"] or group["us_month"] or group["only_month"]
    if (
        name is not None
        and name.islower()
        and (name.startswith("ma") or name in ("jun", "dec", "sep", "jan"))
        and year is None
    ):
        return None  # "may 3" and "march 5" in lower case may be verbs
    month = _MONTHS[name.lower()] if name is not None else _number(group["iso_month"])
    day = _number(group["iso_day"] or group["day"] or group["us_day"])
    if (day is not None and not 1 <= day <= 31) or (month is not None and not 1 <= month <= 12):
        return None
    return Date(
        year,
        month,
        day,
        match.group().strip(),
        match.start(),
        match.end(),
        bool(group["decade"] or group["short"] or group["spelled"]),
    )


def _number(written: str | None) -> int | None:
    if written is None:
        return None
    return int(re.sub(r"\D", "", written))
