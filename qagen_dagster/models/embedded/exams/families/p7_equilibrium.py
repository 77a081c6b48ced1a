"""Families of P7, equilibrium under several constraints."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, Family, number, plain, united

_BEAMS = (
    ("A uniform beam", "hinged to a wall", "vertical rope", "A sign", 1),
    ("A uniform drawbridge", "hinged at the gate", "vertical chain", "A cart", 40),
    ("A uniform shelf", "hinged to a wall", "vertical wire", "A parcel", 1),
    ("A uniform gangway", "hinged to a quay", "vertical cable", "A crate", 10),
)


def _beam(draw: Draw, context: int) -> Draft | None:
    length, at = draw.whole(3, 8), draw.whole(2, 7)
    what, fixed, rope, hung, scale = _BEAMS[context]
    weight, load = 20 * scale * draw.whole(2, 9), 10 * scale * draw.whole(2, 12)
    if at >= length:
        return None
    turning = Fraction(weight * length, 2) + load * length
    value = turning / at
    if value.denominator != 1:
        return None
    wrong = (
        weight + load,
        Fraction(load * length, at),
        Fraction((weight + load) * length, at),
        turning / length,
    )
    return Draft(
        stem=f"{what} of weight ${weight}$ N and length ${length}$ m is {fixed} at one end and kept horizontal by a {rope} ${at}$ m from that end. {hung} of weight ${load}$ N is at "
        f"its free end. What is the tension in the {rope.split()[1]}?",
        key=united(number(value), "N"),
        wrong=tuple(united(number(one), "N") for one in wrong),
        reasoning=f"Moments about the hinge: $T\\times{at}={weight}\\times{number(Fraction(length, 2))}+{load}\\times{length}$, so $T={number(value)}$ N.",
        insight="Taking moments about the hinge keeps its unknown force out.",
        expression="(W*L/2+w*L)/d",
        givens={"W": weight, "L": length, "w": load, "d": at},
        unit="N",
    )


def _ladder(draw: Draw, context: int) -> Draft | None:
    foot, top, scale = *draw.two(2, 8), 20 * draw.whole(3, 12)
    horizontal = Fraction(scale * foot, 2 * top)
    least = context % 2 == 0
    value = Fraction(foot, 2 * top) if least else horizontal
    if not least and value.denominator != 1:
        return None
    if least:
        wrong = (Fraction(foot, top), Fraction(top, 2 * foot), Fraction(foot, 4 * top), Fraction(top, foot))
        asked, stated = (
            "What is the least coefficient of friction between the ladder and the ground for which it stays at rest?",
            "A uniform ladder",
        )
    else:
        wrong = (
            Fraction(scale * foot, top),
            Fraction(scale * top, 2 * foot),
            Fraction(scale, 2),
            Fraction(scale * foot, 4 * top),
        )
        asked, stated = (
            "What is the force of friction on its foot?",
            f"A uniform ladder of weight ${scale}$ N",
        )
    place = (
        "a smooth vertical wall",
        "a smooth vertical wall",
        "the smooth side of a building",
        "the smooth side of a building",
    )[context]
    return Draft(
        stem=f"{stated} stands on rough level ground and leans against {place}. Its foot is ${foot}$ m from the wall and its top ${top}$ m above the ground. {asked}",
        key=plain(number(value)) if least else united(number(value), "N"),
        wrong=tuple(plain(number(one)) if least else united(number(one), "N") for one in wrong),
        reasoning=f"Moments about the foot: the wall pushes with $\\frac{{1}}{{2}}\\times\\frac{{{foot}}}{{{top}}}$ of the weight, and friction balances it, so the value is ${number(value)}$.",
        insight="The smooth wall can only push horizontally, so friction equals that push and the ground carries the whole weight.",
        expression="a/(2*h)" if least else "W*a/(2*h)",
        givens={"a": str(foot), "h": str(top)} | ({} if least else {"W": str(scale)}),
        unit="" if least else "N",
    )


_CRATES = (
    ("A uniform rectangular crate", "crate"),
    ("A uniform rectangular cupboard", "cupboard"),
    ("A uniform rectangular block of stone", "block"),
    ("A uniform rectangular refrigerator", "refrigerator"),
)


def _tipping(draw: Draw, context: int) -> Draft | None:
    base, friction = (
        10 * draw.whole(4, 12),
        Fraction(*draw.choice(((1, 4), (2, 5), (3, 10), (1, 2), (3, 5), (1, 5), (1, 3)))),
    )
    limit = base / (2 * friction)
    height = 10 * draw.whole(10, 24)
    if limit.denominator != 1 or limit >= height or base >= height:
        return None
    what, one = _CRATES[context]
    wrong = (base / friction, Fraction(height, 2), base * friction / 2, Fraction(base, 2))
    return Draft(
        stem=f"{what} of height ${height}$ cm and width ${base}$ cm stands on a level floor. The coefficient of friction is ${number(friction)}$. A horizontal force, slowly increased, is "
        f"applied at right angles to one side. What is the greatest height above the floor at which it can act so that the {one} slides before it tips over?",
        key=united(number(limit), "cm"),
        wrong=tuple(united(number(one_), "cm") for one_ in wrong),
        reasoning=f"It slides at $F=\\mu W$ and tips at $Fh=W\\times{number(Fraction(base, 2))}$, so $h={number(Fraction(base, 2))}\\div{number(friction)}={number(limit)}$.",
        insight="Both limits are proportional to the weight, so it cancels, and the height of the body does not enter.",
        expression="b/(2*k)",
        givens={"b": base, "k": friction},
        unit="cm",
    )


FAMILIES = (
    Family(
        "P7", "easy",
        summary="A beam is held level by a hinge and a rope. Moments about the hinge give the rope's force, while the hinge's force never appears.",
        carrier="a loaded beam on a hinge",
        constraints=("moments balance", "forces balance", "the beam's own weight acts at its middle"),
        asked="the tension in the rope",
        rationale="One equation of moments, once the right point is chosen.",
        paths=(
            "Lets the rope carry all weights, as if there were no hinge.",
            "Leaves out the weight of the beam.",
            "Lets the weight of the beam act at its end.",
            "Lets the rope act at the free end.",
        ),
        contexts=4, make=_beam,
    ),
    Family(
        "P7", "medium",
        summary="A ladder leans against a smooth wall. Moments about the foot give the push of the wall, and the friction at the foot must balance it.",
        carrier="a ladder between ground and wall",
        constraints=("the wall is smooth", "moments and forces balance"),
        asked="the friction at the foot or the coefficient it needs",
        rationale="Three conditions hold at once, and the order in which they are used decides how long it takes.",
        paths=(
            "Lets the weight act at the top of the ladder.",
            "Exchanges the two lever arms.",
            "Shares the weight between ground and wall or halves the lever arm twice.",
            "Takes a single slope of the ladder for the answer or for half of it.",
        ),
        contexts=4, make=_ladder,
    ),
    Family(
        "P7", "hard",
        summary="A body that is pushed may slide or tip. Both limits are found for the same force, and the height at which they coincide divides the two.",
        carrier="a rectangular body that is pushed",
        constraints=("the force grows until something happens", "friction limits sliding", "the edge limits tipping"),
        asked="the greatest height of the force for which it slides first",
        rationale="Two limits have to be compared although neither the weight nor the force is known.",
        paths=(
            "Lets the weight act above the far side instead of the middle.",
            "Takes the height of the centre of gravity for the limit.",
            "Multiplies by the coefficient of friction instead of dividing.",
            "Lets the body tip when the force acts as high as half the width.",
        ),
        contexts=4, make=_tipping,
    ),
)  # fmt: skip
