"""Quantities: computed values with units, and whether they are equal, close or rounded.

Decimals of 50 digits are compared, so no expression has to be simplified. Two expressions are equal if they agree in 40 digits at
every point of their symbols.
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from qagen_dagster.mathematics.evaluator import evaluate, parse_form
from qagen_dagster.mathematics.units import ONE, Unit
from qagen_dagster.mathematics.value_reading import Reading, read_value

# Relative differences up to which two answers count as the same
CLOSE = 0.005  # between two roundings of one answer
ROUNDED = 0.05  # if one answer may be the rounded value of the other
EXPORTED = 0.02  # in exports, for values with a unit; solvers may differ about as much from the key
_CONTEXT = Context(prec=60, Emax=10**9, Emin=-(10**9))
_EXACT = Decimal("1e-40")  # maximum relative difference of equal values
_NOTHING = Decimal("1e-100")  # two values below this are both zero
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


@dataclass(frozen=True)
class Quantity:
    """`numbers` are decimals in `unit` at the points of the symbols, None where the value is not real. `last_place` is the place value of
    the last digit of a rounded number; None if the number is exact."""

    exact: str
    numbers: tuple[str | None, ...]
    unit: Unit = ONE
    last_place: Fraction | None = None

    @property
    def text(self) -> str:
        return f"{self.exact} {self.unit.text}".strip()


def quantity(reading: Reading, exact: str, numbers: tuple[str | None, ...]) -> Quantity:
    """A reading combined with its computed value."""
    return Quantity(exact, numbers, reading.unit, reading.last_place)


def value_of(text: str) -> Quantity:
    """The value that a text states, computed here. Raises ValueError (`Unreadable` or `FormError`) if it has none."""
    reading = read_value(text)
    return quantity(reading, *evaluate(parse_form(reading.expression, free=reading.symbols)))


def known_value(text: str) -> Quantity | None:
    """The value that a text states; None if it states no value, or one that cannot be computed."""
    try:
        return value_of(text)
    except ValueError:
        return None


def equal(left: Quantity, right: Quantity) -> bool:
    """Whether both are the same value. A quantity without a unit is compared by its number. If the other quantity
    is in per cent or degrees, this number may also be a share or in radians."""
    return _compare(left, right, _EXACT, Decimal(0))


def close(left: Quantity, right: Quantity, relative: float) -> bool:
    """Whether the values differ by at most `relative` of the larger value."""
    return _compare(left, right, Decimal(str(relative)), Decimal(0))


def rounds_to(exact: Quantity, shown: Quantity) -> bool:
    """Whether `shown` is `exact` rounded to the digits shown; False if `shown` is not a rounded number."""
    if shown.last_place is None:
        return False
    step = _decimal(shown.last_place)
    if _united(exact, shown):
        step = _CONTEXT.multiply(step, _factor(shown.unit))
    half = _CONTEXT.multiply(step, Decimal("0.5000000001"))
    return _compare(exact, shown, Decimal(0), half)


def _united(left: Quantity, right: Quantity) -> bool:
    return left.unit != ONE and right.unit != ONE


def _counts(left: Quantity, right: Quantity) -> bool:
    """Whether one quantity has no unit and the other one is in a unit of pure numbers, such as per cent or degrees."""
    return (left.unit == ONE) != (right.unit == ONE) and left.unit.comparable(right.unit)


def _compare(left: Quantity, right: Quantity, relative: Decimal, absolute: Decimal) -> bool:
    if _same(left, right, relative, absolute, united=_united(left, right)):
        return True
    if not _counts(left, right):
        return False
    shown = next(one for one in (left, right) if one.unit != ONE)
    return _same(left, right, relative, _CONTEXT.multiply(absolute, _factor(shown.unit)), united=True)


def _same(left: Quantity, right: Quantity, relative: Decimal, absolute: Decimal, *, united: bool) -> bool:
    if united and not left.unit.comparable(right.unit):
        return False
    seen = False
    for mine, theirs in zip(left.numbers, right.numbers, strict=True):
        if mine is None or theirs is None:
            if mine is not theirs:
                return False
            continue
        seen = True
        first, second = Decimal(mine), Decimal(theirs)
        if united:
            first = _CONTEXT.multiply(first, _factor(left.unit))
            second = _CONTEXT.multiply(second, _factor(right.unit))
        if not _near(first, second, relative, absolute):
            return False
    return seen


def _near(first: Decimal, second: Decimal, relative: Decimal, absolute: Decimal) -> bool:
    largest = max(abs(first), abs(second))
    if largest < _NOTHING:
        return True
    allowed = max(_CONTEXT.multiply(largest, relative), absolute)
    return abs(_CONTEXT.subtract(first, second)) <= allowed


def _factor(unit: Unit) -> Decimal:
    return _CONTEXT.multiply(_decimal(unit.factor), _CONTEXT.power(_PI, unit.pis))


def _decimal(number: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))
