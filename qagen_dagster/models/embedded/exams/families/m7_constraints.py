"""Families of M7, implicit constraints and geometric optimisation."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, number, settings

_FENCES = settings("M7", "easy")


def _fence(draw: Draw, context: int) -> Draft | None:
    setting, what, material, free, most = _FENCES[context]
    parts, length = draw.choice((1, 1, 2, 3)), 12 * draw.whole(1, most)
    divided = f" Some of the {material} runs at right angles to the {free} and divides the {what} into ${parts}$ equal parts."
    out = parts + 1  # pieces perpendicular to the free side
    return draft(
        f"{setting.format(l=length)}.{divided if parts > 1 else ''} What is the greatest possible area of the {what}?",
        form="L**2/(4*n)",
        wrong=f"(L/(n+2))**2; (L/(n+1))**2; L**2/4; {'L**2/8' if parts > 1 else ''}; L**2/(2*n)-(L/(2*n))**2",
        show=_clean,
        reasoning=f"With a depth of $x$ the area is $x({length}-{out}x)$, greatest for $x={number(Fraction(length, 2 * out))}$, where it is $KEY$.",
        insight="The long side is free, so half of the length goes into what stands out from it.",
        givens={"L": length, "n": out},
        unit="m^2",
    )


def _clean(value: Fraction) -> str | None:
    """A whole number that needs no calculator; None for others."""
    return number(value) if value.denominator == 1 and len(str(value.numerator).strip("0")) <= 4 else None


_CORNERS = settings("M7", "medium")


# Sides for which the inscribed square also has a whole side: a b is divisible by a + b.
_CLEAN = tuple(
    (a, b) for a in range(6, 91) for b in range(a + 1, 121) if a * b % (a + b) == 0 and a * b % 2 == 0
)


def _corner(draw: Draw, context: int) -> Draft | None:
    a, b = draw.choice(_CLEAN)
    asked = ("rectangle", "pond on the plan", "rectangle", "base of the box")[context]
    return draft(
        f"{_CORNERS[context].format(a=a, b=b)}. What is the greatest possible area of the {asked}?",
        form="(a/2)*(b/2)",
        wrong="a*b/2; (a*b/(a+b))**2; a**2/4; 2*a*b/9",
        reasoning=f"The free corner lies on the longest side, so $\\frac{{x}}{{{a}}}+\\frac{{y}}{{{b}}}=1$; $xy$ is greatest for equal terms, where it is $KEY$.",
        insight="The free corner at the middle of the longest side is best, and takes half the triangle.",
        givens={"a": a, "b": b},
        unit="cm^2",
    )


_COSTS = settings("M7", "hard")


def _cost(draw: Draw, context: int) -> Draft | None:
    a, b = draw.two(2, 20)
    side = draw.whole(3, 10)
    setting, what = _COSTS[context]
    if isqrt(a * b) ** 2 != a * b:
        return None
    return draft(
        f"{setting.format(s=side**2)} costs £${a}$ per metre, on the other pair £${b}$ per metre. What is the least possible cost of {what}, in pounds?",
        form="2*sqrt(2*a*2*b*s)",
        key="sqrt(16*a*b*s)",
        wrong=f"2*(a+b)*{side}; sqrt(4*a*b*s); (a+b)*{side}; 4*a*b*{side}",
        reasoning=f"For sides $x$ and $y$ with $xy={side**2}$ the cost $2\\times{a}x+2\\times{b}y$ is least where both terms are equal, and is $KEY$.",
        insight="With a fixed product the sum of the two costs is least where they are equal, not where the sides are.",
        givens={"a": a, "b": b, "s": side**2},
    )


FAMILIES = families("M7", _fence, _corner, _cost)
