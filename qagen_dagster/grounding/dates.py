"""Dates as texts write them: days, months, years, decades."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.grounding.words import listed

_MONTHS = {
    name: number
    for number, name in enumerate(
        listed("january february march april may june july august september october november december"),
        start=1,
    )
} | dict(
    zip(
        listed("jan feb mar apr jun jul aug sep sept oct nov dec"),
        (1, 2, 3, 4, 6, 7, 8, 9, 9, 10, 11, 12),
        strict=True,
    )
)
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"1[0-9]\d\d|20\d\d"
_DAY = r"[0-3]?\d(?:st|nd|rd|th)?"
# Words after an amount: in "1500 metres" the number is not a year.
_NO_YEAR = (
    r"percent|per cent|million|billion|thousand|hundred|people|miles?|(?:kilo|centi|milli|micro)?(?:met(?:re|er)s?|grams?|lit(?:re|er)s?)"
    r"|[kcmµ]?m|[kmµ]?g|m?l|feet|ft|inch(?:es)?|yards?|tons?|tonnes?|lbs?|pounds?|dollars?|euros?|usd|eur|gbp|hours?|minutes?"
    r"|seconds|days|weeks|months|years|[km]?w|[kmg]wh|[km]?v|volts?|watts?|[kmg]?hz|[kmgt]b|kelvin|rpm|ppm|acres?|hectares?|ha"
)
_DATE = re.compile(
    rf"\b(?P<iso_year>{_YEAR})-(?P<iso_month>[01]\d)-(?P<iso_day>[0-3]\d)\b"
    rf"|\b(?P<day>{_DAY})(?:\s+of)?[\s-](?P<month>{_NAME})\b\.?(?:,?[\s-](?P<year>{_YEAR})\b)?"
    rf"|\b(?P<us_month>{_NAME})\b\.?\s(?P<us_day>{_DAY})\b(?!\s?%|[,.]\d)(?:,?\s(?P<us_year>{_YEAR})\b)?"
    rf"|\b(?P<only_month>{_NAME})\b\.?,?\s(?:of\s)?(?P<month_year>{_YEAR})\b"
    rf"|(?<![\w.,$£€#])(?<![^\W\d]-)(?P<decade>{_YEAR})(?P<plural>'?s)\b"
    rf"|(?<![\w.,$£€#])(?<![^\W\d]-)(?P<alone>{_YEAR})(?![\w%]|[.,]\d|-\d(?!\d)|\s(?:{_NO_YEAR})\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Date:
    """A date with the parts that are known. A decade has its first year and `decade` set."""

    year: int | None
    month: int | None
    day: int | None
    text: str
    start: int
    end: int
    decade: bool = False

    def agrees(self, other: Date) -> bool:
        """Whether the dates share known parts and these are equal."""
        if self.year is not None and other.year is not None and not self._same_year(other):
            return False
        pairs = ((self.month, other.month), (self.day, other.day))
        if any(mine is not None and theirs is not None and mine != theirs for mine, theirs in pairs):
            return False
        return self.comparable(other)

    def comparable(self, other: Date) -> bool:
        """Whether the dates share a known part."""
        both_years = self.year is not None and other.year is not None
        return both_years or (self.month is not None and other.month is not None)

    def _same_year(self, other: Date) -> bool:
        if self.decade or other.decade:
            return (self.year or 0) // 10 == (other.year or 0) // 10
        return self.year == other.year


def dates(text: str) -> Iterator[Date]:
    """The dates of `text`, in order."""
    for match in _DATE.finditer(text):
        found = _read(match)
        if found is not None:
            yield found


def _read(match: re.Match[str]) -> Date | None:
    group = match.groupdict()
    year = _number(
        group["iso_year"]
        or group["year"]
        or group["us_year"]
        or group["month_year"]
        or group["decade"]
        or group["alone"]
    )
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
    return Date(year, month, day, match.group().strip(), match.start(), match.end(), bool(group["decade"]))


def _number(written: str | None) -> int | None:
    if written is None:
        return None
    return int(re.sub(r"\D", "", written))
