"""Reading of numbers from a stem by patterns, and numerical tools for the solvers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_NUMBER = r"(-?\\frac\{\d+\}\{\d+\}|-?\d+(?:\.\d+)?)"
_FRACTION = re.compile(r"(-?)\\frac\{(\d+)\}\{(\d+)\}")


@dataclass(frozen=True)
class Solved:
    """The answer as a decimal, times `symbol` if there is one, and how it was found."""

    value: float
    how: str
    symbol: str = ""


@dataclass(frozen=True)
class Method:
    """A kind of stem and the function that answers it."""

    pattern: re.Pattern[str]
    answer: Callable[..., Solved | None]

    def solve(self, stem: str) -> Solved | None:
        """The answer, if the stem is of this kind."""
        found = self.pattern.search(stem)
        if found is None:
            return None
        return self.answer(*(_value(group) for group in found.groups()))


def method(pattern: str, answer: Callable[..., Solved | None]) -> Method:
    """A method of a pattern with marks.

    `#` is a number, `§` a factor that may be left out, `~x` the square of x or of x with a number added, `@` a captured word,
    `...` any words within the sentence.
    """
    escaped = re.escape(pattern).replace(r"\#", _NUMBER).replace("#", _NUMBER)
    escaped = re.sub(r"\\?~(\w)", r"(?:\\(\1([-+]\\d+)\\)|\1)\\^2", escaped).replace("§", r"(\d*)")
    escaped = escaped.replace("@", r"([^\s${}]+)").replace(r"\.\.\.", r"[^?]{0,300}?")
    return Method(re.compile(escaped), answer)


def _value(group: str | None) -> float | str:
    if not group:
        return 0.0 if group is None else 1.0
    if fraction := _FRACTION.fullmatch(group):
        value = Fraction(int(fraction.group(2)), int(fraction.group(3)))
        return float(-value if fraction.group(1) else value)
    try:
        return float(group)
    except ValueError:
        return group


def best(function: Callable[[float], float], low: float, high: float, *, greatest: bool = True) -> float:
    """The extreme value of a function on an interval: a fine scan, then a ternary search around the best point."""
    sign = 1.0 if greatest else -1.0
    steps = 2_000
    places = [low + (high - low) * step / steps for step in range(steps + 1)]
    top = max(places, key=lambda place: sign * function(place))
    left, right = max(low, top - (high - low) / steps), min(high, top + (high - low) / steps)
    for _ in range(120):
        first, second = left + (right - left) / 3, right - (right - left) / 3
        if sign * function(first) < sign * function(second):
            left = first
        else:
            right = second
    return function((left + right) / 2)


def area(function: Callable[[float], float], low: float, high: float) -> float:
    """The integral of a function by Simpson's rule, exact for cubics."""
    steps = 200
    width = (high - low) / steps
    total = function(low) + function(high)
    total += sum((4 if step % 2 else 2) * function(low + step * width) for step in range(1, steps))
    return total * width / 3
