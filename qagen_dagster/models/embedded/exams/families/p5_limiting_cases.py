"""Families of P5, limiting cases."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, Family, number, plain, times

_HANGING = (
    "Two bodies of masses ${a}m$ and ${b}m$ hang from the ends of a light string over a light smooth pulley and are released",
    "A bucket of mass ${a}m$ and a counterweight of mass ${b}m$ hang on a light rope over a light smooth pulley and are released",
)
_ON_A_TABLE = (
    "A body of mass ${a}m$ on a smooth table is joined by a light string over a light smooth pulley to a hanging body of mass ${b}m$ and is released",
    "A glider of mass ${a}m$ on a level air track is pulled by a light thread that runs over a light smooth pulley to a hanging weight of mass ${b}m$",
)


def _strings(draw: Draw, context: int) -> Draft:
    a, b = draw.two(2, 9)
    if context % 2 == 0:
        setting = _HANGING[context // 2].format(a=a, b=b)
        value = Fraction(b - a, a + b)
        wrong = (Fraction(b - a, b), Fraction(b, a + b), Fraction(a, b), Fraction(b - a, a))
        expression, insight = (
            "(b-a)*m*g/((a+b)*m)",
            "For equal masses nothing may move, and without the lighter mass the heavier one must fall freely.",
        )
    else:
        setting = _ON_A_TABLE[context // 2].format(a=a, b=b)
        value = Fraction(b, a + b)
        wrong = (Fraction(b, a), Fraction(b - a, a + b), Fraction(a, b), Fraction(a, a + b))
        expression, insight = (
            "b*m*g/((a+b)*m)",
            "Without the body on the table the hanging one must fall freely, and the table's body must never help or oppose.",
        )
    end = "The free-fall acceleration is $g$. What is the acceleration of each body?"
    return Draft(
        stem=f"{setting}. {end}",
        key=plain(times(value, "g")),
        wrong=tuple(plain(times(one, "g")) for one in wrong),
        reasoning=f"The driving force over the whole mass gives ${times(value, 'g')}$.",
        insight=insight,
        expression=expression,
        givens={"a": a, "b": b, "m": "m", "g": "g"},
    )


_SENSORS = (
    (
        "a light-dependent resistor",
        "in bright light, where its resistance is negligible",
        "in the dark, where its resistance is very large",
    ),
    (
        "a thermistor",
        "very hot, where its resistance is negligible",
        "very cold, where its resistance is very large",
    ),
    ("a variable resistor", "set to zero", "set to a very large resistance"),
    ("a switch", "closed", "open"),
)


def _sensor(draw: Draw, context: int) -> Draft:
    low, high = draw.two(2, 12)
    fixed, beside = (low, high) if context % 2 == 0 else (high, low)
    ratio = Fraction(fixed + beside, fixed)
    device, small, large = _SENSORS[context]
    verb = "is" if context > 1 else "is kept"
    return Draft(
        stem=f"A resistor of ${beside}\\,\\Omega$ has {device} in parallel with it. This pair is in series with a resistor of ${fixed}\\,\\Omega$ and an ideal battery. "
        f"First the {device.split(' ', 1)[1]} {verb} {small}, then {large}. What is the ratio of the first current in the battery to the second?",
        key=plain(number(ratio)),
        wrong=tuple(
            plain(number(one))
            for one in (
                1 / ratio,
                Fraction(fixed + beside, beside),
                Fraction(beside, fixed),
                Fraction(fixed, beside),
            )
        ),
        reasoning=f"First only ${fixed}\\,\\Omega$ count, then ${fixed + beside}\\,\\Omega$, so the ratio is ${number(ratio)}$.",
        insight="At one end the pair is a plain wire, at the other only the fixed resistor of the pair is left.",
        expression="(V/S)/(V/(S+R))",
        givens={"V": "V", "S": fixed, "R": beside},
    )


_BOUNCES = (
    ("A table-tennis ball flies at ${u}$ m s$^{{-1}}$ towards a heavy bat that moves at ${w}$ m s$^{{-1}}$ to meet it", "ball", "bat"),
    ("A small rubber ball flies at ${u}$ m s$^{{-1}}$ towards the front of a lorry that comes towards it at ${w}$ m s$^{{-1}}$", "ball", "lorry"),
    ("A marble rolls at ${u}$ m s$^{{-1}}$ on a level track towards a heavy truck that comes to meet it at ${w}$ m s$^{{-1}}$", "marble", "truck"),
    ("A light puck slides at ${u}$ m s$^{{-1}}$ on smooth ice towards a very massive block that comes to meet it at ${w}$ m s$^{{-1}}$", "puck", "block"),
)  # fmt: skip


def _bounce(draw: Draw, context: int) -> Draft:
    u, w = draw.whole(2, 12), draw.whole(1, 6)
    setting, light, heavy = _BOUNCES[context]
    factor = Fraction(u + 2 * w, u) ** 2
    wrong = (
        Fraction(u + w, u) ** 2,
        Fraction(u + 2 * w, u),
        Fraction((u + w) ** 2 + w * w, u * u),
        Fraction(1) + Fraction(2 * w, u) ** 2,
    )
    return Draft(
        stem=f"{setting.format(u=u, w=w)}. The collision is perfectly elastic and the mass of the {light} is negligible beside that of the {heavy}. "
        f"By what factor is the kinetic energy of the {light} multiplied?",
        key=plain(number(factor)),
        wrong=tuple(plain(number(one)) for one in wrong),
        reasoning=f"Seen from the {heavy} the {light} comes and goes with ${u + w}$ m s$^{{-1}}$, so it leaves with ${u + 2 * w}$ m s$^{{-1}}$, and the factor is ${number(factor)}$.",
        insight="In the limit of a very large mass, the heavy body's frame is where the light one simply turns round.",
        expression="((u+2*w)/u)**2",
        givens={"u": u, "w": w},
    )


FAMILIES = (
    Family(
        "P5", "easy",
        summary="Two connected bodies accelerate together. Letting one mass become negligible, or the two equal, shows which expression can be right.",
        carrier="two bodies joined by a string",
        constraints=("the string and the pulley are ideal", "both bodies have one acceleration"),
        asked="the common acceleration as a fraction of that of free fall",
        rationale="A limiting case throws out each wrong form at once.",
        paths=(
            "Divides the driving force by one mass alone.",
            "Takes a force for the driving one that does not drive, or leaves one out.",
            "Takes the ratio of the masses for the ratio of the accelerations.",
            "Lets the wrong mass do the driving or be moved.",
        ),
        contexts=4, make=_strings,
    ),
    Family(
        "P5", "medium",
        summary="An element in parallel is taken from no resistance to a very large one. At both ends the circuit becomes a simple one.",
        carrier="a circuit with one variable element",
        constraints=("the battery is ideal", "the variable element lies in parallel to a fixed one"),
        asked="the ratio of the currents at both ends",
        rationale="No general formula is needed if both limits are seen.",
        paths=(
            "Exchanges the two limits.",
            "Lets the wrong resistor be bridged.",
            "Lets the series resistor count in one limit only.",
            "Exchanges the limits and counts one resistor in each.",
        ),
        contexts=4, make=_sensor,
    ),
    Family(
        "P5", "hard",
        summary="A light body meets a very heavy one that moves. In the limit the heavy one does not notice, and in its frame the light one just turns round.",
        carrier="an elastic collision with a very heavy body",
        constraints=("the collision is elastic", "one mass is negligible"),
        asked="the factor by which the light body's kinetic energy grows",
        rationale="The frame has to be changed twice, and energy follows the square of the speed.",
        paths=(
            "Adds the speed of the heavy body only once.",
            "Gives the factor of the speed instead of that of the energy.",
            "Adds kinetic energies seen from two frames.",
            "Squares the two parts of the new speed one by one.",
        ),
        contexts=4, make=_bounce,
    ),
)  # fmt: skip
