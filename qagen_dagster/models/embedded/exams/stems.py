"""Answers the stems of exam items. A stem is the text of a question without its options.

`stems.toml` has the kinds of stems. The `form` of a kind is computed with the numbers of the stem, which are called a, b, c, ... in
order; `x` and `y` are forms that are computed first. If a kind has an `extreme`, the answer is the greatest or least value of the form
for x from `low` to `high`. An `answer` names a function in `_ANSWERS`. Most methods search, count, iterate or solve equations, so they
do not repeat the formulas of the families, which make the stems.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations

from qagen_dagster.mathematics.floats import float_of
from qagen_dagster.records.data_files import read_table

_NUMBER = r"(-?\\frac\{\d+\}\{\d+\}|-?\d+(?:\.\d+)?)"
_FRACTION = re.compile(r"(-?)\\frac\{(\d+)\}\{(\d+)\}")


@dataclass(frozen=True)
class Solved:
    """The answer, which is `value`, times `symbol` if there is one, and how it was found."""

    value: float
    how: str
    symbol: str = ""


_Answer = Callable[..., Solved | None]  # gets the numbers of a stem


def solve(stem: str) -> Solved | None:
    """The answer of the first kind that matches the stem and has an answer; None if no kind does."""
    for pattern, answer in _kinds():
        found = pattern.search(stem)
        solved = answer(*map(_value, found.groups())) if found else None
        if solved is not None:
            return solved
    return None


@cache
def _kinds() -> tuple[tuple[re.Pattern[str], _Answer], ...]:
    rows: list[dict[str, str]] = read_table(__package__, "stems.toml")["stems"]
    return tuple(
        (_pattern(row["stem"]), _ANSWERS[row["answer"]] if "answer" in row else partial(_by_form, row))
        for row in rows
    )


def _pattern(stem: str) -> re.Pattern[str]:
    """A stem with marks as a pattern: `#` is a number, `§` a factor that may be left out, `~x` the square of x or of x with a number
    added, `...` any words within the sentence."""
    escaped = re.escape(stem).replace(r"\#", _NUMBER)
    escaped = re.sub(r"\\?~(\w)", r"(?:\\(\1([-+]\\d+)\\)|\1)\\^2", escaped).replace("§", r"(\d*)")
    return re.compile(escaped.replace(r"\.\.\.", r"[^?]{0,300}?"))


def _by_form(row: Mapping[str, str], *numbers: float) -> Solved:
    form, names = row["form"], dict(zip("abcde", numbers, strict=False))
    if "extreme" in row:
        ends = float_of(row["low"], names), float_of(row["high"], names)
        value = _best(
            lambda x: float_of(form, {**names, "x": x}), *ends, greatest=row["extreme"] == "greatest"
        )
    else:
        names |= {name: float_of(row[name], names) for name in ("x", "y") if name in row}
        value = float_of(form, names)
    return Solved(value, row["how"], row.get("symbol", ""))


def _value(group: str | None) -> float:
    """The number that a mark has matched; 1 for a factor that is left out, and 0 for a number that is not added."""
    if not group:
        return 0.0 if group is None else 1.0
    if fraction := _FRACTION.fullmatch(group):
        value = Fraction(int(fraction[2]), int(fraction[3]))
        return float(-value if fraction[1] else value)
    return float(group)


def _best(function: Callable[[float], float], low: float, high: float, *, greatest: bool = True) -> float:
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


def _area(function: Callable[[float], float], high: float) -> float:
    """The integral of a function from 0 by Simpson's rule, exact for cubics."""
    steps = 200
    width = high / steps
    total = function(0) + function(high)
    total += sum((4 if step % 2 else 2) * function(step * width) for step in range(1, steps))
    return total * width / 3


def _odd_periodic(
    period: float, at: float, value: float, first: float, factor: float, second: float
) -> Solved | None:
    """Computes f(first) + factor * f(second) for an odd and periodic f with f(at) = value."""

    def look(x: float) -> float | None:
        if (x - at) % period == 0:
            return value
        return -value if (-x - at) % period == 0 else None

    left, right = look(first), look(second)
    if left is None or right is None:
        return None
    return Solved(left + factor * right, "moved each argument by whole periods, mirrored where needed")


def _tangents(area: bool) -> _Answer:
    """A function for the two tangents from (p, q) to a circle about the origin. It gives the area between them and the two radii if `area`,
    else the sum of their lengths."""

    def answer(p: float, q: float, square: float) -> Solved:
        # The polar line p x + q y = square meets the circle in the points of contact (ax, ay) and (bx, by).
        d = p * p + q * q
        foot = square / d
        half = math.sqrt(square - square * square / d) / math.sqrt(d)
        ax, ay, bx, by = foot * p - half * q, foot * q + half * p, foot * p + half * q, foot * q - half * p
        if not area:
            return Solved(
                math.hypot(p - ax, q - ay) + math.hypot(p - bx, q - by), "found both points of contact"
            )
        shoelace = ax * q - p * ay + p * by - bx * q
        return Solved(abs(shoelace) / 2, "found both points of contact and took the area from coordinates")

    return answer


def _pairs(groups: float, size: float) -> Solved:
    members = [group for group in range(int(groups)) for _ in range(int(size))]
    return Solved(
        sum(a != b for a, b in combinations(members, 2)), "listed all pairs and left out those within a group"
    )


def _sum(start: float, end: float, top: float, step: float) -> Solved:
    return Solved(
        math.fsum(top / (r * (r + step)) for r in range(int(start), int(end) + 1)), "added the terms"
    )


def _switched(count: float, p: float, q: float) -> Solved:
    """How many of the lamps 1 to `count` are on after all multiples of p, and then all multiples of q, were switched."""
    state = [False] * (int(count) + 1)
    for step in (int(p), int(q)):
        for place in range(step, int(count) + 1, step):
            state[place] = not state[place]
    return Solved(sum(state), "went through all numbers twice")


def _journey(speed: float, rise: float, level: float, fall: float) -> Solved:
    up, down = _area(lambda t: speed * t / rise, rise), _area(lambda t: speed * (1 - t / fall), fall)
    return Solved(up + speed * level + down, "added the areas of the three pieces")


def _push(mass: float, force: float, first: float, level: float, second: float) -> Solved | None:
    if level != force:
        return None
    work = _area(lambda x: force * x / first, first) + force * second
    return Solved(math.sqrt(2 * work / mass), "added up the work and made it kinetic energy")


def _fading(start: float, seconds: float) -> Solved:
    def speed(t: float) -> float:
        return _area(lambda u: start * (1 - u / seconds), t)

    return Solved(_area(speed, seconds), "integrated twice by Simpson's rule")


def _pair(series: float, first: float, second: float, volts: float, asked: float) -> Solved | None:
    if asked not in (first, second):
        return None
    # Node potential: the current through the series resistor equals the current through the pair.
    node = (volts / series) / (1 / series + 1 / first + 1 / second)
    return Solved(node**2 / asked, f"found {node:.6g} V at the node by the currents there")


def _heaters(first: float, second: float, series: float, volts: float, asked: float) -> Solved | None:
    return _pair(series, first, second, volts, asked)


def _ratio(series: float, parallel: float) -> Solved:
    low, high = 1.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if (middle + 1) * (1 + 1 / middle) > parallel / series else (middle, high)
    return Solved(low, "tried ratios by halving an interval")


def _lowest(step: int) -> Callable[[float, float], Solved | None]:
    """A function that finds the number whose neighbouring multiples are two given numbers. With a `step` of 2, only odd multiples count."""

    def answer(first: float, second: float) -> Solved | None:
        for number in range(1, 60 * step, step):
            base = first / number
            if math.isclose(base * (number + step), second):
                return Solved(base, f"they are {number} and {number + step} times the lowest one")
        return None

    return answer


def _maxima(shift: float, ring: bool) -> Callable[[float, float], Solved]:
    def answer(apart: float, wave: float) -> Solved:
        orders = [order for order in range(-200, 200) if abs((order + shift) * wave) < apart]
        return Solved(
            len(orders) * (2 if ring else 1), f"listed the {len(orders)} orders that the distance allows"
        )

    return answer


def _beam(weight: float, length: float, at: float, load: float) -> Solved:
    pieces = 1000
    turning = (
        sum(weight / pieces * (piece + 0.5) * length / pieces for piece in range(pieces)) + load * length
    )
    return Solved(turning / at, "cut the beam into small pieces and added their moments about the hinge")


_ANSWERS: Mapping[str, _Answer] = {
    "odd_periodic": _odd_periodic, "tangent_area": _tangents(True), "tangent_lengths": _tangents(False),
    "pairs": _pairs, "sum": _sum, "switched": _switched, "journey": _journey, "push": _push, "fading": _fading, "pair": _pair,
    "heaters": _heaters, "ratio": _ratio, "lowest": _lowest(1), "lowest_odd": _lowest(2), "beam": _beam,
    "maxima_phase_ring": _maxima(0.0, True), "maxima_phase_line": _maxima(0.0, False),
    "maxima_antiphase_ring": _maxima(0.5, True), "maxima_antiphase_line": _maxima(0.5, False),
}  # fmt: skip
