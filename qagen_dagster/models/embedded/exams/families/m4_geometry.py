"""Families of M4, geometry turned into algebra."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, number

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
    p, q, radius = draw.whole(2, 16), draw.whole(2, 16), draw.whole(2, 14)
    far, length = p * p + q * q, p * p + q * q - radius * radius
    tangent = isqrt(max(0, length))
    if length <= 0 or tangent**2 != length or radius in (p, q, tangent):
        return (
            None  # with a coordinate of P for the radius, one tangent is parallel to an axis and seen at once
        )
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


FAMILIES = families("M4", _farthest, _triangle, _tangents)
