"""Families of P5, limiting cases."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, times

_STRINGS = (
    "Two bodies of masses ${a}m$ and ${b}m$ hang from the ends of a light string over a light smooth pulley and are released",
    "A body of mass ${a}m$ on a smooth table is joined by a light string over a light smooth pulley to a hanging body of mass ${b}m$ and is released",
    "A bucket of mass ${a}m$ and a counterweight of mass ${b}m$ hang on a light rope over a light smooth pulley and are released",
    "A glider of mass ${a}m$ on a level air track is pulled by a light thread that runs over a light smooth pulley to a hanging weight of mass ${b}m$",
)
_LIMITS = (
    ("(b-a)*m*g/((a+b)*m)", "(b-a)/(a+b)", "(b-a)/b; b/(a+b); a/b; (b-a)/a", "For equal masses nothing may move, and without the lighter mass the heavier one must fall freely."),
    ("b*m*g/((a+b)*m)", "b/(a+b)", "b/a; (b-a)/(a+b); a/b; a/(a+b)", "Without the body on the table the hanging one must fall freely, and the table's body must never help or oppose."),
)  # fmt: skip


def _strings(draw: Draw, context: int) -> Draft | None:
    a, b = draw.two(2, 9)
    form, key, wrong, insight = _LIMITS[context % 2]
    value = times(Fraction(b - a if context % 2 == 0 else b, a + b), "g")
    return draft(
        f"{_STRINGS[context].format(a=a, b=b)}{_END}",
        form=form,
        key=key,
        wrong=wrong,
        show=lambda one: times(one, "g"),
        reasoning=f"The driving force over the whole mass gives ${value}$.",
        insight=insight,
        givens={"a": a, "b": b, "m": "m", "g": "g"},
    )


_END = ". The free-fall acceleration is $g$. What is the acceleration of each body?"
_SENSORS = (
    ("light-dependent resistor is kept", "in bright light, where its resistance is negligible", "in the dark, where its resistance is very large"),
    ("thermistor is kept", "very hot, where its resistance is negligible", "very cold, where its resistance is very large"),
    ("variable resistor is", "set to zero", "set to a very large resistance"),
    ("switch is", "closed", "open"),
)  # fmt: skip


def _sensor(draw: Draw, context: int) -> Draft | None:
    low, high = draw.two(2, 12)
    fixed, beside = (low, high) if context % 2 == 0 else (high, low)
    device, small, large = _SENSORS[context]
    return draft(
        f"A resistor of ${beside}\\,\\Omega$ has a {device.split(' is')[0]} in parallel with it. This pair is in series with a resistor of ${fixed}\\,\\Omega$ and an ideal battery. "
        f"First the {device} {small}, then {large}. What is the ratio of the first current in the battery to the second?",
        form="(V/S)/(V/(S+R))",
        key="(S+R)/S",
        wrong="S/(S+R); (S+R)/R; R/S; S/R",
        reasoning=f"First only ${fixed}\\,\\Omega$ count, then ${fixed + beside}\\,\\Omega$, so the ratio is $KEY$.",
        insight="At one end the pair is a plain wire, at the other only the fixed resistor of the pair is left.",
        givens={"V": "V", "S": fixed, "R": beside},
    )


_BOUNCES = (
    ("A table-tennis ball flies at ${u}$ m s$^{{-1}}$ towards a heavy bat that moves at ${w}$ m s$^{{-1}}$ to meet it", "ball", "bat"),
    ("A small rubber ball flies at ${u}$ m s$^{{-1}}$ towards the front of a lorry that comes towards it at ${w}$ m s$^{{-1}}$", "ball", "lorry"),
    ("A marble rolls at ${u}$ m s$^{{-1}}$ on a level track towards a heavy truck that comes to meet it at ${w}$ m s$^{{-1}}$", "marble", "truck"),
    ("A light puck slides at ${u}$ m s$^{{-1}}$ on smooth ice towards a very massive block that comes to meet it at ${w}$ m s$^{{-1}}$", "puck", "block"),
)  # fmt: skip


def _bounce(draw: Draw, context: int) -> Draft | None:
    u, w = draw.whole(2, 12), draw.whole(1, 6)
    setting, light, heavy = _BOUNCES[context]
    return draft(
        f"{setting.format(u=u, w=w)}. The collision is perfectly elastic and the mass of the {light} is negligible beside that of the {heavy}. "
        f"By what factor is the kinetic energy of the {light} multiplied?",
        form="((u+2*w)/u)**2",
        wrong="((u+w)/u)**2; (u+2*w)/u; ((u+w)**2+w**2)/u**2; 1+(2*w/u)**2",
        reasoning=f"Seen from the {heavy} the {light} comes and goes with ${u + w}$ m s$^{{-1}}$, so it leaves with ${u + 2 * w}$ m s$^{{-1}}$, and the factor is $KEY$.",
        insight="In the limit of a very large mass, the heavy body's frame is where the light one simply turns round.",
        givens={"u": u, "w": w},
    )


FAMILIES = families("P5", _strings, _sensor, _bounce)
