"""Item families (an idea, named mistakes, and a function from numbers to a question), and LaTeX helpers for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw


@dataclass(frozen=True)
class Draft:
    """A question without option letters. `wrong` follows the family's paths; None marks a path without an option."""

    stem: str
    key: str
    wrong: tuple[str | None, ...]
    reasoning: str
    insight: str
    expression: str
    givens: Mapping[str, Fraction | int | str] = field(default_factory=dict[str, Fraction | int | str])
    unit: str = ""


@dataclass(frozen=True)
class Family:
    """One kind of question. `make(draw, context)` returns None for unsuitable numbers, which are then drawn again."""

    schema: str
    difficulty: str
    summary: str
    carrier: str
    constraints: tuple[str, ...]
    asked: str
    rationale: str
    paths: tuple[str, ...]
    contexts: int
    make: Callable[[Draw, int], Draft | None]


def number(value: Fraction | int) -> str:
    """A rational number in LaTeX."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value: Fraction | int) -> str:
    """A rational number as a short decimal. Raises ValueError if it has none."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.6f}".rstrip("0")
    if Fraction(text) != value:
        raise ValueError(f"{value} has no short decimal")
    return text


def root(square: Fraction | int) -> str:
    """The positive root of a positive rational in LaTeX, simplified."""
    square = Fraction(square)
    outside, inside = 1, square.numerator * square.denominator
    divisor = 2
    while divisor * divisor <= inside:
        while inside % (divisor * divisor) == 0:
            inside //= divisor * divisor
            outside *= divisor
        divisor += 1
    front = Fraction(outside, square.denominator)
    if inside == 1:
        return number(front)
    top = "" if front.numerator == 1 else str(front.numerator)
    over = f"{top}\\sqrt{{{inside}}}"
    return over if front.denominator == 1 else f"\\frac{{{over}}}{{{front.denominator}}}"


def plain(text: str) -> str:
    """An option that is a number or an expression."""
    return f"${text}$"


def united(text: str, unit: str) -> str:
    """An option with a unit, such as `m\\,s^{-1}`."""
    return f"${text}\\,\\mathrm{{{unit}}}$"


def times(factor: Fraction | int, symbol: str) -> str:
    """A rational multiple of a symbol in LaTeX."""
    factor = Fraction(factor)
    if factor == 1:
        return symbol
    if factor.denominator == 1:
        return f"{factor.numerator}{symbol}"
    top = symbol if factor.numerator == 1 else f"{factor.numerator}{symbol}"
    return f"\\frac{{{top}}}{{{factor.denominator}}}"
