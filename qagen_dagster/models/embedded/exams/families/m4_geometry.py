"""Families of M4, geometry turned into algebra."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, Family, draft, number

_TRIPLES = ((3, 4, 5), (5, 12, 13), (6, 8, 10), (8, 15, 17), (9, 12, 15))


def _farthest(draw: Draw, context: int) -> Draft | None:
    x, y, distance = draw.choice(_TRIPLES)
    radius = draw.whole(1, 7)
    if radius >= distance or 2 * radius == distance:
        return None
    px, py = draw.whole(-3, 3), draw.whole(-3, 3)
    a, b = px + x, py + y * draw.choice((1, -1))
    word, sign, s = ("greatest", "+", 1) if context % 2 == 0 else ("least", "-", -1)
    return draft(
        f"The point $Q$ moves on the circle ${_shifted('x', a)}+{_shifted('y', b)}={radius * radius}$, and $P$ is the point $({px},{py})$. "
        f"What is the {word} possible length of $PQ$?",
        form="sqrt((a-p)**2+(b-q)**2)+s*r",
        key=f"{distance}+s*r",
        wrong=f"{distance}-s*r; {distance}; sqrt({distance}**2+r**2); {x + y}+s*r",
        reasoning=f"The centre is ${distance}$ from $P$ and the radius is ${radius}$, so the length is ${distance}{sign}{radius}=KEY$.",
        insight="The extreme point lies on the line through P and the centre.",
        givens={"a": a, "b": b, "p": px, "q": py, "r": radius, "s": s},
    )


def _shifted(name: str, by: int) -> str:
    return f"{name}^2" if by == 0 else f"({name}{-by:+d})^2"


def _triangle(draw: Draw, context: int) -> Draft | None:
    a, b, slope = draw.whole(1, 6), draw.whole(1, 6), draw.whole(2, 4)
    steep = Fraction(slope) if context < 2 else Fraction(1, slope)
    up = b + steep * a
    return draft(
        f"The straight line through the point $({a},{b})$ with gradient ${number(-steep)}$ meets the coordinate axes at $A$ and $B$, and "
        "$O$ is the origin. What is the area of the triangle $OAB$?",
        form="(b+g*a)**2/(2*g)",
        wrong="(b+g*a)**2/g; a*b/2; (b+g*a)**2/2; (b+g*a)*a/2",
        reasoning=f"The intercepts are ${number(up / steep)}$ and ${number(up)}$, so the area is $KEY$.",
        insight="Both legs of the triangle are intercepts of the one line.",
        givens={"a": a, "b": b, "g": steep},
    )


def _tangents(draw: Draw, context: int) -> Draft | None:
    p, q, radius = draw.whole(2, 12), draw.whole(2, 12), draw.whole(2, 9)
    far, length = p * p + q * q, p * p + q * q - radius * radius
    tangent = isqrt(max(0, length))
    if length <= 0 or tangent**2 != length or tangent == radius:
        return None
    asked, form, key, wrong = (
        ("the area of the quadrilateral $OAPB$", "r*sqrt(p**2+q**2-r**2)", f"r*{tangent}", f"r*{tangent}/2; sqrt(r**2*{far}); {length}; sqrt({length}*{far})"),
        ("the sum of the lengths $PA$ and $PB$", "2*sqrt(p**2+q**2-r**2)", f"2*{tangent}", f"{tangent}; sqrt(4*{far}); 2*{length}; sqrt(4*({far}+r**2))"),
    )[context % 2]  # fmt: skip
    return draft(
        f"The tangents from the point $P({p},{q})$ to the circle $x^2+y^2={radius**2}$ touch it at $A$ and $B$, and $O$ is the origin. "
        f"What is {asked}?",
        form=form,
        key=key,
        wrong=wrong,
        reasoning=f"$OA$ is perpendicular to $PA$, so $PA=\\sqrt{{{far}-{radius**2}}}={tangent}$, and the value is $KEY$.",
        insight="The radius to the point of contact makes a right angle, so the coordinates of A and B are never needed.",
        givens={"p": p, "q": q, "r": radius},
    )


FAMILIES = (
    Family(
        "M4", "easy", _farthest, carrier="a circle given by its equation and a point outside it", asked="the extreme distance",
        summary="A point moves on a circle; its extreme distance from a fixed point is wanted. The centre and the radius tell it, without "
        "any point of the circle being found.",
        constraints=("the moving point stays on the circle", "the distance is extreme"),
        rationale="The line through the centre has to be seen; what follows is one distance and one sum.",
        paths=(
            "Takes the other extreme.",
            "Gives the distance to the centre and leaves the radius out.",
            "Combines distance and radius as if they were at right angles.",
            "Measures the distance to the centre along the axes instead of directly.",
        ),
    ),
    Family(
        "M4", "medium", _triangle, carrier="a straight line and the coordinate axes", asked="the area of the triangle cut off",
        summary="A line is given by a point and its gradient; the triangle it cuts off from the axes has legs that are the intercepts.",
        constraints=("the line passes through the point", "the gradient is negative, so the triangle lies in one quadrant"),
        rationale="Two intercepts have to be found from one gradient, in opposite directions.",
        paths=(
            "Forgets that a triangle is half a rectangle.",
            "Takes the coordinates of the given point for the intercepts.",
            "Takes both intercepts to be equal to the vertical one.",
            "Takes the horizontal coordinate of the given point as the base.",
        ),
    ),
    Family(
        "M4", "hard", _tangents, carrier="a circle about the origin and two tangents", asked="an area or a length made by the tangents",
        summary="Two tangents are drawn to a circle from a point. What is wanted depends on their length alone, which the right angle at "
        "the point of contact gives.",
        constraints=("the lines touch the circle", "both tangents come from one point"),
        rationale="The direct way finds both points of contact from quadratic equations; the right angle makes it one line.",
        paths=(
            "Counts only one of the two equal parts.",
            "Uses the distance of the point from the centre in place of the tangent.",
            "Forgets to take the root of the square of the tangent.",
            "Puts the right angle at the wrong place.",
        ),
    ),
)  # fmt: skip
