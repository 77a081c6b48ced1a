"""Families of P4, series and parallel."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, number, settings


def _supply(draw: Draw, context: int) -> Draft | None:
    count, ohms = draw.whole(2, 4), draw.choice((2, 4, 6, 8, 12))
    volts = ohms * (count + 1) * draw.whole(1, 3)
    word = {2: "Two", 3: "Three", 4: "Four"}[count]
    what = ("resistors", "heating elements", "lamps of constant resistance", "identical coils")[context]
    return draft(
        f"{word} {what}, each of resistance ${ohms}\\,\\Omega$, are connected in parallel with each other. This combination is in series with one further resistance of "
        f"${ohms}\\,\\Omega$ and an ideal battery of ${volts}$ V. What is the current in the battery?",
        form="V/(R+R/n)",
        wrong="V/(R*(n+1)); V*(n+1)/R; V/R; V/(R*(n+1))/n",
        reasoning=f"The combination has $\\frac{{{ohms}}}{{{count}}}\\,\\Omega$, the circuit ${number(Fraction(ohms * (count + 1), count))}\\,\\Omega$, and the current is $KEY$ A.",
        insight="Equal resistances in parallel share the current, so they count as one divided by their number.",
        givens={"V": volts, "R": ohms, "n": count},
        unit="A",
    )


_PAIRS = settings("P4", "medium")
_UNEQUAL = ((3, 6), (6, 3), (4, 12), (12, 4), (6, 12), (12, 6), (10, 15), (15, 10), (20, 30), (30, 20))


def _pair_power(draw: Draw, context: int) -> Draft | None:
    b, c = draw.choice(_UNEQUAL)
    pair = Fraction(b * c, b + c)
    a = draw.whole(1, 12)
    current = draw.whole(1, 6)
    volts = (a + pair) * current
    if volts.denominator != 1 or a in (b, c):
        return None
    return draft(
        _PAIRS[context % 2].format(a=a, b=b, c=c, v=volts),
        form="(V*(b*c/(b+c))/(a+b*c/(b+c)))**2/b",
        wrong=f"V**2/b; {current}**2*b; {current}**2*b/4; ({current}*b/(b+c))**2*b",
        reasoning=f"The pair has ${number(pair)}\\,\\Omega$, so the current is ${current}$ A, the pair has ${number(current * pair)}$ V, and the power is $KEY$ W.",
        insight="What the pair has in common is its voltage.",
        givens={"V": volts, "a": a, "b": b, "c": c},
        unit="W",
    )


_TWO = settings("P4", "hard")


def _both_ways(draw: Draw, context: int) -> Draft | None:
    top, bottom = draw.choice(((2, 1), (3, 1), (4, 1), (5, 1), (3, 2), (5, 2), (4, 3), (5, 3)))
    unit = 2 + context + 4 * draw.whole(0, 1)  # the settings share one computation
    series, parallel = unit * top * bottom, unit * (top + bottom) ** 2
    return draft(
        f"{_TWO[context]}. Together they take ${series}$ W when they are in series, and ${parallel}$ W when they are in parallel. What is the ratio of the larger "
        "resistance to the smaller one?",
        form="solve((x+1)**2*s-p*x,x)[-1]",
        key=f"{top}/{bottom}",
        wrong="p/s; p/s-1; p/s-2; p/s/2; p/s/4",
        reasoning=f"With $x$ for the ratio, $\\frac{{(x+1)^2}}{{x}}={number(Fraction(parallel, series))}$, whose root above one is $KEY$.",
        insight="The ratio of the two powers is the ratio of two resistances, and that depends on the ratio x alone.",
        givens={"p": parallel, "s": series},
    )


FAMILIES = families("P4", _supply, _pair_power, _both_ways)
