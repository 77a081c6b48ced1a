"""Families of M5, trigonometric bounds and extremes."""

from __future__ import annotations

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, settings

_TRIPLES = ((3, 4, 5), (5, 12, 13), (6, 8, 10), (8, 15, 17), (4, 3, 5), (12, 5, 13), (8, 6, 10))


def _fraction(draw: Draw, context: int) -> Draft | None:
    top, base, swing = draw.choice((12, 18, 20, 24, 30, 36)), draw.whole(4, 9), draw.whole(1, 6)
    if swing >= base:
        return None
    word, sign = ("greatest", 1) if context % 2 == 0 else ("least", -1)
    wave = ("\\sin 3x", "\\cos 2x", "\\cos x", "\\sin\\frac{x}{2}")[context]
    return draft(
        f"What is the {word} value of $\\frac{{{top}}}{{{base}+{_front(swing)}{wave}}}$ as $x$ takes all real values?",
        form="a/(b-s*c)",
        wrong="a/(b+s*c); a/b; a/b+s*c; a/c",
        reasoning=f"The denominator lies between ${base - swing}$ and ${base + swing}$, so the value is $KEY$.",
        insight="A fraction with a fixed positive top is largest where its bottom is smallest.",
        givens={"a": top, "b": base, "c": swing, "s": sign},
    )


_WAVES = settings("M5", "medium")


def _sum_of_waves(draw: Draw, context: int) -> Draft | None:
    fives = [one for one in _TRIPLES if one[2] == 5]  # plausible for depths and temperatures
    a, b, size = draw.choice(fives if context < 2 else _TRIPLES)
    c = draw.whole(20, 40)
    setting, sign, asked = _WAVES[context]
    return draft(
        f"{setting.format(a=a, b=b, c=c)}, where $\\theta$ takes all real values. {asked}?",
        form="c+s*sqrt(a**2+b**2)",
        key=f"c+s*{size}",
        wrong=f"c+s*(a+b); c+s*{max(a, b)}; c-s*{size}; c+s*{abs(a - b)}",
        reasoning=f"The two waves combine to one of amplitude $\\sqrt{{{a}^2+{b}^2}}={size}$, so the value is $KEY$.",
        insight="Sine and cosine are never extreme together; the amplitudes add like perpendicular sides.",
        givens={"a": a, "b": b, "c": c, "s": sign},
    )


def _quadratic(draw: Draw, context: int) -> Draft | None:
    a, b = draw.whole(1, 14), draw.whole(1, 7)
    first, second = ("\\sin x", "\\cos^2 x") if context % 2 == 0 else ("\\cos x", "\\sin^2 x")
    peak, edge = ("b+a**2/(4*b)", "a") if a < 2 * b else ("a", "b+a**2/(4*b)")
    if a == 2 * b:
        return None
    word, form, key, wrong = (
        ("greatest", "a*Min(1,a/(2*b))+b*(1-Min(1,a/(2*b))**2)", peak, f"a+b; {edge}; b; sqrt(a**2+b**2)"),
        ("least", "a*(-1)+b*(1-(-1)**2)", "-a", "-a-b; -b-a**2/(4*b); 0; -sqrt(a**2+b**2)"),
    )[context >= 2]
    return draft(
        f"What is the {word} value of ${_front(a)}{first}+{_front(b)}{second}$ as $x$ takes all real values?",
        form=form,
        key=key,
        wrong=wrong,
        reasoning=f"With $t={first}$ the expression is ${b}+{a}t-{b}t^2$ for $-1\\leq t\\leq 1$, and its {word} value there is $KEY$.",
        insight="One square identity makes it a quadratic on a bounded interval.",
        givens={"a": a, "b": b},
    )


def _front(value: int) -> str:
    return "" if value == 1 else str(value)


FAMILIES = families("M5", _fraction, _sum_of_waves, _quadratic)
