"""Families of P7, equilibrium under several constraints."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, number, settings

_BEAMS = settings("P7", "easy")


def _beam(draw: Draw, context: int) -> Draft | None:
    length, at = draw.whole(3, 8), draw.whole(2, 7)
    what, fixed, rope, hung, scale = _BEAMS[context]
    weight, load = 20 * scale * draw.whole(2, 9), 10 * scale * draw.whole(2, 12)
    if at >= length or (weight * length // 2 + load * length) % at:
        return None
    return draft(
        f"{what} of weight ${weight}$ N and length ${length}$ m is {fixed} at one end and kept horizontal by a {rope} ${at}$ m from that end. {hung} of weight ${load}$ N is at "
        f"its free end. What is the tension in the {rope.split()[1]}?",
        form="(W*L/2+w*L)/d",
        wrong="W+w; w*L/d; (W+w)*L/d; (W*L/2+w*L)/L",
        reasoning=f"Moments about the hinge: $T\\times{at}={weight}\\times{number(Fraction(length, 2))}+{load}\\times{length}$, so $T=KEY$ N.",
        insight="Taking moments about the hinge keeps its unknown force out.",
        givens={"W": weight, "L": length, "w": load, "d": at},
        unit="N",
    )


_COEFFICIENT = (
    "What is the least coefficient of friction between the ladder and the ground for which it stays at rest?"
)


def _ladder(draw: Draw, context: int) -> Draft | None:
    foot, top, weight = *draw.two(2, 8), 20 * draw.whole(3, 12)
    if context % 2 and weight * foot % (2 * top):
        return None
    given: dict[str, Fraction | int | str] = {"a": foot, "h": top}
    ladder, asked, form, wrong, given, unit = (
        ("A uniform ladder", _COEFFICIENT, "a/(2*h)", "a/h; h/(2*a); ; a/(4*h); h/a", given, ""),
        (f"A uniform ladder of weight ${weight}$ N", "What is the force of friction on its foot?", "W*a/(2*h)", "W*a/h; W*h/(2*a); W/2; W*a/(4*h)", {**given, "W": weight}, "N"),
    )[context % 2]  # fmt: skip
    place = "a smooth vertical wall" if context < 2 else "the smooth side of a building"
    return draft(
        f"{ladder} stands on rough level ground and leans against {place}. Its foot is ${foot}$ m from the wall and its top ${top}$ m above the ground. {asked}",
        form=form,
        wrong=wrong,
        reasoning=f"Moments about the foot: the wall pushes with $\\frac{{1}}{{2}}\\times\\frac{{{foot}}}{{{top}}}$ of the weight, and friction balances it, so the value is $KEY$.",
        insight="The smooth wall can only push horizontally, so friction equals that push and the ground carries the whole weight.",
        givens=given,
        unit=unit,
    )


_CRATES = ("crate", "cupboard", "block of stone", "refrigerator")


def _tipping(draw: Draw, context: int) -> Draft | None:
    base, friction = (
        10 * draw.whole(4, 12),
        Fraction(*draw.choice(((1, 4), (2, 5), (3, 10), (1, 2), (3, 5), (1, 5), (1, 3)))),
    )
    limit, height = base / (2 * friction), 10 * draw.whole(10, 24)
    if limit.denominator != 1 or limit >= height or base >= height:
        return None
    what, half = _CRATES[context], number(Fraction(base, 2))
    return draft(
        f"A uniform rectangular {what} of height ${height}$ cm and width ${base}$ cm stands on a level floor. The coefficient of friction is ${number(friction)}$. A horizontal force, slowly increased, is "
        f"applied at right angles to one side. What is the greatest height above the floor at which it can act so that the {what.split()[0]} slides before it tips over?",
        form="b/(2*k)",
        wrong=f"b/k; {height}/2; b*k/2; b/2",
        reasoning=f"It slides at $F=\\mu W$ and tips at $Fh=W\\times{half}$, so $h={half}\\div{number(friction)}=KEY$.",
        insight="Both limits are proportional to the weight, so it cancels, and the height of the body does not enter.",
        givens={"b": base, "k": friction},
        unit="cm",
    )


FAMILIES = families("P7", _beam, _ladder, _tipping)
