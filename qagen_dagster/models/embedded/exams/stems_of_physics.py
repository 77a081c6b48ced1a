"""Stems of physics: what each method reads from a stem and computes; and how methods and their areas are found."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from qagen_dagster.mathematics.floats import float_of

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


def by_form(form: str, how: str, symbol: str = "") -> Callable[..., Solved]:
    """An answer computed by a form, in which the numbers of the stem are called a, b, c, ... in order."""

    def answer(*numbers: float) -> Solved:
        return Solved(float_of(form, dict(zip("abcde", numbers, strict=False))), how, symbol)

    return answer


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


def _journey(speed: float, rise: float, level: float, fall: float) -> Solved:
    up, down = area(lambda t: speed * t / rise, 0, rise), area(lambda t: speed * (1 - t / fall), 0, fall)
    return Solved(up + speed * level + down, "added the areas of the three pieces")


def _push(mass: float, force: float, first: float, level: float, second: float) -> Solved | None:
    if level != force:
        return None
    work = area(lambda x: force * x / first, 0, first) + force * second
    return Solved(math.sqrt(2 * work / mass), "added up the work and made it kinetic energy")


def _fading(start: float, seconds: float) -> Solved:
    def speed(t: float) -> float:
        return area(lambda u: start * (1 - u / seconds), 0, t)

    return Solved(area(speed, 0, seconds), "integrated twice by Simpson's rule")


def _pair(series: float, first: float, second: float, volts: float, asked: float) -> Solved | None:
    if asked not in (first, second):
        return None
    # Node potential: the current through the series resistor equals that through the pair.
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
    """The base of which both are neighbouring multiples: all of them for a step of 1, odd ones for 2."""

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


_RING, _LINE = "is carried once round a large circle", "is moved along the straight line"


_CRASHES = (
    "A model truck of mass $#$ kg moving at $#$ m s$^{-1}$ runs into a stationary one of mass $#$ kg",
    "A trolley of mass $#$ kg moving at $#$ m s$^{-1}$ hits a stationary trolley of mass $#$ kg",
    "of mass $#$ kg flies horizontally at $#$ m s$^{-1}$ into a stationary block of mass $#$ kg",
    "a sledge of mass $#$ kg moving at $#$ m s$^{-1}$ locks onto a stationary sledge of mass $#$ kg",
)
_SLIDES = (
    "leaves it $#$ m lower",
    "released from rest with the string taut, $#$ m above",
    "to a point $#$ m lower",
    "passes a point of the wire $#$ m below",
)

_BRANCHES = (("Two", "1/a+1/a"), ("Three", "1/a+1/a+1/a"), ("Four", "1/a+1/a+1/a+1/a"))
_WIRES = (("drawn out...until its diameter is $#$ of", "a/b**2/b**2"), ("drawn out...until it is $#$ times as long", "a*b*b"), ("replaced...that is $#$ times as long and", "a*b/b**2"), ("melted down...of $#$ times the diameter", "a*b**-2/b**2"))  # fmt: skip
_ONE_BY_ONE = "scaled length and cross-section one by one"
_MET = "let the lines of the three forces meet in one point"
_LIMIT = "put in a tiny and a huge resistance"

PHYSICS: tuple[Method, ...] = (
    *(method(f"{one}...$g=#$...What is its speed when", by_form("b*sqrt(2*a/b)", "let it fall freely through the same height")) for one in _SLIDES),
    *(method(f"{one}...How much kinetic energy is lost", by_form("(a*c/(a+c))*b**2/2", "added the energies in the frame of the centre of mass")) for one in _CRASHES),
    method("of mass $#$ g...at $#$ m s$^{-1}$...of mass $#$ g...How high", by_form("(a*b/(a+c))**2/20", "shared the momentum, then let both rise as if thrown")),
    method("constant speed of $#$ m s$^{-1}$, for which its engine delivers $#$ kW...constant speed of $#$ m", by_form("b/a*(c/a)**2*c", "found the force at both speeds")),
    method("orbit is $#$ times that of the inner one, whose period is $#$", by_form("sqrt(b**2*a**3)", "scaled the square of the period by the cube of the factor")),
    *(method(f"A wire of resistance $#\\,\\Omega$ is {done}", by_form(form, _ONE_BY_ONE)) for done, form in _WIRES),
    method("zero to $#$ m s$^{-1}$ in $#$ s, is level for $#$ s, and falls straight to zero in $#$ s. How far apart", _journey),
    method("of mass $#$ kg is at rest...from zero to $#$ N over the first $#$ m and is level at $#$ N over the next $#$ m", _push),
    method("falls from $#$ m s$^{-2}$ at the start to zero after $#$ s. How far", _fading),
    *(method(f"{word} ..., each of resistance $#\\,\\Omega$, are...one further resistance of $#\\,\\Omega$...of $#$ V", by_form(f"c/(b+1/({each}))", "added conductances, then resistances")) for word, each in _BRANCHES),
    method("A resistor of $#\\,\\Omega$ is in series with two resistors of $#\\,\\Omega$ and $#\\,\\Omega$...of $#$ V...in the $#\\,\\Omega$ resistor", _pair),
    method("Two heaters of $#\\,\\Omega$ and $#\\,\\Omega$...a resistance of $#\\,\\Omega$ in the leads...gives $#$ V...heater of $#\\,\\Omega$ deliver", _heaters),
    method("Together they take $#$ W when they are in series, and $#$ W when they are in parallel", _ratio),
    *(method(stem, by_form("(b-2*a*b/(a+b))/b", "took the heavier body alone with the tension of the string", "g")) for stem in ("Two bodies of masses $#m$ and $#m$ hang", "A bucket of mass $#m$ and a counterweight of mass $#m$ hang")),
    *(method(f"A {stem} of mass $#m$", by_form("a*b/(a+b)/a", "took the body on the table alone with the tension of the string", "g")) for stem in ("body of mass $#m$ on a smooth table...hanging body", "glider of mass $#m$ on a level air track...hanging weight")),
    method("A resistor of $#\\,\\Omega$ has ... in parallel with it. This pair is in series with a resistor of $#\\,\\Omega$", by_form("(1/b)/(1/(a+b))", _LIMIT)),
    method("at $#$ m s$^{-1}$...at $#$ m s$^{-1}$...perfectly elastic...By what factor is the kinetic energy", by_form("((a+2*b)/a)**2", "let the light body turn round in the frame of the heavy one")),
    method("s $#$ m from one and $#$ m from the other. The waves travel at $#$ m s$^{-1}$. What is the lowest frequency", by_form("0.5/(Abs(b-a)/c)", "made the delay of one wave half a period")),
    method("closed at...resonates at $#$ Hz and at $#$ Hz, and at no frequency between", _lowest(2)),
    method("at both ends resonates at $#$ Hz and at $#$ Hz, and at no frequency between", _lowest(1)),
    *(method(f"$#$ m apart emit...of wavelength $#$ m {phase}. A ... {way}...How many maxima", _maxima(shift, ring)) for phase, shift in (("in phase", 0.0), ("in antiphase", 0.5)) for way, ring in ((_RING, True), (_LINE, False))),
    method("of weight $#$ N and length $#$ m...$#$ m from that end...of weight $#$ N is at its free end. What is the tension", _beam),
    method("ladder of weight $#$ N...Its foot is $#$ m from the wall and its top $#$ m above the ground. What is the force of friction", by_form("a*(b/2)/c", _MET)),
    method("Its foot is $#$ m from the wall and its top $#$ m above the ground. What is the least coefficient", by_form("(a/2)/b", _MET)),
    method("of height $#$ cm and width $#$ cm...coefficient of friction is $#$...slides before it tips", by_form("b/2/c", "compared the force that slides with the force that tips")),
)  # fmt: skip
