"""The item families of the exam schema M2: reverse algebra, and recognition of structure.

A function that takes `context` makes one draft of an item. `context` is the number of the variant, from 0.
"""

from __future__ import annotations

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families


def _reciprocal(draw: Draw, context: int) -> Draft | None:
    k = draw.whole(3, 13)
    sign, shift = (("+", -2), ("-", 2), ("+", -2), ("-", 2))[context]
    scale = (1, 1, 3, 2)[context]
    front = "" if scale == 1 else str(scale)
    squares = f"{front}x^2+\\frac{{{scale}}}{{x^2}}"
    return draft(
        f"The non-zero real number $x$ satisfies $x{sign}\\frac{{1}}{{x}}={k}$. What is the value of ${squares}$?",
        form="c*(k**2+s)",
        wrong="c*k**2; c*(k**2-s); c*2*k; c*(k**2+s/2)",
        reasoning=f"Squaring gives $x^2+\\frac{{1}}{{x^2}}{'+' if shift < 0 else '-'}2={k * k}$, "
        f"so the value is ${front}{'(' if scale > 1 else ''}{k * k}{'-' if shift < 0 else '+'}2{')' if scale > 1 else ''}=KEY$.",
        insight="The square of the given expression holds the wanted one and a constant.",
        givens={"k": k, "c": scale, "s": shift},
    )


_SYMMETRIC = (  # what is asked, its form, its expression in the sum and the product, and the forms of the mistakes
    ("a^2+b^2", "s**2-2*p", "(a+b)^2-2ab", "s**2; ; s**2+2*p; ; s**2-p; s**2-4*p"),
    ("\\frac{1}{a}+\\frac{1}{b}", "s/p", "\\frac{a+b}{ab}", "; 1/s; ; p/s; 1/p; 2/s"),
    ("a^3+b^3", "s**3-3*p*s", "(a+b)^3-3ab(a+b)", "s**3; ; s**3+3*p*s; ; s**3-3*p; s*(s**2-2*p)"),
    ("\\frac{a}{b}+\\frac{b}{a}", "(s**2-2*p)/p", "\\frac{(a+b)^2-2ab}{ab}", "s**2/p; ; (s**2+2*p)/p; ; (s**2-p)/p; (s**2-4*p)/p"),
)  # fmt: skip


def _sum_product(draw: Draw, context: int) -> Draft | None:
    s, p = draw.whole(4, 12), draw.whole(2, 15)
    if s * s <= 4 * p:
        return None
    asked, form, steps, wrong = _SYMMETRIC[context]
    return draft(
        f"The real numbers $a$ and $b$ satisfy $a+b={s}$ and $ab={p}$. What is the value of ${asked}$?",
        form=form,
        wrong=wrong,
        reasoning=f"${asked}={steps}=KEY$.",
        insight="The expression is symmetric, so the sum and the product are enough; neither number is needed.",
        givens={"s": s, "p": p},
    )


_CUBES, _FOURTHS = "k**3; k**3-3; k**3+3*k; k**3-2", "k**4; (k**2-2)**2; (k**2-2)**2+2; k**4-2"
_POWERS = (
    ("x^4+\\frac{1}{x^4}", "(k**2-2)**2-2", _FOURTHS),
    ("x^3+\\frac{1}{x^3}", "k**3-3*k", _CUBES),
    ("\\frac{x^8+1}{x^4}", "(k**2-2)**2-2", _FOURTHS),
    ("\\frac{x^6+1}{x^3}", "k*(k**2-3)", _CUBES),
)


def _quartic(draw: Draw, context: int) -> Draft | None:
    # Contexts 0 and 2 have the same expression. Their items differ because k is odd in 0 and even in 2.
    k = draw.whole(3, 20) if context % 2 else draw.choice((3, 5, 7, 9) if context == 0 else (4, 6, 8, 10))
    asked, form, wrong = _POWERS[context]
    return draft(
        f"The real number $x$ satisfies $x^2-{k}x+1=0$. What is the value of ${asked}$?",
        form=form,
        wrong=wrong,
        reasoning=f"Dividing by $x$ gives $x+\\frac{{1}}{{x}}={k}$; taking the power of both sides and removing the cross terms gives ${asked}=KEY$.",
        insight="Dividing the equation by x turns it into a statement on the sum of x and its reciprocal.",
        givens={"k": k},
    )


FAMILIES = families("M2", _reciprocal, _sum_product, _quartic)
