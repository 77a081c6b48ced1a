"""Answers to the stems of the embedded exam model, by textbook formulas in exact numbers: an examiner of its own.

Shares no code with the package: it reads the stem's words itself, and options by a small translation to Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

F = Fraction


def answer(stem: str) -> float:
    """The value that the stem asks for, in the unit that its numbers suggest. Raises LookupError for an unknown stem."""
    for words, formula in RULES:
        if all(re.search(word, stem) for word in words.split("&")):
            return float(formula(stem, numbers(stem)))
    raise LookupError(stem)


def option(text: str) -> float:
    """An option's bare number; g counts as one."""
    body = re.sub(r"\\,\\mathrm\{.*\}", "", text.strip("$")).replace("\\%", "")
    for _ in range(6):
        body = re.sub(r"\\sqrt\{([^{}]*)\}", r"r(\1)", body)
        body = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", body)
    body = re.sub(r"(\d)(?=[rg(])", r"\1*", body)
    if re.search(r"[^\d\srg.()/*+-]", body):
        raise ValueError(text)
    return float(eval(body, {"__builtins__": {}}, {"r": math.sqrt, "g": 1.0}))


def numbers(stem: str) -> list[Fraction]:
    """All numbers of the formulas, in order; no exponents of units."""
    plain = re.sub(r"\^\{-?\d+\}|m\$\^2\$|[xyTQ]\^\d", " ", stem)
    plain = re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", r"\1/\2", plain)
    formulas = " ".join(plain.split("$")[1::2])
    return [F(found) for found in re.findall(r"-?\d+/\d+|-?\d+\.\d+|-?\d+", formulas)]


def _area_percent(sign: int) -> Callable[[str, list[Fraction]], float]:
    return lambda _, n: abs(float(1 + sign * n[0] / 100) ** 1.5 - 1) * 100


def _trace(stem: str, power: int, sign: int) -> Fraction:
    """Sums of powers of the two roots by Newton's recursion: s(n) = k s(n-1) - c s(n-2)."""
    found = re.search(r"=(-?\d+)\$|x\^2-(\d+)x", stem)
    assert found is not None
    k = F(found.group(1) or found.group(2))
    before, now = F(2), k
    for _ in range(power - 1):
        before, now = now, k * now - sign * before
    front = re.search(r"value of \$(\d+)x\^2", stem)
    return now * (F(front.group(1)) if front else 1)


def _f_odd_even(stem: str, _: list[Fraction]) -> Fraction:
    found = re.search(
        r"f\(x\+(\d+)\).*f\((\d+)\)=(\d+)\$, what is the value of \$f\((-?\d+)\)\+(\d+)f\((-?\d+)\)", stem
    )
    assert found is not None
    period, at, value, one, factor, two = map(int, found.groups())
    sign = -1 if "is odd" in stem else 1

    def f(x: int) -> int:
        return value if x % period == at % period else sign * value

    return F(f(one) + factor * f(two))


def _functional(stem: str, _: list[Fraction]) -> Fraction:
    found = re.search(r"f\(x\)\+(\d+)f.*?=(\d*)x\$ for all .*f\((\d+)\)\$", stem)
    assert found is not None
    k, m, t = F(found.group(1)), F(found.group(2) or 1), F(found.group(3))
    shift = re.search(r"left\((\d+)-x", stem)
    other = F(shift.group(1)) - t if shift else 1 / t
    # From f(t) + k f(u) = m t and f(u) + k f(t) = m u.
    return (k * m * other - m * t) / (k * k - 1)


def _circle(stem: str, _: list[Fraction]) -> float:
    found = re.search(
        r"circle \$(.*?)\+(?=[(y])(.*?)=(\d+)\$, and \$P\$ is the point \$\((-?\d+),(-?\d+)\)", stem
    )
    assert found is not None

    def centre(part: str) -> int:
        shown = re.search(r"([+-]\d+)\)", part)
        return -int(shown.group(1)) if shown else 0

    away = math.hypot(
        centre(found.group(1)) - int(found.group(4)), centre(found.group(2)) - int(found.group(5))
    )
    radius = math.sqrt(int(found.group(3)))
    return away + radius if "greatest" in stem else away - radius


def _wave_fraction(stem: str, _: list[Fraction]) -> Fraction:
    found = re.search(r"\\frac\{(\d+)\}\{(\d+)\+(\d*)\\", stem)
    assert found is not None
    top, base, swing = F(found.group(1)), F(found.group(2)), F(found.group(3) or 1)
    return top / (base - swing) if "greatest" in stem else top / (base + swing)


def _amplitude(stem: str, n: list[Fraction]) -> float:
    size = math.hypot(abs(n[1]), abs(n[2]))
    return float(n[0]) + (size if "greatest" in stem else -size)


def _wave_square(stem: str, _: list[Fraction]) -> Fraction:
    found = re.search(r"value of \$(\d*)\\\w+ x[+-](\d*)\\", stem)
    assert found is not None
    a, b = F(found.group(1) or 1), F(found.group(2) or 1)
    greatest = b + a * a / (4 * b) if a <= 2 * b else a
    return -greatest if "least" in stem else greatest


def _telescoped(stem: str, _: list[Fraction]) -> Fraction:
    found = re.search(r"r=(\d+)\}\^\{(\d+)\}\\frac\{(\d+)\}\{r\(r\+(\d+)\)", stem)
    assert found is not None
    start, end, top, step = map(int, found.groups())
    return sum((F(top, r * (r + step)) for r in range(start, end + 1)), F(0))


def _lamps(_: str, n: list[Fraction]) -> Fraction:
    count, p, q = (int(one) for one in (n[1] if n[0] == 1 else n[0], n[-2], n[-1]))
    return F(sum((place % p == 0) != (place % q == 0) for place in range(1, count + 1)))


def _wire(stem: str, n: list[Fraction]) -> Fraction:
    k = n[1]
    if "until its diameter" in stem:
        return n[0] / k**4
    if "times as long and has" in stem:
        return n[0] / k
    return n[0] * k**2 if "times as long" in stem else n[0] / k**4


def _orders(stem: str, n: list[Fraction]) -> int:
    bound = n[0] / n[1]
    if "antiphase" in stem:
        one_side = sum(1 for k in range(500) if k + F(1, 2) < bound)
        total = 2 * one_side
    else:
        total = 1 + 2 * sum(1 for k in range(1, 500) if k < bound)
    return total * (2 if "circle" in stem else 1)


def _resonance(stem: str, n: list[Fraction]) -> Fraction:
    return (n[1] - n[0]) / 2 if "closed" in stem else n[1] - n[0]


def _pair_of(stem: str, n: list[Fraction]) -> Fraction:
    a, b, c, v = (n[0], n[1], n[2], n[3]) if stem.startswith("A resistor") else (n[2], n[0], n[1], n[3])
    pair = 1 / (1 / b + 1 / c)
    return (v * pair / (a + pair)) ** 2 / n[4]


def _power_ratio(_: str, n: list[Fraction]) -> float:
    p = float(n[1] / n[0]) - 2
    return (p + math.sqrt(p * p - 4)) / 2


RULES: list[tuple[str, Callable[[str, list[Fraction]], Fraction | float | int]]] = [
    ("mathematically similar and made", lambda _, n: n[2] * (n[1] / n[0]) ** 3),
    ("inversely proportional to the square root", lambda _, n: float(n[0]) ** 2 / math.sqrt(n[1])),
    ("[Ss]urface area.*decreases", _area_percent(-1)),
    ("[Ss]urface area.*increases", _area_percent(1)),
    ("[Vv]olume.*decreases", lambda _, n: (1 - float(1 - n[0] / 100) ** (2 / 3)) * 100),
    ("[Vv]olume.*increases", lambda _, n: (float(1 + n[0] / 100) ** (2 / 3) - 1) * 100),
    (r"x\+\\frac\{1\}\{x\}=", lambda s, _: _trace(s, 2, 1)),
    (r"x-\\frac\{1\}\{x\}=", lambda s, _: _trace(s, 2, -1)),
    (r"x\^2-\d+x\+1=0&x\^4", lambda s, _: _trace(s, 4, 1)),
    (r"x\^2-\d+x\+1=0&x\^3", lambda s, _: _trace(s, 3, 1)),
    (r"satisfy \$a\+b&a\^2\+b\^2", lambda _, n: n[0] ** 2 - 2 * n[1]),
    (r"satisfy \$a\+b&a\^3", lambda _, n: n[0] * (n[0] ** 2 - 3 * n[1])),
    (r"satisfy \$a\+b&\{1\}\{a\}", lambda _, n: n[0] / n[1]),
    (r"satisfy \$a\+b&\{a\}\{b\}", lambda _, n: n[0] ** 2 / n[1] - 2),
    ("quadratic function", lambda _, n: n[0] + (n[3] - n[0]) * ((n[4] - n[1]) / (n[2] - n[1])) ** 2),
    ("defined for all real.*(odd|even)", _f_odd_even),
    ("The function \\$f\\$ satisfies", _functional),
    ("moves on the circle", _circle),
    ("straight line through the point", lambda _, n: (n[1] - n[2] * n[0]) ** 2 / (-2 * n[2])),
    ("tangents from&quadrilateral", lambda _, n: math.sqrt(n[2] * (n[0] ** 2 + n[1] ** 2 - n[2]))),
    ("tangents from&sum of", lambda _, n: 2 * math.sqrt(n[0] ** 2 + n[1] ** 2 - n[2])),
    (r"value of \$\\frac.*as \$x\$ takes", _wave_fraction),
    (r"\\theta", _amplitude),
    (r"as \$x\$ takes all", _wave_square),
    ("altogether", lambda _, n: n[0] * (n[0] - 1) / 2 * n[1] ** 2),
    (r"\\sum", _telescoped),
    ("numbered from", _lamps),
    ("divides the&equal parts", lambda _, n: (n[0] / 2) * (n[0] / 2) / (n[1] + 1)),
    (
        "greatest possible area&wall and needs|wall needs none|beach|other three sides|house needs",
        lambda _, n: (n[0] / 2) * (n[0] / 4),
    ),
    ("greatest possible area", lambda _, n: n[0] * n[1] / 4),
    ("least possible cost", lambda _, n: 4 * math.sqrt(n[0] * n[1] * n[2])),
    ("What is its speed when", lambda _, n: math.sqrt(2 * n[1] * n[0])),
    ("kinetic energy is lost", lambda _, n: n[0] * n[2] / (n[0] + n[2]) * n[1] ** 2 / 2),
    ("How high", lambda _, n: (n[0] * n[1] / (n[0] + n[2])) ** 2 / 20),
    ("resistive force", lambda _, n: n[1] * (n[2] / n[0]) ** 3),
    ("cube of the radius", lambda _, n: float(n[1]) * float(n[0]) ** 1.5),
    ("wire of resistance&until its diameter", lambda _, n: n[0] / n[1] ** 4),
    ("wire of resistance", _wire),
    ("How far apart", lambda _, n: n[0] * (n[1] / 2 + n[2] + n[3] / 2)),
    ("force against the distance", lambda _, n: math.sqrt(n[1] * (n[2] + 2 * n[4]) / n[0])),
    ("acceleration against time", lambda _, n: n[0] * n[1] ** 2 / 3),
    ("further resistance", lambda s, n: n[2] / (n[0] * (1 + F(1, {"Tw": 2, "Th": 3, "Fo": 4}[s[:2]])))),
    ("What power (is dissipated|does the heater)", _pair_of),
    ("ratio of the larger resistance", _power_ratio),
    ("hang (from|on)&free-fall", lambda _, n: (n[1] - n[0]) / (n[0] + n[1])),
    ("hanging&free-fall", lambda _, n: n[1] / (n[0] + n[1])),
    ("first current in the battery", lambda _, n: (n[0] + n[1]) / n[1]),
    ("perfectly elastic", lambda _, n: (1 + 2 * n[1] / n[0]) ** 2),
    ("lowest frequency", lambda _, n: n[2] / (2 * (n[1] - n[0]))),
    ("lowest resonant", _resonance),
    ("How many maxima", _orders),
    ("What is the tension", lambda _, n: (n[0] / 2 + n[3]) * n[1] / n[2]),
    ("force of friction on its foot", lambda _, n: n[0] * n[1] / n[2] / 2),
    ("least coefficient of friction", lambda _, n: n[0] / n[1] / 2),
    ("slides before it tips", lambda _, n: n[1] / n[2] / 2),
]
