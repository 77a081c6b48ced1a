"""Item families (an idea, named mistakes, and a function from numbers to a question), and LaTeX helpers for them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from qagen_dagster.mathematics.floats import fraction_of
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
    givens: Mapping[str, Fraction | int | str]
    unit: str


@dataclass(frozen=True)
class Family:
    """One kind of question. `make(draw, context)` returns None for unsuitable numbers, which are then drawn again."""

    schema: str
    difficulty: str
    make: Callable[[Draw, int], Draft | None]
    summary: str
    carrier: str
    constraints: tuple[str, ...]
    asked: str
    rationale: str
    paths: tuple[str, ...]
    contexts: int = 4


def families(schema: str, *makers: Callable[[Draw, int], Draft | None]) -> tuple[Family, ...]:
    """The families of a schema with their texts of `families_of_*.toml`; `makers` are in the order of its difficulties."""
    found: list[Family] = []
    for (difficulty, row), make in zip(_texts()[schema].items(), makers, strict=True):
        told: dict[str, Any] = row | {name: tuple(row[name]) for name in ("constraints", "paths")}
        told.pop("settings", None)
        found.append(Family(schema, difficulty, make, **told))
    return tuple(found)


def settings(schema: str, difficulty: str) -> list[Any]:
    """The settings of a family, by the number of the context: texts, or lists of texts and numbers."""
    return _texts()[schema][difficulty]["settings"]


@cache
def _texts() -> dict[str, dict[str, dict[str, Any]]]:
    """The texts of the families by schema and difficulty."""
    folder = files(__package__ or "")
    names = ("families_of_mathematics.toml", "families_of_physics.toml")
    return tomllib.loads("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names))


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


def draft(
    stem: str,
    form: str,
    wrong: str | Iterable[Fraction | int | None],
    reasoning: str,
    insight: str,
    givens: Mapping[str, Fraction | int | str],
    unit: str = "",
    *,
    key: str | Fraction | int = "",
    show: Callable[[Fraction], str | None] = number,
) -> Draft | None:
    """A draft whose options are computed from forms over the givens; None if the key cannot be shown.

    `wrong` has a form for each path, separated by semicolons; an empty one marks a path without an option. `key` is a form with the
    value of `form`, if that has functions. A form may be the root of another one. KEY in the reasoning stands for the value.
    """
    names = {name: Fraction(value) for name, value in givens.items() if value != name}
    forms = wrong.split(";") if isinstance(wrong, str) else wrong
    right, *others = (_shown(one, names, show) for one in (key or form, *forms))
    if right is None:
        return None
    symbol = unit.replace("ohm", "\\Omega").replace(" ", "\\,").replace("^-1", "^{-1}")
    end = "\\%" if unit == "%" else f"\\,\\mathrm{{{symbol}}}" if unit else ""
    options = tuple(None if one is None else f"${one}{end}$" for one in others)
    told = reasoning.replace("KEY", _shown(key or form, names, number) or right)
    return Draft(stem, f"${right}{end}$", options, told, insight, form, givens, unit)


def _shown(
    form: str | Fraction | int | None, names: Mapping[str, Fraction], show: Callable[[Fraction], str | None]
) -> str | None:
    """The value of a form in LaTeX."""
    text = "" if form is None else str(form).strip()
    if "sqrt" in text:
        sign, _, square = text.partition("sqrt")
        return sign + root(fraction_of(square, names))
    return show(fraction_of(text, names)) if text else None


def times(factor: Fraction | int, symbol: str) -> str:
    """A rational multiple of a symbol in LaTeX."""
    factor = Fraction(factor)
    if factor == 1:
        return symbol
    if factor.denominator == 1:
        return f"{factor.numerator}{symbol}"
    top = symbol if factor.numerator == 1 else f"{factor.numerator}{symbol}"
    return f"\\frac{{{top}}}{{{factor.denominator}}}"
