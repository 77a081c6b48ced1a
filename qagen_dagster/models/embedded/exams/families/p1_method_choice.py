"""Families of P1, choosing between forces, energy and momentum. The stem always gives the acceleration of free fall."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, decimal, draft, families, number, settings

_SLIDES = (
    ("A small block is released from rest at the top of a smooth curved slide and leaves it ${h}$ m lower", "leaves the slide", range(4, 13)),
    ("The bob of a simple pendulum is released from rest with the string taut, ${h}$ m above its lowest point", "passes its lowest point", range(2, 8)),
    ("A sledge starts from rest and glides without friction down a slope of varying steepness to a point ${h}$ m lower", "reaches that point", range(10, 31, 2)),
    ("A bead is released from rest on a smooth bent wire and passes a point of the wire ${h}$ m below", "passes that point", range(3, 10)),
)  # fmt: skip


def _slide(draw: Draw, context: int) -> Draft | None:
    setting, moment, speeds = _SLIDES[context]
    speed, gravity = draw.choice(speeds), draw.choice((10, 10, 4, 5, 8))
    height = decimal(Fraction(speed**2, 2 * gravity))
    where = setting if gravity == 10 else f"On another planet, {setting[0].lower()}{setting[1:]}"
    return draft(
        f"{where.format(h=height)}. Air resistance is negligible and $g={gravity}$ m s$^{{-2}}$. What is its speed when it {moment}?",
        form="sqrt(2*g*h)",
        wrong="sqrt(g*h); 2*g*h; sqrt(4*g*h); sqrt(2*h)",
        reasoning=f"$\\frac{{1}}{{2}}v^2=gh$, so $v=\\sqrt{{2\\times {gravity}\\times {height}}}=KEY$.",
        insight="Only the height matters, because no force but gravity does work.",
        givens={"g": gravity, "h": height},
        unit="m s^-1",
    )


_CRASHES = settings("P1", "medium")


def _crash(draw: Draw, context: int) -> Draft | None:
    m, n, v = draw.whole(1, 6), draw.whole(1, 8), 2 * draw.whole(1, 6)
    start, left = Fraction(m * v * v, 2), Fraction(m, m + n)
    end = start * left
    if (start - end).denominator != 1 or end.denominator != 1 or (start * left**2).denominator > 5 or m == n:
        return None
    setting, event = _CRASHES[context]
    return draft(
        f"{setting.format(m=m, n=n, v=v)}. How much kinetic energy is lost in {event}?",
        form="m*v**2/2-(m*v)**2/(2*(m+n))",
        wrong="m*v**2/2*m/(m+n); m*v**2/2*(1-(m/(m+n))**2); m*v**2/2*(m/(m+n))**2; m*v**2/2",
        reasoning=f"The common speed is $\\frac{{{m}\\times{v}}}{{{m + n}}}$, so ${number(end)}$ J of ${number(start)}$ J are left.",
        insight="Momentum is conserved in the collision and energy is not, so the speed afterwards comes first.",
        givens={"m": m, "n": n, "v": v},
        unit="J",
    )


_STOPS = settings("P1", "hard")


def _rise(draw: Draw, context: int) -> Draft | None:
    after, share = draw.choice((2, 4, 6)), draw.whole(3, 8 if context < 2 else 4)  # by hand at most 24 m/s
    m = draw.choice((20, 25, 40, 50))
    n, v = m * (share - 1), after * share
    setting, asked = _STOPS[context]
    return draft(
        f"{setting.format(m=m, n=n, v=v)}. Take $g=10$ m s$^{{-2}}$. {asked}",
        form="(m*v/(m+n))**2/(2*g)",
        wrong="v**2/(2*g); v**2/(2*g)*m/(m+n); (m*v/(m+n))**2/g; (m*v/n)**2/(2*g)",
        reasoning=f"Momentum gives a common speed of ${after}$ m s$^{{-1}}$; from then on energy gives $h=\\frac{{{after}^2}}{{20}}=KEY$.",
        insight="Two stages with two laws: momentum through the impact, energy only after it.",
        givens={"m": m, "n": n, "v": v, "g": 10},
        unit="m",
    )


FAMILIES = families("P1", _slide, _crash, _rise)
