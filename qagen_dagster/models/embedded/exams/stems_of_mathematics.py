"""Answers the stems of exam items on mathematics. A stem is the text of a question without its options.

A function that answers a kind of stem gets the numbers of the stem in their order. Most of these functions
search, count, iterate or solve equations. So they do not repeat the formulas in `families/`, which makes the
stems. `solve` is the entry point for mathematics and physics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from qagen_dagster.mathematics.floats import float_of
from qagen_dagster.models.embedded.exams.stems_of_physics import (
    PHYSICS,
    Method,
    Solved,
    best,
    by_form,
    method,
)

_Answer = Callable[..., Solved | None]  # gets the numbers of a stem


def solve(stem: str) -> Solved | None:
    """The answer of the first method that matches the stem and has an answer; None if no method does."""
    for one in (*MATHEMATICS, *PHYSICS):
        found = one.solve(stem)
        if found is not None:
            return found
    return None


def _of_root(power: int, sign: int, scale: str = "1") -> _Answer:
    """Returns a function that computes scale * (x^power + x^-power), where x + sign/x = a."""
    x = f"((a+sqrt(a*a-4*({sign})))/2)"
    return by_form(f"{scale}*({x}**{power}+{x}**(-{power}))", "solved for x and evaluated")


def _of_pair(form: str) -> _Answer:
    """Returns a function that computes a form of the numbers x and y with the sum a and the product b."""
    x, y = "((a+sqrt(a*a-4*b))/2)", "((a-sqrt(a*a-4*b))/2)"
    return by_form(
        form.replace("x", x).replace("y", y), "found both numbers as roots of a quadratic and evaluated"
    )


def _extreme(form: str, low: str, high: str, how: str, word: str = "greatest") -> _Answer:
    """Returns a function that computes the extreme value of a form of the numbers and x, for x between two forms of the numbers.

    `word` is "greatest" or "least".
    """

    def answer(*numbers: float) -> Solved:
        names = dict(zip("abcde", numbers, strict=False))
        ends = float_of(low, names), float_of(high, names)
        value = best(lambda x: float_of(form, {**names, "x": x}), *ends, greatest=word == "greatest")
        return Solved(value, how)

    return answer


def _scanned(form: str, word: str, high: str = "2*pi") -> _Answer:
    return _extreme(form, "0", high, "scanned a whole period", word)


def _periodic(sign: float) -> _Answer:
    """Returns a function that computes f(first) + factor * f(second) for a periodic f with f(at) = value.

    `sign` is 1 if f is even, and -1 if f is odd.
    """

    def answer(
        period: float, at: float, value: float, first: float, factor: float, second: float
    ) -> Solved | None:
        def look(x: float) -> float | None:
            if (x - at) % period == 0:
                return value
            return sign * value if (-x - at) % period == 0 else None

        left, right = look(first), look(second)
        if left is None or right is None:
            return None
        return Solved(left + factor * right, "moved each argument by whole periods, mirrored where needed")

    return answer


def _tangents(*, area: bool) -> Callable[[float, float, float], Solved]:
    """Returns a function for the two tangents from (p, q) to the circle x^2 + y^2 = square.

    It computes the sum of their lengths, or if `area` is true, the area of the quadrilateral between them and
    the two radii.
    """

    def answer(p: float, q: float, square: float) -> Solved:
        # The polar line p x + q y = square meets the circle in the points of contact (ax, ay) and (bx, by).
        d = p * p + q * q
        foot = square / d
        half = math.sqrt(square - square * square / d) / math.sqrt(d)
        ax, ay, bx, by = foot * p - half * q, foot * q + half * p, foot * p + half * q, foot * q - half * p
        if not area:
            return Solved(
                math.hypot(p - ax, q - ay) + math.hypot(p - bx, q - by), "found both points of contact"
            )
        shoelace = ax * q - p * ay + p * by - bx * q
        return Solved(abs(shoelace) / 2, "found both points of contact and took the area from coordinates")

    return answer


def _pairs(groups: float, size: float) -> Solved:
    members = [group for group in range(int(groups)) for _ in range(int(size))]
    return Solved(
        sum(a != b for a, b in combinations(members, 2)), "listed all pairs and left out those within a group"
    )


def _sum(start: float, end: float, top: float, step: float) -> Solved:
    return Solved(
        math.fsum(top / (r * (r + step)) for r in range(int(start), int(end) + 1)), "added the terms"
    )


def _switched(count: float, p: float, q: float) -> Solved:
    """How many of the lamps 1 to `count` are on after all multiples of p, then all of q were switched."""
    state = [False] * (int(count) + 1)
    for step in (int(p), int(q)):
        for place in range(step, int(count) + 1, step):
            state[place] = not state[place]
    return Solved(sum(state), "went through all numbers twice")


_WAVES = (
    (r"\sin 3x", "sin(3*x)"),
    (r"\cos 2x", "cos(2*x)"),
    (r"\cos x", "cos(x)"),
    (r"\sin\frac{x}{2}", "sin(x/2)"),
)
_EXTREMES = ("greatest", "least")
_ON_CIRCLE = "sqrt((sqrt(c)*cos(x)-a-d)**2+(sqrt(c)*sin(x)-b-e)**2)"  # the distance of a point of the circle
_FENCE = _extreme(
    "x*(a-2*x)", "0", "a", "tried all depths"
)  # one fence is parallel to the wall, and the others lead to it
_DIVIDED = _extreme("x*(a-(b+1)*x)", "0", "a", "tried all depths")  # into b parts
_CORNER = _extreme("x*b*(1-x/a)", "0", "a", "tried all places of the free corner")
_COST = "2*b*sqrt(a)*exp(x)+2*c*sqrt(a)*exp(-x)"  # of a rectangle of the area a, whose sides cost b and c per metre
_CUBE = "took a unit cube, scaled it, and compared faces and volumes"
_CRAMER = "wrote the equation at both arguments and used Cramer's rule"
_CUBED = (
    ("urface area", "", "3/2"),
    ("olume", "its surface area", "2/3"),
)  # what is given, asked, and its power


MATHEMATICS: tuple[Method, ...] = (
    method("Their heights are $#$ cm and $#$ cm. The shorter ... has mass $#$", by_form("c/a**3*b**3", "mass over the cube of the height is the same for both solids")),
    method("is multiplied by $#$ and ... is multiplied by $#$. By what factor", by_form("(3*a)**2/sqrt(5*b)/(3**2/sqrt(5))", "evaluated the law before and after for trial values")),
    *(method(f"{place}...{word} by $#\\%$. By what percentage does {asked}", by_form(f"Abs((1{sign}a/100)**({power})-1)*100", _CUBE)) for place, asked, power in _CUBED for word, sign in (("increases", "+"), ("decreases", "-"))),
    *(method(f"satisfies $x{sign}\\frac{{1}}{{x}}=#$. What is the value of ${front}x^2", _of_root(2, one, scale)) for sign, one in (("+", 1), ("-", -1)) for front, scale in (("", "1"), ("#", "b"))),
    *(method(f"satisfies $x^2-#x+1=0$. What is the value of ${asked}$", _of_root(power, 1)) for asked, power in ((r"x^4+\frac{1}{x^4}", 4), (r"x^3+\frac{1}{x^3}", 3), (r"\frac{x^8+1}{x^4}", 4), (r"\frac{x^6+1}{x^3}", 3))),
    *(method(f"satisfy $a+b=#$ and $ab=#$. What is the value of ${asked}$", _of_pair(form)) for asked, form in (("a^2+b^2", "x**2+y**2"), ("a^3+b^3", "x**3+y**3"), (r"\frac{1}{a}+\frac{1}{b}", "1/x+1/y"), (r"\frac{a}{b}+\frac{b}{a}", "x/y+y/x"))),
    method("value $#$ at $x=#$, and $f(#)=#$. What is the value of $f(#)$", by_form("a+(d-a)*((e-b)/(c-b))**2", "found the scale of the squared distance from the vertex")),
    *(method(f"It is {kind},...$f(x+#)=f(x)$...$f(#)=#$, what is the value of $f(#)+#f(#)$", _periodic(sign)) for kind, sign in (("odd", -1), ("even", 1))),
    method(r"satisfies $f(x)+#f\left(#-x\right)=§x$ for all...What is the value of $f(#)$", by_form("(c*d-a*c*(b-d))/(1-a*a)", _CRAMER)),
    method(r"satisfies $f(x)+#f\left(\frac{1}{x}\right)=§x$ for all...What is the value of $f(#)$", by_form("(b*c-a*b/c)/(1-a*a)", _CRAMER)),
    *(method(f"on the circle $~x+~y=#$, and $P$ is the point $(#,#)$. What is the {word} possible", _extreme(_ON_CIRCLE, "0", "2*pi", "went round the circle and measured", word)) for word in _EXTREMES),
    method("line through the point $(#,#)$ with gradient $#$ meets", by_form("Abs((a-b/c)*(b-c*a))/2", "found where the line meets the axes")),
    method("from the point $P(#,#)$ to the circle $x^2+y^2=#$...area of the quadrilateral", _tangents(area=True)),
    method("from the point $P(#,#)$ to the circle $x^2+y^2=#$...sum of the lengths", _tangents(area=False)),
    *(method(f"What is the {word} value of $\\frac{{#}}{{#+§{shown}}}$", _scanned(f"a/(b+c*{wave})", word, "4*pi")) for word in _EXTREMES for shown, wave in _WAVES),
    method(r"$d=#+#\sin\theta+#\cos\theta$...greatest", _scanned("a+b*sin(x)+c*cos(x)", "greatest")),
    method(r"$T=#+#\cos\theta-#\sin\theta$...lowest", _scanned("a-c*sin(x)+b*cos(x)", "least")),
    method(r"$f(\theta)=#+#\sin\theta-#\cos\theta$...greatest", _scanned("a+b*sin(x)-c*cos(x)", "greatest")),
    method(r"$g(\theta)=#-#\cos\theta-#\sin\theta$...least", _scanned("a-c*sin(x)-b*cos(x)", "least")),
    *(method(f"What is the {word} value of $§\\{one} x+§\\{other}^2 x$", _scanned(f"a*{one}(x)+b*{other}(x)**2", word)) for word in _EXTREMES for one, other in (("sin", "cos"), ("cos", "sin"))),
    method("re are $#$ ... with $#$ ... each. ... altogether?", _pairs),
    method(r"$\sum_{r=#}^{#}\frac{#}{r(r+#)}$", _sum),
    method("numbered from $1$ to $#$...a multiple of $#$; then...a multiple of $#$. How many", _switched),
    method("$#$ m of ... runs at right angles to ... into $#$ equal parts", _DIVIDED),
    *(method(where, _FENCE) for where in ("farmer has $#$ m of fencing for a rectangular pen. One side", "by $#$ m of rope; the beach", "by $#$ m of railing; the side", "$#$ m of edging round a rectangular bed; the side")),
    *(method(f"{sides}...What is the greatest possible area", _CORNER) for sides in ("of $#$ cm and $#$ cm. A rectangle is cut...right angle", "of $#$ cm and $#$ cm at right angles", "shorter sides of $#$ cm and $#$ cm", "measures $#$ cm and $#$ cm along the walls")),
    method("of area $#$ m$^2$...costs £$#$ per metre, on the other pair £$#$ per metre. What is the least", _extreme(_COST, "-4", "4", "tried all shapes of the given area", "least")),
)  # fmt: skip
