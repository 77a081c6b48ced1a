"""The item families of the exam schema M1: hidden proportionality and scaling.

A function that takes `context` makes one draft of an item. `context` is the number of the variant, from 0.
"""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, decimal, draft, families, settings

_SOLIDS = settings("M1", "easy")


def _similar(draw: Draw, context: int) -> Draft | None:
    these, one, unit, sizes = _SOLIDS[context]
    small, large = draw.choice(((2, 3), (3, 4), (3, 5), (2, 5), (4, 5)))
    size, mass = draw.choice(sizes), draw.whole(1, 4) * small**3
    return draft(
        f"{these} are mathematically similar and made of the same material. Their heights are ${small * size}$ cm and ${large * size}$ cm. "
        f"The shorter {one} has mass ${mass}$ {unit}. What is the mass of the taller {one}?",
        form="m*(b/a)**3",
        wrong="m*b/a; m*(b/a)**2; m+b-a; m*(3*b/a-2)",
        reasoning=f"Lengths are in the ratio {small}:{large}, so masses are in the ratio {small**3}:{large**3}, and "
        f"${mass}\\times\\frac{{{large**3}}}{{{small**3}}}=KEY$.",
        insight="Mass goes with volume, and volume with the cube of any length.",
        givens={"m": mass, "a": small * size, "b": large * size},
        unit=unit,
    )


_LAWS = settings("M1", "medium")


def _law(draw: Draw, context: int) -> Draft | None:
    subject, result, squared, rooted = _LAWS[context]
    first, base = draw.whole(2, 9), draw.whole(2, 7)
    return draft(
        f"{subject} is directly proportional to the square of ${squared}$ and inversely proportional to the square root of "
        f"${rooted}$. ${squared}$ is multiplied by ${first}$ and ${rooted}$ is multiplied by ${base**2}$. "
        f"By what factor is ${result}$ multiplied?",
        form="a**2/sqrt(b)",
        key=f"a**2/{base}",
        wrong=f"a**2/b; a/{base}; a**2*{base}; a**2/b**2",
        reasoning=f"The factor is $\\frac{{{first}^2}}{{\\sqrt{{{base**2}}}}}=KEY$.",
        insight="Only the factors matter: each goes into the law with its own power.",
        givens={"a": first, "b": base**2},
    )


_SMALLER, _LARGER = range(3, 10), (11, 12, 13, 14, 15, 20)  # the new length in tenths of the old length
_EITHER = (*_SMALLER, *_LARGER)
_BODIES = (  # the first four ask for the volume, the others for the area
    ("The surface area of a spherical balloon", "its volume", _EITHER),
    ("The surface area of a melting cube of ice", "its volume", _SMALLER),
    ("A tank is replaced by a mathematically similar one. The surface area", "its volume", _EITHER),
    ("The surface area of a spherical soap bubble", "the volume inside it", _LARGER),
    ("The volume of a spherical balloon", "its surface area", _EITHER),
    ("The volume of a melting cube of ice", "its surface area", _SMALLER),
    ("A tank is replaced by a mathematically similar one. The volume", "its surface area", _EITHER),
    ("The volume inside a spherical soap bubble", "its surface area", _LARGER),
)


def _area_and_volume(draw: Draw, context: int) -> Draft | None:
    start, end, scales = _BODIES[context]
    given, asked = (2, 3) if context < 4 else (3, 2)
    tenths = draw.choice(scales)
    length, word = Fraction(tenths, 10), "increase" if tenths > 10 else "decrease"
    change, by_length = abs(length**given - 1) * 100, abs(length - 1) * 100
    key = abs(length**asked - 1) * 100
    wrong = (
        change * Fraction(asked, given),
        change,
        asked * by_length,
        by_length,
        abs(length**4 - 1) * 100,
        length**asked * 100,
    )
    names = {2: "areas", 3: "volumes"}
    return draft(
        f"{start} {word}s by ${decimal(change)}\\%$. By what percentage does {end} {word}?",
        form=f"Abs((1+s*p/100)**Rational({asked},{given})-1)*100",
        key=key,
        wrong=wrong,
        show=lambda one: decimal(one) if one == key or _is_plausible(one, tenths > 10) else None,
        reasoning=f"{names[given].capitalize()} are multiplied by ${decimal(length**given)}$, so lengths by ${decimal(length)}$ and "
        f"{names[asked]} by ${decimal(length)}^{asked}={decimal(length**asked)}$.",
        insight="Go to the length first, and from there to what is asked for.",
        givens={"p": decimal(change), "s": "1" if tenths > 10 else "-1"},
        unit="%",
    )


def _is_plausible(value: Fraction, growing: bool) -> bool:
    """Whether a percentage can be an option: it is a short decimal, and nothing shrinks by 100 % or more."""
    digits = str(value.numerator * 100 // value.denominator).strip("0")
    return (value * 100).denominator == 1 and len(digits) <= 4 and (growing or value < 100)


FAMILIES = families("M1", _similar, _law, _area_and_volume)
