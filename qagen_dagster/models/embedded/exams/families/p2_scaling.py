"""Families of P2, scaling laws and dimensional reasoning."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, Family, decimal, number, plain, united

_MOVERS = (
    ("A car", "engine"),
    ("A speedboat", "engine"),
    ("A hovercraft", "engine"),
    ("A motorcycle on a level road", "engine"),
)


def _power(draw: Draw, context: int) -> Draft | None:
    factor = draw.choice((Fraction(2), Fraction(3), Fraction(3, 2), Fraction(1, 2)))
    base = 8 * draw.whole(1, 3)
    speed = draw.choice((10, 12, 14, 16, 18, 20))
    new = speed * factor
    if new > 40:
        return None
    mover, engine = _MOVERS[context]
    powers = (base * factor**exponent for exponent in (1, 2, 4))
    return Draft(
        stem=f"{mover} moves at a constant speed of ${speed}$ m s$^{{-1}}$, for which its {engine} delivers ${base}$ kW. The resistive force is proportional "
        f"to the square of the speed. What power is needed for a constant speed of ${number(new)}$ m s$^{{-1}}$?",
        key=united(number(base * factor**3), "kW"),
        wrong=tuple(
            united(number(one), "kW") if one > 0 else None
            for one in (*powers, base * (3 * factor - 2), base + new - speed)
        ),
        reasoning=f"Power is force times speed and goes with the cube of the speed: ${base}\\times\\left({number(factor)}\\right)^3={number(base * factor**3)}$.",
        insight="One power of the speed comes from the force law twice and once more from the distance covered.",
        expression="P*(w/v)**3",
        givens={"P": base, "w": new, "v": speed},
        unit="kW",
    )


_ORBITS = (
    ("Two satellites move in circular orbits round the same planet", "satellite"),
    ("Two planets move in circular orbits round the same star", "planet"),
    ("Two moons move in circular orbits round the same planet", "moon"),
    ("Two space probes move in circular orbits round the Sun", "probe"),
)


def _orbit(draw: Draw, context: int) -> Draft:
    base = draw.whole(2, 5)
    times_ = base * base
    period = draw.whole(2, 12)
    setting, one = _ORBITS[context]
    unit = ("h", "year", "day", "year")[context]
    shown = {"h": "hours", "year": "years", "day": "days"}[unit]
    factors = (times_, base, times_**2, times_**3, times_ * Fraction(3, 2))
    return Draft(
        stem=f"{setting}. The square of the period is proportional to the cube of the radius of the orbit. The radius of the outer {one}'s orbit is "
        f"${times_}$ times that of the inner one, whose period is ${period}$ {shown}. What is the period of the outer {one}, in {shown}?",
        key=plain(str(period * base**3)),
        wrong=tuple(plain(decimal(period * one)) if period * one < 10_000 else None for one in factors),
        reasoning=f"The factor is ${times_}^{{3/2}}={base**3}$, so the period is ${period * base**3}$ {shown}.",
        insight="Squares and cubes of factors: take the root first, then the cube.",
        expression="T*k**Rational(3,2)",
        givens={"T": period, "k": times_},
    )


_DRAWN = "is drawn out uniformly, without loss of material, until"
_WIRES = (  # what is done, the exponent of the factor of the resistance, and those of the mistakes
    (f"{_DRAWN} its diameter is $\\frac{{{{1}}}}{{{{{{k}}}}}}$ of what it was", 4, (2, 3, -4, 0)),
    (f"{_DRAWN} it is ${{k}}$ times as long", 2, (1, None, -2, 0, 3)),
    ("is replaced by a wire of the same material that is ${k}$ times as long and has ${k}$ times the diameter", -1, (-2, 0, 1, None, -3)),
    ("is melted down and the same metal is made into a wire of ${k}$ times the diameter", -4, (-2, -3, 4, 0)),
)  # fmt: skip


def _wire(draw: Draw, context: int) -> Draft:
    k, resistance = draw.whole(2, 3), draw.choice((6, 12, 18, 24, 36, 48))
    setting, power, others = _WIRES[context]
    value = resistance * Fraction(k) ** power
    return Draft(
        stem=f"A wire of resistance ${resistance}\\,\\Omega$ {setting.format(k=k)}. What is the resistance then?",
        key=united(number(value), "\\Omega"),
        wrong=tuple(
            None if one is None else united(number(resistance * Fraction(k) ** one), "\\Omega")
            for one in others
        ),
        reasoning=f"Resistance goes with the length and inversely with the area; together that is the factor ${number(Fraction(k) ** power)}$.",
        insight="The volume ties length and area together, so both change.",
        expression=("R*k**4", "R*k*k", "R*k/k**2", "R/k**2/k**2")[context],
        givens={"R": resistance, "k": k},
        unit="ohm",
    )


FAMILIES = (
    Family(
        "P2", "easy",
        summary="A resistive force grows with the square of the speed. The power that overcomes it grows faster, because power is force times speed.",
        carrier="a vehicle at constant speed",
        constraints=("the speed is constant, so the forces balance", "the resistive force follows the square of the speed"),
        asked="the power needed for another speed",
        rationale="One power has to be added to a law that is given.",
        paths=(
            "Takes the power to be proportional to the speed.",
            "Lets the power grow like the force.",
            "Takes the speed into account once too often.",
            "Replaces the cube of the factor by three times the relative change.",
            "Adds the difference of the speeds.",
        ),
        contexts=4, make=_power,
    ),
    Family(
        "P2", "medium",
        summary="A law links the square of one quantity to the cube of another. The factor of one is given and the other's is wanted.",
        carrier="bodies in circular orbits about one centre",
        constraints=("both bodies obey one law", "the factor of the radius is known"),
        asked="the period of the outer body",
        rationale="The exponent of the law has to be turned round before the factor is used.",
        paths=(
            "Takes period and radius to be proportional.",
            "Takes only the root of the factor.",
            "Takes the period to grow with the square of the radius.",
            "Takes the cube of the factor without the root.",
            "Multiplies the factor by the exponent.",
        ),
        contexts=4, make=_orbit,
    ),
    Family(
        "P2", "hard",
        summary="A wire is reshaped. Its resistance depends on length and thickness, which do not change independently of each other.",
        carrier="a wire that is reshaped or replaced",
        constraints=("the material stays the same", "length and thickness change together"),
        asked="the new resistance",
        rationale="Two dependences have to be combined, one of them hidden in the constant volume.",
        paths=(
            "Overlooks that length and thickness change together.",
            "Lets the area follow the diameter instead of its square.",
            "Takes the dependence in the opposite direction.",
            "Takes the changes of length and thickness to cancel.",
            "Counts one of the two changes twice.",
        ),
        contexts=4, make=_wire,
    ),
)  # fmt: skip
