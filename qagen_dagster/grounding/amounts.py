"""Numbers as texts write them: digits with separators, scales, words, ordinals, shares, money, units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.grounding.words import listed

_SMALL = {
    word: value
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        )
    )
} | {
    word: value * 10
    for value, word in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        listed(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
            "sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
}
_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "mn": 1e6,
    "m": 1e6,
    "mm": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trillion": 1e12,
    "tn": 1e12,
    "dozen": 12.0,
}
_MONEY_SCALES = (
    "million",
    "billion",
    "trillion",
    "mn",
    "bn",
    "tn",
)  # "pounds" after these is money, not weight
_MONEY = {"$": "usd", "us$": "usd", "£": "gbp", "€": "eur", "¥": "jpy", "₹": "inr"}

# Unit: its measure, and its size in the measure's first unit.
_UNITS: dict[str, tuple[str, float]] = {}
for _measure, _spellings in {
    "share": "%:1 percent:1 per_cent:1 pct:1 percentage:1 bps:.01",
    "length": "m:1 metre:1 meter:1 km:1000 kilometre:1000 kilometer:1000 cm:.01 centimetre:.01 centimeter:.01 mm:.001 "
    "millimetre:.001 millimeter:.001 µm:1e-6 μm:1e-6 um:1e-6 nm:1e-9 mile:1609.344 mi:1609.344 ft:.3048 foot:.3048 "
    "feet:.3048 inch:.0254 yard:.9144",
    "mass": "g:1 gram:1 kg:1000 kilogram:1000 mg:.001 milligram:.001 µg:1e-6 tonne:1e6 ton:1e6 lb:453.59237 pound:453.59237 "
    "ounce:28.349523",
    "time": "s:1 sec:1 second:1 ms:.001 millisecond:.001 min:60 minute:60 h:3600 hr:3600 hour:3600 day:86400 week:604800 "
    "fortnight:1209600",
    "years": "year:1 yr:1 decade:10 century:100 month:.0833333333 quarter:.25",
    "volume": "l:1 litre:1 liter:1 ml:.001 millilitre:.001 milliliter:.001 gallon:3.785411784",
    "area": "acre:4046.8564 hectare:10000 ha:10000",
    "power": "w:1 watt:1 kw:1000 kilowatt:1000 mw:1e6 megawatt:1e6 gw:1e9",
    "energy": "kwh:1 mwh:1000 gwh:1e6",
    "voltage": "v:1 volt:1 mv:.001 kv:1000",
    "current": "ma:.001 amp:1 ampere:1",
    "frequency": "hz:1 khz:1000 mhz:1e6 ghz:1e9",
    "memory": "kb:1 mb:1000 gb:1e6 tb:1e9 kilobyte:1 megabyte:1000 gigabyte:1e6",
    "temperature": "°c:1 celsius:1 ℃:1",
    "fahrenheit": "°f:1 fahrenheit:1",
    "usd": "dollar:1 usd:1 cent:.01",
    "gbp": "gbp:1 sterling:1",
    "eur": "euro:1 eur:1",
}.items():
    for _one in _spellings.split():
        _name, _factor = _one.split(":")
        _UNITS[_name.replace("_", " ")] = (_measure, float(_factor))

_DIGITS = r"\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_WORDS = "|".join(sorted(_SMALL, key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<money>us\$|[$£€¥₹])?\s?(?<![\w.])(?P<sign>[-\u2212])?(?P<digits>{_DIGITS})(?:(?P<ordinal>st|nd|rd|th)\b)?"
    rf"|\b(?P<words>(?:{_WORDS})(?:[\s-](?:{_WORDS}))?)\b|\b(?P<ranked>{'|'.join(_ORDINALS)})\b",
    re.IGNORECASE,
)
_SCALE = re.compile(
    rf"[\s-]?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})\b(?![./-]\w)", re.IGNORECASE
)
_UNIT = re.compile(
    r"[\s\u00a0-]?(?:(?P<sign>%|°\s?[cf]\b|℃)|(?P<word>per cent\b|[a-zµμ]{1,14}\b))", re.IGNORECASE
)
_LETTERS_ONLY_AFTER_DIGITS = frozenset({"k", "m", "b", "mm", "mn"})


@dataclass(frozen=True)
class Amount:
    """A number and what it counts. `unit` is a measure ("length"), "rank", the noun that follows, or empty."""

    value: float  # in the measure's first unit
    unit: str
    text: str
    start: int
    end: int
    measured: bool = False  # whether `unit` is a measure and not a noun

    def same(self, other: Amount) -> bool:
        """Whether both have the same number, whatever the noun; if both have a measure, the measures must be equal."""
        if self.measured and other.measured and self.unit != other.unit:
            return False
        return _close(self, other)

    def comparable(self, other: Amount) -> bool:
        """Whether both are amounts of the same kind, so that different values are a conflict."""
        return self.unit == other.unit or (
            not self.measured and not other.measured and "rank" not in (self.unit, other.unit)
        )


def _close(claim: Amount, evidence: Amount) -> bool:
    """Whether they are equal, or the claim rounds the evidence to two digits or more ("1.2 million" for 1,234,567)."""
    if math.isclose(claim.value, evidence.value, rel_tol=1e-6, abs_tol=1e-12):
        return True
    digits = f"{abs(claim.value):.0f}"
    kept = digits.rstrip("0")
    grain = 10.0 ** (len(digits) - len(kept))
    return len(kept) >= 2 and grain >= 100 and abs(claim.value - evidence.value) <= grain / 2


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
        return Amount(float(_ORDINALS[match["ranked"].lower()]), "rank", match.group(), *match.span())
    value = _value(match)
    start, end = match.span()
    if (match["words"] or "").lower() == "one" and not _counts(text, end):
        return None
    if match["ordinal"]:
        return Amount(value, "rank", match.group().strip(), start, end)
    scale = _SCALE.match(text, end)
    money = _MONEY.get((match["money"] or "").lower(), "")
    if scale and (money or scale["scale"].lower() not in _LETTERS_ONLY_AFTER_DIGITS):
        value, end = value * _SCALES[scale["scale"].lower()], scale.end()
        again = _SCALE.match(text, end)
        if again and len(again["scale"]) > 4:
            value, end = value * _SCALES[again["scale"].lower()], again.end()
    if money:
        return Amount(value, money, text[start:end].strip(), start, end, measured=True)
    return _with_unit(text, value, start, end)


def unit_of(word: str) -> tuple[str, float] | None:
    """The measure of a unit and its size in the measure's first unit; None if the word is not a unit."""
    word = word.lower()
    return _UNITS.get(word) or _UNITS.get(word.removesuffix("s")) or _UNITS.get(word.removesuffix("es"))


def _counts(text: str, end: int) -> bool:
    """Whether "one" before `end` is a number: only with a scale or a unit, else it may be a pronoun."""
    unit = _UNIT.match(text, end)
    word = (unit["word"] or "").lower() if unit else ""
    return bool(_SCALE.match(text, end)) or (len(word) > 2 and word in _UNITS)


def _value(match: re.Match[str]) -> float:
    if match["words"]:
        parts = [_SMALL[part.lower()] for part in re.split(r"[\s-]", match["words"])]
        return float(sum(parts))
    value = float(re.sub(r"[,\u00a0\u202f]", "", match["digits"]))
    return -value if match["sign"] else value


def _with_unit(text: str, value: float, start: int, end: int) -> Amount:
    unit = _UNIT.match(text, end)
    written = text[start:end].strip()
    if unit is None:
        return Amount(value, "", written, start, end)
    word = (unit["sign"] or unit["word"]).lower().replace("° ", "°")
    known = unit_of(word)
    if word in ("pound", "pounds") and written.lower().endswith(_MONEY_SCALES):
        known = ("gbp", 1.0)
    if known is not None and (unit["sign"] or len(word) > 1 or text[start:end].strip()[-1].isdigit()):
        measure, factor = known
        return Amount(
            value * factor, measure, text[start : unit.end()].strip(), start, unit.end(), measured=True
        )
    return Amount(value, word.removesuffix("s") if len(word) > 2 else "", written, start, end)
