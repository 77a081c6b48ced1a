"""Families of M6, counting and summation by structure."""

from __future__ import annotations

from fractions import Fraction
from math import comb, lcm

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, settings

_GROUPS = settings("M6", "easy")


def _groups(draw: Draw, context: int) -> Draft | None:
    groups, size = draw.whole(3, 9), draw.whole(2, 8)
    of, things, rule, asked = _GROUPS[context]
    start = "There are" if context != 1 else "At a party there are"
    return draft(
        f"{start} ${groups}$ {of} with ${size}$ {things} each. {rule}. How many {asked} altogether?",
        form="binomial(g,2)*n**2",
        key="g*(g-1)/2*n**2",
        wrong="g*n*(g*n-1)/2; g*(g-1)*n**2; g*(g-1)/2*n; g*n*(g*n-1)/2-g",
        reasoning=f"There are ${comb(groups, 2)}$ pairs of {of}, and each gives ${size}\\times{size}$, together $KEY$.",
        insight="Count pairs of groups first; each pair of groups gives the same number.",
        givens={"g": groups, "n": size},
    )


def _telescope(draw: Draw, context: int) -> Draft | None:
    top, start = draw.choice((1, 2, 3, 6, 12)), draw.whole(1, 4)
    end = start + draw.whole(5, 20)
    step = 1 if context < 2 else 2
    scale = Fraction(top, step)
    head = sum(Fraction(1, start + place) for place in range(step))
    tail = sum(Fraction(1, end + place + 1) for place in range(step))
    short = scale * (head - sum(Fraction(1, end + place) for place in range(step)))
    wrong = (
        (short, top * (1 - tail), scale * head, top * (head + tail))
        if step == 1
        else (
            short,
            scale * (Fraction(1, start) - Fraction(1, end + 2)),
            scale * head,
            None,
            top * (head - tail),
        )
    )
    if (scale * (head - tail)).denominator > 80:
        return None  # needs a calculator
    return draft(
        f"What is the value of $\\sum_{{r={start}}}^{{{end}}}\\frac{{{top}}}{{r(r+{step})}}$?",
        form="Sum(c/(r*(r+d)),(r,a,b))",
        key=scale * (head - tail),
        wrong=wrong,
        reasoning=f"$\\frac{{1}}{{r(r+{step})}}={'' if step == 1 else chr(92) + 'frac{1}{2}'}\\left(\\frac{{1}}{{r}}-\\frac{{1}}{{r+{step}}}\\right)$, so all but "
        "the first and last terms cancel and $KEY$ remains.",
        insight="Each term is a difference, and neighbours cancel.",
        givens={"c": top, "a": start, "b": end, "d": step},
    )


_TOGGLES = settings("M6", "hard")


def _toggles(draw: Draw, context: int) -> Draft | None:
    p, q = draw.choice(((6, 8), (6, 10), (6, 14), (8, 10), (9, 12), (9, 15), (12, 15), (12, 16)))
    both = lcm(p, q)
    n = both * draw.whole(3, 8)
    if n > 600:
        return None
    setting, one, asked, does = _TOGGLES[context]
    return draft(
        f"{setting.format(n=n)}. One person {does} every {one} whose number is a multiple of ${p}$; then a second person {does} "
        f"every {one} whose number is a multiple of ${q}$. How many {asked}?",
        form="n/p+n/q-2*n/lcm(p,q)",
        key=f"n/p+n/q-2*n/{both}",
        wrong=f"n/p+n/q-n/{both}; n/p+n/q; n/p; n/{both}",
        reasoning=f"There are ${n // p}$ multiples of ${p}$ and ${n // q}$ of ${q}$; the ${n // both}$ multiples of ${both}$ are counted in both and "
        f"are changed back, so ${n // p}+{n // q}-2\\times{n // both}=KEY$.",
        insight="What is changed twice is as it was, and being a multiple of both means being one of the least common multiple.",
        givens={"n": n, "p": p, "q": q},
    )


FAMILIES = families("M6", _groups, _telescope, _toggles)
