"""Families of P2, scaling laws and dimensional reasoning."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, decimal, draft, families, number, settings

_MOVERS = ("A car", "A speedboat", "A hovercraft", "A motorcycle on a level road")


def _power(draw: Draw, context: int) -> Draft | None:
    factor = draw.choice((Fraction(2), Fraction(3), Fraction(3, 2), Fraction(1, 2)))
    base = 8 * draw.whole(1, 3)
    speed = draw.choice((10, 12, 14, 16, 18, 20))
    new = speed * factor
    if new > 40:
        return None
    return draft(
        f"{_MOVERS[context]} moves at a constant speed of ${speed}$ m s$^{{-1}}$, for which its engine delivers ${base}$ kW. The resistive force is proportional "
        f"to the square of the speed. What power is needed for a constant speed of ${number(new)}$ m s$^{{-1}}$?",
        form="P*(w/v)**3",
        wrong="P*(w/v); P*(w/v)**2; P*(w/v)**4; P*(3*w/v-2); P+w-v",
        show=lambda one: number(one) if one > 0 else None,
        reasoning=f"Power is force times speed and goes with the cube of the speed: ${base}\\times\\left({number(factor)}\\right)^3=KEY$.",
        insight="One power of the speed comes from the force law twice and once more from the distance covered.",
        givens={"P": base, "w": new, "v": speed},
        unit="kW",
    )


_ORBITS = settings("P2", "medium")


def _orbit(draw: Draw, context: int) -> Draft | None:
    base, period = draw.whole(2, 5), draw.whole(2, 12)
    setting, one, unit = _ORBITS[context]
    return draft(
        f"{setting}. The square of the period is proportional to the cube of the radius of the orbit. The radius of the outer {one}'s orbit is "
        f"${base**2}$ times that of the inner one, whose period is ${period}$ {unit}. What is the period of the outer {one}, in {unit}?",
        form="T*k**Rational(3,2)",
        key=f"T*{base}**3",
        wrong=f"T*k; T*{base}; T*k**2; T*k**3; T*k*3/2",
        show=lambda one: decimal(one) if one < 10_000 else None,
        reasoning=f"The factor is ${base**2}^{{3/2}}={base**3}$, so the period is $KEY$ {unit}.",
        insight="Squares and cubes of factors: take the root first, then the cube.",
        givens={"T": period, "k": base**2},
    )


_DRAWN = "is drawn out uniformly, without loss of material, until"
_WIRES = (  # what is done, the form, the exponent of the factor of the resistance, and the forms of the mistakes
    (f"{_DRAWN} its diameter is $\\frac{{{{1}}}}{{{{{{k}}}}}}$ of what it was", "R*k**4", 4, "R*k**2; R*k**3; R/k**4; R"),
    (f"{_DRAWN} it is ${{k}}$ times as long", "R*k*k", 2, "R*k; ; R/k**2; R; R*k**3"),
    ("is replaced by a wire of the same material that is ${k}$ times as long and has ${k}$ times the diameter", "R*k/k**2", -1, "R/k**2; R; R*k; ; R/k**3"),
    ("is melted down and the same metal is made into a wire of ${k}$ times the diameter", "R/k**2/k**2", -4, "R/k**2; R/k**3; R*k**4; R"),
)  # fmt: skip


def _wire(draw: Draw, context: int) -> Draft | None:
    k, resistance = draw.whole(2, 3), draw.choice((6, 12, 18, 24, 36, 48))
    setting, form, power, wrong = _WIRES[context]
    return draft(
        f"A wire of resistance ${resistance}\\,\\Omega$ {setting.format(k=k)}. What is the resistance then?",
        form=form,
        wrong=wrong,
        reasoning=f"Resistance goes with the length and inversely with the area; together that is the factor ${number(Fraction(k) ** power)}$.",
        insight="The volume ties length and area together, so both change.",
        givens={"R": resistance, "k": k},
        unit="ohm",
    )


FAMILIES = families("P2", _power, _orbit, _wire)
