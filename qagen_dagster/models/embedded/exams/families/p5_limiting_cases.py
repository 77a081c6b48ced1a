"""Families of P5, limiting cases."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, settings, times

_STRINGS = settings("P5", "easy")
_LIMITS = (
    ("(b-a)*m*g/((a+b)*m)", "(b-a)/(a+b)", "(b-a)/b; b/(a+b); ; a/b; (b-a)/a", "For equal masses nothing may move, and without the lighter mass the heavier one must fall freely."),
    ("b*m*g/((a+b)*m)", "b/(a+b)", "b/a; ; (b-a)/(a+b); a/b; ; a/(a+b)", "Without the body on the table the hanging one must fall freely, and the table's body must never help or oppose."),
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
_SENSORS = settings("P5", "medium")


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


_BOUNCES = settings("P5", "hard")


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
