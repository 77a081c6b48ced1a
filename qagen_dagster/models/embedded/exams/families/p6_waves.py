"""Families of P6, phase and path difference of waves."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, decimal, draft, families, settings

_SPEAKERS = settings("P6", "easy")


def _lowest(draw: Draw, context: int) -> Draft | None:
    setting, speed, what = _SPEAKERS[context]
    gap = Fraction(draw.choice((2, 3, 4, 5, 6, 8, 10, 12, 16, 20)), 4)
    near = Fraction(draw.whole(4, 40), 2)
    if (Fraction(speed) / (2 * gap)).denominator > 2:
        return None
    a, b = decimal(near), decimal(near + gap)
    return draft(
        f"{setting.format(a=a, b=b)}. The waves travel at ${speed}$ m s$^{{-1}}$. What is the lowest frequency for which {what} is a minimum?",
        form="c/(2*(b-a))",
        wrong="c/(b-a); c/(4*(b-a)); c/a/2; c/(a+b)/2; c/b/2",
        show=_short,
        reasoning=f"The path difference of ${decimal(gap)}$ m must be half a wavelength, so the wavelength is ${decimal(2 * gap)}$ m and the frequency $KEY$ Hz.",
        insight="Only the difference of the paths matters, and the first minimum needs half a wavelength of it.",
        givens={"c": speed, "a": a, "b": b},
        unit="Hz",
    )


def _short(value: Fraction) -> str | None:
    """A whole number, or a decimal of at most three figures; None for others, which are no options without a calculator."""
    text = decimal(value) if (value * 20).denominator == 1 else ""
    return text if text and ("." not in text or len(text.replace(".", "").lstrip("0")) <= 3) else None


_PIPES = settings("P6", "medium")


def _resonances(draw: Draw, context: int) -> Draft | None:
    base = draw.choice((20, 30, 40, 50, 60, 70, 80, 90))
    order, step = draw.whole(2, 5), 1 + (context % 2 == 0)  # of a closed pipe, only odd multiples
    number = order if step == 1 else 2 * order - 1
    return draft(
        f"{_PIPES[context]} resonates at ${base * number}$ Hz and at ${base * (number + step)}$ Hz, and at no frequency between the two. What is its lowest resonant frequency?",
        form="q-p" if step == 1 else "(q-p)/2",
        wrong=f"{'(q-p)/2' if step == 1 else 'q-p'}; p; p/{step + 1}; (p+q)/2; 2*(q-p)",
        reasoning=f"Neighbouring resonances differ by {'' if step == 1 else 'twice '}the lowest one; the difference is ${base * step}$ Hz, so it is $KEY$ Hz.",
        insight="The spacing of the resonances tells the lowest one; which multiples occur depends on the ends.",
        givens={"p": base * number, "q": base * (number + step)},
        unit="Hz",
    )


_RINGS = settings("P6", "hard")


def _count(draw: Draw, context: int) -> Draft | None:
    setting, asked, anti, ring = _RINGS[context]
    wave = draw.whole(2, 6)
    ratio = Fraction(draw.whole(5, 22), 4)
    if ratio.denominator == 1 or (2 * ratio).denominator == 1:
        return None
    apart = decimal(wave * ratio)
    whole, half = int(ratio), int(ratio + Fraction(1, 2))
    across, other = (2 * half, 2 * whole + 1) if anti else (2 * whole + 1, 2 * half)
    turns = 2 if ring else 1
    twice = ", and each half of the circle passes all of them: together $KEY$" if ring else ""
    form = "2*floor(d/w+1/2)" if anti else "2*floor(d/w)+1"
    return draft(
        f"{setting.format(d=apart, w=wave)}. {asked}?",
        form=form if not ring else "4*floor(d/w+1/2)" if anti else f"2*({form})",
        key=turns * across,
        wrong=(
            turns * other,
            None if ring else 2 * across,
            across if ring else None,
            half if anti else whole,
            turns * across + 2 * turns,
        ),
        reasoning=f"The path difference runs from $-{decimal(ratio)}$ to ${decimal(ratio)}$ wavelengths, which holds ${across}$ maxima{twice}.",
        insight="Count the whole or half numbers of wavelengths that the path difference can reach, on both sides of zero.",
        givens={"d": apart, "w": wave},
    )


FAMILIES = families("P6", _lowest, _resonances, _count)
