"""Finds faults of a question: a missing figure, faults of its options, and values that a quantity cannot have.

A value is impossible if it is outside the range of its quantity, or in a unit of another quantity. `tables.toml` lists common quantities
of school physics and mathematics, which are recognised by their names beside a value. This module also checks speeds under any name,
triangles, and values of a few symbols (such as sine, P, m). It does not find unlikely values.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf

from qagen_dagster.latex.amounts import Amount, amounts
from qagen_dagster.latex.comparison import without_layout, without_pictures
from qagen_dagster.latex.equalities import Value, assigned
from qagen_dagster.mathematics.equality import equal, known_value
from qagen_dagster.mathematics.units import BASES, ONE, Unit
from qagen_dagster.mathematics.value_reading import read_unit
from qagen_dagster.records.data_files import read_table

_CATCH_ALL = re.compile(
    r"\W*(?:none|all|both|any|neither|either|two|more than one)\s+(?:of\s+)?(?:the\s+(?:other\s+)?|these\b|them\b)?\s*"
    r"(?:above|below|these|those|options?|answers?|statements?|choices?|others?|them)?(?:\s+(?:is|are)\s+(?:correct|right|true))?\W*",
    re.IGNORECASE,
)
_OF_OPTIONS = re.compile(r"\b(?:above|these|those|options?|answers?|choices?|of them)\b", re.IGNORECASE)
_LETTERS = re.compile(r"(?i)\W*(?:both\s+)?\(?[A-H]\)?\s+(?:and|or|&)\s+\(?[A-H]\)?(?:\s+only)?\W*")
_FIGURE = r"(?:graph|diagram|figure|sketch|picture|drawing|circuit|table|chart|image)"
_REFERS = re.compile(
    rf"\b{_FIGURE}s?\s+(?:shown|below|above|opposite|on the right)\b|\bas\s+(?:is\s+)?(?:shown|depicted|drawn|illustrated)\b(?!\s+by\b)"
    rf"|\b(?:shown|given|depicted|drawn)\s+(?:below|above|in\s+the\s+{_FIGURE}|on\s+the\s+right|opposite)\b"
    rf"|\b(?:the|this)\s+(?:\w+\s+)?{_FIGURE}\s+(?:shows|gives|represents|depicts|illustrates)\b|\bin\s+the\s+(?:figure|diagram|graph|picture)\b"
    rf"|\bthat\s+is\s+shown\b",
    re.IGNORECASE,
)
_FIGURES = re.compile(
    r"%\s*diagram\b|\\begin\s*\{(?:tikzpicture|circuitikz|tabular|array|figure|picture|table)|\\includegraphics|\|.*\|.*\|",
    re.IGNORECASE,
)
_MUCH_LONGER, _VALUE_WORDS = 6, 3  # words by which a right option stands out; maximum words of the others


def without_figure(statement: str) -> Iterator[str]:
    """Faults: the statement refers to a figure or a table, but has none."""
    found = _REFERS.search(without_pictures(statement))
    if found and not _FIGURES.search(statement):
        yield f"it says '{' '.join(found.group().split())}', but there is no figure"


def option_faults(question: str, options: Mapping[str, str], right: frozenset[str]) -> Iterator[str]:
    """Faults of options. Each catch-all is a fault. If exactly one option is right, it is a fault if it is impossible or stands out by its
    length, or if another option is in a unit of another quantity."""
    for letter, text in options.items():
        if _is_catch_all(text):
            yield f"option {letter} says '{text}': an option must state its own answer"
    right_texts = [options[letter] for letter in sorted(right)]
    if len(right_texts) == 1:
        yield from impossible_answer(question, right_texts[0])
        yield from _of_another_quantity(options, right_texts[0])
        yield from _standing_out(options, right_texts[0])


def equal_options(options: Mapping[str, str]) -> Iterator[str]:
    """Faults: two options are the same value in other forms or units. Options of the same text are not compared."""
    values = {letter: value for letter, text in options.items() if (value := known_value(text)) is not None}
    for one, other in combinations(values, 2):
        if options[one] != options[other] and equal(values[one], values[other]):
            yield f"options {one} and {other} are the same value: {options[one]} and {options[other]}"


def _is_catch_all(text: str) -> bool:
    plain = " ".join(without_layout(text).split())
    return bool((_CATCH_ALL.fullmatch(plain) and _OF_OPTIONS.search(plain)) or _LETTERS.fullmatch(plain))


def _of_another_quantity(options: Mapping[str, str], key: str) -> Iterator[str]:
    mine = known_value(key)
    if mine is None or mine.unit == ONE:
        return
    for letter, text in options.items():
        other = known_value(text)
        if other is not None and other.unit != ONE and not other.unit.comparable(mine.unit):
            yield f"option {letter} is in {other.unit.text}, a unit of another quantity than {mine.unit.text}"


def _standing_out(options: Mapping[str, str], key: str) -> Iterator[str]:
    words = {text: len(re.findall(r"[A-Za-z]{2,}", without_layout(text))) for text in options.values()}
    others = [count for text, count in words.items() if text != key]
    if others and max(others) <= _VALUE_WORDS and words[key] >= max(others) + _MUCH_LONGER:
        yield f"the right option stands out by its length: {key}"


LIGHT = 2.998e8  # metres per second
_ROUNDED = 1.01  # tolerance of a bound, so that 3e8 m/s is not above the speed of light
_MONEY = tuple(BASES.index(name) for name in ("GBP", "EUR", "USD"))


@dataclass(frozen=True)
class Kind:
    """A quantity: its name, the pattern of its names, the units it may have (ONE stands for no unit), and its range in base units."""

    name: str
    names: re.Pattern[str]
    units: tuple[Unit, ...]
    low: float
    high: float

    def fits(self, unit: Unit) -> bool:
        """Whether the quantity can have the unit. Units with money, such as a price of energy, always fit."""
        return any(unit.dimensions[place] for place in _MONEY) or any(map(unit.comparable, self.units))

    def allows(self, amount: Amount) -> bool:
        """Whether the amount is in the range. If the quantity needs a unit and the amount has none, only the sign of the amount counts."""
        if amount.unit is None and ONE not in self.units:
            return self.low < 0 or amount.value >= 0
        return self.low <= float(amount.base) <= self.high * _ROUNDED


def _kind(name: str, units: str, names: str = "", low: float = -inf, high: float = inf) -> Kind:
    found = tuple(ONE if one == "1" else read_unit(one) for one in units.split(","))
    pattern = names or (f"{name[:-1]}(?:y|ies)" if name.endswith("y") else f"{name}s?")
    return Kind(name, re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE), found, low, high)


KINDS = tuple(_kind(**row) for row in read_table(__package__, "tables.toml")["quantities"])
MASS, FORCE = KINDS[:2]
_NOT_ALONE = re.compile(
    r"\s+(?:constant|ratio|rate|per|factor|number|difference|gradient|gap|level|limit|against|density|capacity"
    r"|flow|under|of curvature)\b|[^.?]*\b(?:per|relative to|with respect to)\b"
)
_OTHER = re.compile(
    r"\b(?:(?:square|root|cube|reciprocal|inverse) of the|specific|latent|molar|thermal|angular|relative|atomic|focal|reduced|activation)\s+\Z",
    re.IGNORECASE,
)
_OF_STUFF = re.compile(r"\W*(?:\w+\W+){1,3}?of\s")  # the mass of 2 mol of iron
_LINK = re.compile(r"(?P<word>\s+(?:of|is|was|are|were|equals)(?:\s+(?:about|only|now))?)?[\s$({-]*\Z")
_OF_WHAT = re.compile(
    r"(?<=\w)\s+of\s+(?:(?:the|a|an|its|each|this|that)\s+)?(?!friction|restitution|refraction)[a-z]+(?:\s+[a-z]+)?\Z"
)
_ASKED = re.compile(
    r"\b(?:what|find|calculate|determine|work out|compute|state|how (?:large|great|big))\b"
    r"(?:\s+(?:is|are|was|were|will be|would be))?\s+(?:the|its|their|his|her)\s+([a-z][^.?]{0,80})",
    re.IGNORECASE,
)
_ADJECTIVE = re.compile(
    r"(?!(?:of|in|per|than|to|number|ratio|change|rate|percentage|value|unit|and|or|least)\b)[a-z-]+\s+",
    re.IGNORECASE,
)
_WAVE = re.compile(r"\bphase\b|\btachyon|\bgroup velocit", re.IGNORECASE)
_OF_LIGHT = re.compile(r"(?<![\d./])(\d+(?:\.\d+)?)\s*c(?![A-Za-z0-9_^])")
_MOVES = re.compile(r"\b(?:speed|velocit|moves?|moving|travel|flies|approach)", re.IGNORECASE)
_TRIANGLE = r"\btriangle\b[^.?]{0,60}?\b"
_SIDES = re.compile(
    rf"{_TRIANGLE}sides?\b([^.?\d]{{0,40}}\d[^?]{{0,80}})|(\d+-\d+-\d+)[- ]triangle", re.IGNORECASE
)
_ANGLES = re.compile(rf"{_TRIANGLE}angles\b([^.?\d]{{0,40}}\d[^?]{{0,90}})", re.IGNORECASE)
_LISTED = re.compile(r"(?<![\d.])\d+(?:\.\d+)?")
_PERCENT = re.compile(r"per\s?cent|%", re.IGNORECASE)
_NAME = r"\s*(?:\{?\\?[A-Za-z]+\}?|\(\s*\\?[A-Za-z]+\s*\))(?:_\{?\w+\}?)?"
_HEADS = (
    (re.compile(rf"\\(?:sin|cos)(?![a-z]){_NAME}"), "a sine or cosine", -1.0, 1.0),
    (re.compile(r"(?:P|\\Pr|\\mathrm\s*\{P\})\s*\([^()=]{1,40}\)"), "a probability", 0.0, 1.0),
    (re.compile(r"\\eta"), "an efficiency", 0.0, 1.0),
)
_UNIT_WORDS = re.compile(r"\\(?:mathrm|text|textrm|rm|unit|si)\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\\[A-Za-z]+")
_SYMBOL = re.compile(r"[a-z]\s+([B-Zb-z])(?=[\s,.;)?]|$)")  # "a mass m", not "2 m"
_SPEED = read_unit("m/s")


def impossible_values(text: str) -> Iterator[str]:
    """Faults: values in a statement or a solution that their quantity cannot have."""
    plain = without_layout(without_pictures(text))
    symbols = frozenset(_SYMBOL.findall(plain))
    found = [amount for amount in amounts(text) if amount.unit is None or amount.unit.text not in symbols]
    for one in found:
        yield from _judged(one)
    if not _WAVE.search(plain):
        fast = [
            match.group()
            for match in _OF_LIGHT.finditer(plain)
            if float(match.group(1)) > 1 and _MOVES.search(plain)
        ]
        fast += [
            one.text for one in found
            if one.unit is not None and one.unit.comparable(_SPEED) and abs(one.base) > LIGHT * _ROUNDED
        ]  # fmt: skip
        yield from (f"{one} is faster than light" for one in fast)
    yield from _triangles(plain)
    for head, value in assigned(text):
        yield from _symbol_faults(head, value)


def asked_quantity(text: str) -> Kind | None:
    """The quantity that the last question of a text asks for; None if there is no question, or if its quantity is not in the table."""
    found = list(_ASKED.finditer(" ".join(without_layout(without_pictures(text)).split())))
    rest = found[-1].group(1) if found else ""
    for _ in range(3):
        for kind in KINDS:
            match = kind.names.match(rest)
            if match:
                return None if _NOT_ALONE.match(rest, match.end()) else kind
        adjective = _ADJECTIVE.match(rest)
        if adjective is None or _OTHER.search(adjective.group()):
            return None
        rest = rest[adjective.end() :]
    return None


def impossible_answer(question: str, answer: str) -> Iterator[str]:
    """Faults: the answer is not in a unit of the quantity that the question asks for, or not in its range."""
    kind = asked_quantity(question)
    found = list(amounts(answer))
    known = known_value(answer) if kind is not None and len(found) > 1 else None  # of a root or a product
    if known is not None and len(set(known.numbers)) == 1 and known.numbers[0]:
        found = [Amount(Fraction(known.numbers[0]), None if known.unit == ONE else known.unit)]
    if kind is None or len(found) != 1 or _has_symbols(answer, found[0]):
        return
    (one,) = found
    if one.unit is not None and one.unit.text in _SYMBOL.findall(without_layout(question)):
        return
    if one.unit is not None and not kind.fits(one.unit) and one.value:
        yield f"the question asks for {kind.name}, but {one.text} is not in a unit of it"
    elif not _PERCENT.search(question) and not kind.allows(one):
        yield f"{kind.name} of {one.text} is impossible"


def _has_symbols(answer: str, amount: Amount) -> bool:
    """Whether an answer has no unit but has other letters, so that it is a term or a sentence."""
    return amount.unit is None and re.search(r"[A-Za-z]", _UNIT_WORDS.sub(" ", answer)) is not None


def _judged(amount: Amount) -> Iterator[str]:
    """Faults of an amount right after the name of a quantity: `a mass of 5 kg`, `the probability is 0.5`."""
    link = _LINK.search(amount.before)
    if link is None or not (link.group("word") or amount.unit is not None):
        return
    head, stuff = amount.before[: link.start()], _OF_STUFF.match(amount.behind)
    if (link.group("word") or "").strip() not in ("", "of"):
        head = _OF_WHAT.sub("", head)
    for kind in KINDS:
        last = [head[: found.start()] for found in kind.names.finditer(head) if found.end() == len(head)]
        if last and not _OTHER.search(last[0]):
            is_stated = (link.group("word") or re.search(r"\bof\s+\Z", last[0])) and not stuff
            if amount.unit is not None and not kind.fits(amount.unit):
                if is_stated and not _PERCENT.search(amount.unit.text):
                    yield f"{amount.text} is not in a unit of {kind.name}"
            elif (amount.unit is None or kind.fits(amount.unit)) and not kind.allows(amount):
                yield f"{kind.name} of {amount.text} is impossible"
            return


def _triangles(plain: str) -> Iterator[str]:
    for found in _SIDES.finditer(plain):
        sides = sorted(Fraction(one) for one in _LISTED.findall(found.group(1) or found.group(2))[:3])
        if len(sides) == 3 and sides[0] > 0 and sides[0] + sides[1] <= sides[2]:
            yield f"no triangle has the sides {', '.join(f'{float(side):g}' for side in sides)}"
    for found in _ANGLES.finditer(plain):
        angles = [Fraction(one) for one in _LISTED.findall(found.group(1))[:3]]
        if len(angles) == 3 and found.group(1).count("degree") >= 3 and sum(angles) != 180:
            yield f"no triangle has the angles {', '.join(f'{float(angle):g}' for angle in angles)}"


def _symbol_faults(head: str, value: Value) -> Iterator[str]:
    for pattern, name, low, high in _HEADS:
        number = value.size
        applies = pattern.fullmatch(head) and (not value.united or value.text.endswith("%"))
        if applies and not low - 1e-6 <= number <= high + 0.005:
            yield f"{head} = {value.text} is impossible for {name}"
    kind = {"m": MASS, "M": MASS, "F": FORCE}.get(re.sub(r"_.*", "", head))
    unit = next((amount.unit for amount in amounts(f"${value.text}$")), None) if value.lone else None
    if kind is None or unit is None or not unit.comparable(MASS.units[0]):
        return
    if kind is FORCE:
        yield f"{head} = {value.text}: a force is not in units of mass"
    elif value.plain < 0:
        yield f"{head} = {value.text}: a mass is not negative"
