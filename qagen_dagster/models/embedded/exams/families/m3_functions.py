"""Families of M3, behaviour of functions from constraints."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, number


def _vertex(draw: Draw, context: int) -> Draft | None:
    h, v, scale = draw.whole(1, 5), draw.whole(-4, 6), draw.whole(1, 3)
    near, far = draw.whole(1, 3), draw.whole(2, 6)
    if near == far or v == 0:
        return None
    sign, extreme = (1, "least") if context % 2 == 0 else (-1, "greatest")
    at, to = (h + near, h - far) if context < 2 else (h - near, h + far)
    q, rise = v + sign * scale * near**2, "(q-v)*((t-h)/(p-h))**2"
    return draft(
        f"The quadratic function $f$ has its {extreme} value ${v}$ at $x={h}$, and $f({at})={q}$. "
        f"What is the value of $f({to})$?",
        form=f"v+{rise}",
        wrong=f"v+(q-v)*{far}/{near}; {rise}; v-{rise}; v+{sign * far**2}",
        reasoning=f"$f(x)=a(x-{h})^2{v:+d}$ with $a={sign * scale}$ from $f({at})={q}$, so $f({to})=KEY$.",
        insight="The vertex form leaves one number to be found.",
        givens={"v": v, "q": q, "t": to, "h": h, "p": at},
    )


def _odd_periodic(draw: Draw, context: int) -> Draft | None:
    period, value, factor = draw.whole(5, 9), draw.whole(3, 8), draw.whole(2, 4)
    inside = draw.whole(1, (period - 1) // 2)
    turns, back = draw.whole(2, 4), draw.whole(1, 3)
    first, second = turns * period - inside, inside - back * period if context < 2 else inside + back * period
    sign, kind, meaning = ((-1, "odd", "f(-x)=-f(x)"), (1, "even", "f(-x)=f(x)"))[context % 2]
    return draft(
        f"The function $f$ is defined for all real $x$. It is {kind}, so that ${meaning}$, and $f(x+{period})=f(x)$ for all $x$. "
        f"Given that $f({inside})={value}$, what is the value of $f({first})+{factor}f({second})$?",
        form="e*v+c*v",
        wrong="c*v-e*v; e*v-c*v; -e*v-c*v; e*v",
        reasoning=f"$f({first})=f(-{inside})={sign * value}$ and $f({second})=f({inside})={value}$, so the sum is $KEY$.",
        insight="Whole periods may be dropped; only then does the symmetry come in.",
        givens={"v": value, "c": factor, "e": sign},
    )


def _functional(draw: Draw, context: int) -> Draft | None:
    k, m, t = draw.whole(2, 4), draw.whole(1, 6), draw.whole(2, 5)
    mirrored = context % 2 == 0
    c = draw.whole(1, 9)
    if mirrored and 2 * t == c:
        return None
    other = Fraction(c - t) if mirrored else Fraction(1, t)
    shown, domain = (f"{c}-x", "all real $x$") if mirrored else ("\\frac{1}{x}", "all $x\\neq 0$")
    right = f"{m}x" if m > 1 else "x"
    return draft(
        f"The function $f$ satisfies $f(x)+{k}f\\left({shown}\\right)={right}$ for {domain}. What is the value of $f({t})$?",
        form="(m*t-k*m*u)/(1-k**2)",
        wrong="m*t/(1+k); (m*t+k*m*u)/(1+k**2); m*t-k*m*u; (m*t-k*m*u)/(1+k**2)",
        reasoning=f"With $x={t}$ and $x={number(other)}$ there are two equations for $f({t})$ and $f\\left({number(other)}\\right)$; "
        f"eliminating the latter gives $f({t})=KEY$.",
        insight="Putting in the partner of the argument gives a second equation in the same two unknowns.",
        givens={"m": m, "t": t, "k": k, "u": other},
    )


FAMILIES = families("M3", _vertex, _odd_periodic, _functional)
