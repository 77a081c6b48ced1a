"""Proves the key of a question: computes its checkable form, compares the value with the options, and looks for faults of the form.

A form proves a key if the key is the only option with the value of the form, and if the form has a given, uses all amounts with units
of the stem and does what the stem asks for. Whether the form is the right law is not known here.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import get_args

from qagen_dagster.latex.amounts import ROMAN, Amount, amounts
from qagen_dagster.mathematics.equality import Quantity, equal, quantity, rounds_to
from qagen_dagster.mathematics.evaluator import FormError
from qagen_dagster.mathematics.expressions import Unreadable
from qagen_dagster.mathematics.sandbox import Computed, Sandbox, Task
from qagen_dagster.mathematics.units import BASES, ONE, Unit
from qagen_dagster.mathematics.value_reading import Reading, read_unit, read_value
from qagen_dagster.records.exams.bank import Proof, ProofStatus
from qagen_dagster.records.exams.submissions import CheckableForm, ExamQuestion, Letter, QuestionPackage

SEVERAL_RIGHT = "several_options_have_the_value"
POOR_OPTION = "poor_option"
FORM_STATES = "form_states_the_answer"
FORM_GIVEN = "given_not_in_the_stem"
FORM_IDLE = "given_without_influence"
FORM_SCALES = "form_in_mixed_scales"
ROUNDED = re.compile(  # words that ask for a rounded value
    r"\b(?:approximat|estimat|nearest|about|roughly|decimal place|significant figure|order of magnitude|closest|estimate)|\\(?:approx|sim)(?![A-Za-z])|\u2248",
    re.IGNORECASE,
)
_ORDER: tuple[Letter, ...] = get_args(Letter)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_LITERAL = re.compile(r"\d+(?:\.\d+)?")
_WORDS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
    "treble": "3", "quadrupl": "4", "sixth": "1/6", "seventh": "1/7", "eighth": "1/8", "ninth": "1/9", "tenth": "1/10", "twenty": "20",
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "hundred": "100", "thousand": "1000", "cards": "52", "eleven": "11", "twelve": "12", "dozen": "12", "half": "1/2", "halve": "2", "twice": "2", "double": "2", "pair": "2", "triple": "3",
    "third": "1/3", "quarter": "1/4", "fifth": "1/5", "rest": "0", "triangle": "3", "square": "2", "cube": "3", "hexagon": "6", "pentagon": "5",
    "octagon": "8", "die": "6", "dice": "6", "coin": "2", "right angle": "90", "right-angled": "90", "perpendicular": "90", "week": "7",
    "equilateral": "60", "semicircle": "2", "boil": "100", "rectang": "2", "fair coin": "1/2", "quadrilateral": "4", "rectangle": "4",
}  # fmt: skip
_CONSTANTS = frozenset(
    Fraction(one) for one in (
        "0", "1", "-1", "3e8", "1.6e-19", "1.602e-19", "6.63e-34", "6.6e-34", "6.02e23", "6e23", "8.31", "8.314", "1.38e-23", "6.67e-11",
        "9e9", "8.99e9", "8.85e-12", "9.11e-31", "9.1e-31", "1.67e-27", "273", "273.15", "100", "1000", "60", "3600", "24", "180", "360", "90", "22.4", "4200", "1e5", "1.01e5",
    )
)  # fmt: skip
_FREE_FALL = frozenset(Fraction(one) for one in ("9.8", "9.81", "10"))
_GRAVITY = re.compile(
    r"\b(?:fall|drop|gravit|weigh|height|thrown|throw|slope|incline|pendulum|vertical|lift|raise|kg|tonne|hang|float|g\b)",
    re.IGNORECASE,
)
_PREFIXES = tuple(Fraction(10) ** power for power in (-12, -9, -6, -3, 3, 6, 9, 12))
# Factors between metric units of lengths, areas and volumes
_METRIC = tuple(Fraction(10) ** power for power in (-6, -4, -2, -1, 1, 2, 4, 6))
_TIMES = tuple(Fraction(one) for one in ("60", "1/60", "3600", "1/3600", "18/5", "5/18"))
_METRE, _SECOND = BASES.index("m"), BASES.index("s")
_ROOT = re.compile(r"\)\s*\[\s*(-?\d)\s*\]")
_POSSIBLE = re.compile(r"\b(?:possible|could|can|might)\b", re.IGNORECASE)
# A pattern of stems, a pattern of forms (with givens) that lack what such a stem asks for, and what is wrong with them
_UNMET = tuple((re.compile(asks, re.IGNORECASE), re.compile(lacks), why) for asks, lacks, why in (
    (r"(?s)\A(?=.*\bhow many\b).*?(?:\bboth\b[^.?]{0,40}\b(?:included|inclusive|ends)\b|\binclusive\b|\bat (?:each|either) end\b)", r"(?!.*(?:\+ ?1(?![\d.])|(?<![\d.])1 ?\+|[Ss]um))", "both ends count, and the form adds no 1"),
    (r"(?:per ?cent|%)[^?]{0,200}(?:per ?cent|%)[^?]{0,200}\bby (?:how many|how much|what) (?:per ?cent|%)(?!\w* point)", r"[^*/]*\Z", "a difference of percentages is in percentage points"),
    (r"\\log_|\\lg\b|\bpH\b|decibel|\bdB\b", r"(?!.*(?:/ ?\(?(?:log|ln)\(|,)).*\b(?:log|ln)\(", "the form has a natural logarithm, the stem another base"),
    (r"\bhow many\b[^.?]{0,80}\b(?:need(?:ed)?|required|necessary)\b", r".*(?:floor|//)", "the form rounds down a number that must suffice"),
    (r"(?:\bgas\b|carnot|efficien|radiat|black.?body).*(?:\\circ|\u00b0|\\degree)\W{0,9}(?:\\\w+\W+)?C\b", r"(?!.*273)", "the form has degrees Celsius for absolute temperatures"),
))  # fmt: skip
_FACTOR = re.compile(r"(?<![\w.])(?!(?:[1-4]|0?\.5)(?![\w.]))[\d.]")  # a number that may convert units
# one for each of BASES
_PRIMES = tuple(Fraction(one) for one in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37))


@dataclass(frozen=True)
class OptionValues:
    """The values of the options in the order of their letters, and the reasons why the other options have no value."""

    values: Mapping[Letter, Quantity]
    unread: Mapping[Letter, str]


@dataclass(frozen=True)
class Proving:
    """The proof, the value of the form or the reason why it has none, and whether the values match only as rounded decimals."""

    proof: Proof
    value: Quantity | None = None
    failure: FormError | None = None
    rounded: bool = False


def option_values(options: Mapping[Letter, str], sandbox: Sandbox) -> OptionValues:
    """The value of every option that has one. No text raises."""
    readings: dict[Letter, Reading] = {}
    unread: dict[Letter, str] = {}
    for letter in _ORDER:
        if letter not in options:
            continue
        try:
            readings[letter] = read_value(options[letter])
        except Unreadable as error:
            unread[letter] = str(error)
    tasks = [Task(one.expression, free=one.symbols) for one in readings.values()]
    values: dict[Letter, Quantity] = {}
    for (letter, reading), outcome in zip(readings.items(), sandbox.compute(tasks), strict=True):
        if isinstance(outcome, Computed):
            values[letter] = quantity(reading, outcome.exact, outcome.numbers)
        else:
            unread[letter] = str(outcome)
    return OptionValues(values, unread)


def prove(
    question: ExamQuestion, check: CheckableForm | None, found: OptionValues, sandbox: Sandbox
) -> Proving:
    """Compute `check` and compare its value with the options. No form raises."""
    if check is None:
        return Proving(Proof(status=ProofStatus.ABSENT, detail="there is no checkable form"))
    (outcome,) = sandbox.compute([Task(check.expression, check.givens)])
    if not isinstance(outcome, Computed):
        return Proving(
            Proof(status=ProofStatus.UNPROVEN, detail=f"the form has no value: {outcome}"), failure=outcome
        )
    try:
        unit = read_unit(check.unit)
    except Unreadable:
        unit = ONE  # then options are compared without units
    value = Quantity(outcome.exact, outcome.numbers, unit)
    return _compared(question, value, found)


def weakened(proving: Proving, package: QuestionPackage, sandbox: Sandbox) -> Proving:
    """The proof, which becomes unproven if its form has no given, does not use an amount of the stem, or lacks what the stem asks for."""
    check = package.check
    if proving.proof.status is not ProofStatus.PROVEN or check is None:
        return proving
    unused = _unused_amounts(package.question.stem, check, sandbox)
    used = f"{check.expression};{';'.join(check.givens.values())}"
    unmet = (why for asks, lacks, why in _UNMET if asks.search(package.question.stem) and lacks.match(used))
    why = next(unmet, "" if check.givens else "the form has no given")
    if unused:
        why = f"the form does not use {', '.join(unused)} of the stem"
    if not why:
        return proving
    return replace(
        proving, proof=proving.proof.model_copy(update={"status": ProofStatus.UNPROVEN, "detail": why})
    )


def _compared(question: ExamQuestion, value: Quantity, found: OptionValues) -> Proving:
    key = question.correct_option
    matching: list[Letter] = [letter for letter, one in found.values.items() if equal(value, one)]
    rounded = not matching
    if rounded:
        matching = [letter for letter, one in found.values.items() if rounds_to(value, one)]
    for tens in (False, True) if rounded and ROUNDED.search(question.stem) else ():
        shown = found.values.items()
        near: list[Letter] = [letter for letter, one in shown if rounds_to(value, _whole(one, tens=tens))]
        matching = matching or near
    status, detail = _judged(key, matching, value, found)
    proof = Proof(status=status, value=value.text, matching=tuple(matching), detail=detail)
    return Proving(proof, value, rounded=rounded and bool(matching))


def _whole(shown: Quantity, *, tens: bool) -> Quantity:
    """The quantity. A whole number counts as rounded: to its last digit, or with `tens` to the digit before its final zeros."""
    zeros = len(shown.exact) - len(shown.exact.rstrip("0")) if tens else 0
    exact = shown.last_place is not None or not shown.exact.lstrip("-").isdigit()
    return shown if exact else replace(shown, last_place=Fraction(10) ** zeros)


def _judged(
    key: Letter, matching: list[Letter], value: Quantity, found: OptionValues
) -> tuple[ProofStatus, str]:
    if key in found.unread and not matching:
        return ProofStatus.UNPROVEN, f"option {key} cannot be read as a value: {found.unread[key]}"
    if matching == [key]:
        others = ", ".join(f"{letter} ({why})" for letter, why in sorted(found.unread.items()))
        return ProofStatus.PROVEN, f"not compared: {others}" if others else ""
    start = f"the form gives {value.text}"
    if not matching:
        return ProofStatus.REFUTED, f"{start}, which no option is"
    if len(matching) > 1:
        return ProofStatus.REFUTED, f"{start}, the value of {', '.join(matching[:-1])} and {matching[-1]}"
    return ProofStatus.REFUTED, f"{start}, which is {matching[0]}, not the key {key}"


def form_faults(
    package: QuestionPackage, proving: Proving, found: OptionValues, sandbox: Sandbox
) -> Iterator[tuple[str, str]]:
    """Names and details of faults of a form that has a value, such as givens that are not in the stem, or that have no influence."""
    check, stem = package.check, package.question.stem
    if check is None:
        return
    given = list(amounts(stem))
    stated = _stated(stem, given)
    values = _numeric(check.givens, sandbox)
    for name, value in values.items():
        if value not in stated and not _scaled(value, given):
            yield FORM_GIVEN, f"the given {name} = {check.givens[name]} of the form is not in the stem"
    idle, given_back = _effects(check, values, sandbox)
    if idle and set(idle) == set(check.givens):
        yield FORM_IDLE, f"changing {', '.join(idle)} does not change the value of the form"
    others = [name for name in check.givens if name not in idle and name not in given_back]
    copied = len(idle) < len(check.givens) and not others
    computes = _literals(check.expression) <= stated and re.search(r"\w\W*[-+*/(]", check.expression)
    if copied or not (check.givens or computes):
        yield (
            FORM_STATES,
            "the form only states the answer, it does not derive it from the givens of the stem",
        )
    key = found.values.get(package.question.correct_option)
    if key is not None and any(
        _is(one, key) and not any(_scaled(value, [one]) for value in values.values()) for one in given
    ):
        yield POOR_OPTION, f"the stem gives the answer {key.text}, which is no given of the form"
    for letter in other_roots(package, found, sandbox):
        yield SEVERAL_RIGHT, f"option {letter} is another root, and the stem asks for a possible value"
    if proving.value is not None and proving.proof.matching == (package.question.correct_option,):
        yield from _scale_faults(check, proving.value, values, given, sandbox)


def other_roots(package: QuestionPackage, found: OptionValues, sandbox: Sandbox) -> Iterator[str]:
    """The options that equal another root of the form's equation, if the stem asks for a possible value."""
    check, key = package.check, package.question.correct_option
    root = _ROOT.search(check.expression) if check is not None else None
    if check is None or root is None or not _POSSIBLE.search(package.question.stem):
        return
    head, tail = check.expression[: root.start(1)], check.expression[root.end(1) :]
    places = [str(place) for place in range(4) if str(place) != root.group(1)]
    for outcome in sandbox.compute([Task(f"{head}{place}{tail}", check.givens) for place in places]):
        if isinstance(outcome, Computed):
            value = Quantity(outcome.exact, outcome.numbers)
            yield from (one for one, other in found.values.items() if one != key and equal(value, other))


def _unused_amounts(stem: str, check: CheckableForm, sandbox: Sandbox) -> list[str]:
    """The amounts with units in the stem that neither a given nor a number of the form has."""
    values = set(_numeric(check.givens, sandbox).values()) | _literals(check.expression)
    return [
        amount.text
        for amount in amounts(stem)
        if amount.unit is not None and amount.value and not any(_scaled(value, [amount]) for value in values)
    ]


def _stated(stem: str, given: list[Amount]) -> set[Fraction]:
    words = stem.lower()
    found = {Fraction(value) for word, value in _WORDS.items() if word in words}
    found |= {1 / one for one in found if one}  # halved: times 1/2
    found |= {
        abs(value)
        for amount in given
        for value in (amount.value, amount.base, amount.value / 100, 1 - amount.value, 1 - amount.value / 100)
    }
    plain = re.sub(r"(?<=\d)(?:,|\{,\}|\\,)(?=\d{3})", "", stem)
    literals = set(map(Fraction, _LITERAL.findall(plain)))
    united = {abs(one.value) for one in given if one.unit is not None}
    bare = set(map(Fraction, _LITERAL.findall(ROMAN.sub(" ", plain)))) - united  # without exponents of units
    found |= literals | _CONSTANTS | _derived(bare) | (_FREE_FALL if _GRAVITY.search(stem) else frozenset())
    return found | {-one for one in found}


def _derived(bare: set[Fraction]) -> set[Fraction]:
    """Numbers that a form may state because numbers without units imply them: reciprocals, squares, roots, differences, counts of gaps."""
    found = {value for one in bare for value in (one**2, one + 1, one - 1, *((1 / one,) if one else ()))}
    found |= {Fraction(math.isqrt(int(one))) for one in bare if one == math.isqrt(int(one)) ** 2}
    return found | {one - other for one in bare for other in bare}


def _scaled(value: Fraction, given: list[Amount]) -> bool:
    """Whether the value is one of the amounts, in its unit or another one."""
    for one in given:
        if abs(value) in (abs(one.value), abs(one.base)):
            return True
        if one.unit is not None and any(abs(value) == abs(one.value) * scale for scale in _scales(one.unit)):
            return True
    return False


def _scales(unit: Unit) -> tuple[Fraction, ...]:
    """The factors between this unit and others in which the same given may be computed."""
    plain = [name for place, name in enumerate(BASES) if unit.dimensions[place]]
    lengths = _METRIC if plain == ["m"] or unit.dimensions[_METRE] < 0 else ()
    return (*_PREFIXES, *lengths, *(_TIMES if unit.dimensions[_SECOND] and set(plain) <= {"m", "s"} else ()))


def _is(amount: Amount, key: Quantity) -> bool:
    """Whether an amount is the key. Whole numbers without a unit are not compared, because they count all kinds of things."""
    unit = amount.unit or ONE
    plain = re.fullmatch(r"-?\d+(?:/\d+)?", key.exact)
    if not plain or not unit.comparable(key.unit) or (unit == ONE and amount.value.denominator == 1):
        return False
    return amount.value * unit.factor == Fraction(key.exact) * key.unit.factor and unit.pis == key.unit.pis


def _literals(expression: str) -> set[Fraction]:
    return {Fraction(one) for one in _NUMBER.findall(expression)}


def _numeric(givens: Mapping[str, str], sandbox: Sandbox) -> dict[str, Fraction]:
    """The givens that are rational numbers."""
    names = [name for name, text in givens.items() if text.strip() != name]
    outcomes = sandbox.compute([Task(givens[name]) for name in names])
    found: dict[str, Fraction] = {}
    for name, outcome in zip(names, outcomes, strict=True):
        if isinstance(outcome, Computed):
            try:
                found[name] = Fraction(outcome.exact)
            except ValueError:
                continue  # a root or a multiple of pi
    return found


def _effects(
    check: CheckableForm, values: Mapping[str, Fraction], sandbox: Sandbox
) -> tuple[list[str], list[str]]:
    """The givens that do not change the value of the form, and the givens whose value the form always has."""
    idle, given_back = list[str](), list[str]()
    for name in check.givens:
        uses = len(re.findall(rf"\b{re.escape(name)}\b", check.expression))
        if not uses:
            idle.append(name)
        elif name in values:
            points = [values[name], values[name] + 1, values[name] * 2 + 3, values[name] + 2]
            tasks = [Task(check.expression, {**check.givens, name: _rational(point)}) for point in points]
            exact = [one.exact for one in sandbox.compute(tasks) if isinstance(one, Computed)]
            if len(exact) == len(points) and len(set(exact)) == 1:
                idle.append(name)
            elif uses == 1 and exact == [str(point) for point in points]:
                given_back.append(name)
    return idle, given_back


def _rational(value: Fraction) -> str:
    return f"Rational({value.numerator},{value.denominator})"


def _scale_faults(
    check: CheckableForm,
    result: Quantity,
    values: Mapping[str, Fraction],
    given: list[Amount],
    sandbox: Sandbox,
) -> Iterator[tuple[str, str]]:
    """A fault if a form has the dimensions of its unit, but another value with its givens in base units: a given was not converted.

    A form is judged only if all its givens have a unit in the stem, and if none of its numbers can be a factor between units.
    """
    units: dict[str, Unit] = {}
    for name, value in values.items():
        same = [one for one in given if abs(one.value) == abs(value)]
        same = same or [one for one in given if _scaled(value, [one])]  # in another unit than in the stem
        shown = {_unit_of(value, one) for one in same}
        units[name] = shown.pop() if len(shown) == 1 else ONE
    used = [result.unit, *units.values()]
    if units.keys() != check.givens.keys() or any(one.pis or not any(one.dimensions) for one in used):
        return
    based = {name: value * units[name].factor for name, value in values.items()}
    finer = {name: value * _size(units[name]) for name, value in based.items()}
    tasks = [Task(check.expression, {name: _rational(one[name]) for name in one}) for one in (based, finer)]
    numbers = [one.numbers for one in sandbox.compute(tasks) if isinstance(one, Computed)]
    if len(numbers) == len(tasks) and not _FACTOR.search(check.expression):
        base = Quantity("", numbers[0], replace(result.unit, factor=Fraction(1)))
        again = Quantity("", numbers[1], replace(result.unit, factor=1 / _size(result.unit)))
        if equal(base, again) and not equal(base, result):
            yield FORM_SCALES, "the form has another value if all its givens are in base units: convert them"


def _unit_of(value: Fraction, amount: Amount) -> Unit:
    """The unit in which `value`, a given of a form, equals the amount."""
    unit = (amount.unit or ONE).named("")
    return replace(unit, factor=abs(amount.base / value)) if value and not unit.pis else unit


def _size(unit: Unit) -> Fraction:
    """The factor by which a value in `unit` grows if each base unit is replaced by a smaller one, each by a different prime number."""
    return math.prod(map(Fraction.__pow__, _PRIMES, unit.dimensions), start=Fraction(1))
