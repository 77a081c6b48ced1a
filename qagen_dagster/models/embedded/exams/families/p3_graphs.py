"""Families of P3, graphs read as physics. Words describe the graphs, so that items need no pictures."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, draft, families, number, settings

_JOURNEYS = settings("P3", "easy")


def _trapezium(draw: Draw, context: int) -> Draft | None:
    setting, between, speeds = _JOURNEYS[context]
    speed, rise, level, fall = draw.choice(speeds), draw.whole(4, 15), draw.whole(8, 30), draw.whole(3, 12)
    if rise == fall or speed > 2 * min(rise, fall):
        return None
    return draft(
        f"The speed of {setting} is shown on a graph against time. The line rises straight from zero to ${speed}$ m s$^{{-1}}$ in ${rise}$ s, is level for ${level}$ s, and falls straight to zero in "
        f"${fall}$ s. How far apart are {between}?",
        form="v*a/2+v*b+v*c/2",
        wrong="v*(a+b+c); v*b; v*(a+b+c)/2; v*b+v*a/2",
        reasoning=f"The area under the graph is $\\frac{{1}}{{2}}\\times{speed}\\times{rise}+{speed}\\times{level}+\\frac{{1}}{{2}}\\times{speed}\\times{fall}=KEY$.",
        insight="Distance is the area under the line, and the sloping parts count half.",
        givens={"v": speed, "a": rise, "b": level, "c": fall},
        unit="m",
    )


_PUSHES = settings("P3", "medium")


def _work(draw: Draw, context: int) -> Draft | None:
    mass, speed = draw.choice((2, 4, 6, 8)), draw.whole(2, 6)
    force, first = 2 * draw.whole(2, 9), draw.whole(1, 6)
    work = Fraction(mass * speed**2, 2)
    second = (work - Fraction(force * first, 2)) / force
    if second.denominator != 1 or second <= 0:
        return None
    setting, body = _PUSHES[context]
    return draft(
        f"{setting.format(m=mass)}. A graph of the force against the distance moved rises straight from zero to ${force}$ N over the first ${first}$ m and is "
        f"level at ${force}$ N over the next ${number(second)}$ m. What is the speed of the {body} then?",
        form="sqrt(2*(F*a/2+F*b)/m)",
        wrong="sqrt(2*F*(a+b)/m); sqrt(2*F*b/m); sqrt((F*a/2+F*b)/m); sqrt(F*(a+b)/m)",
        reasoning=f"The area under the graph is ${number(work)}$ J, which is $\\frac{{1}}{{2}}\\times{mass}v^2$, so $v=KEY$.",
        insight="The area under force against distance is work, whatever the force does in between.",
        givens={"F": force, "a": first, "b": second, "m": mass},
        unit="m s^-1",
    )


_STARTS = (  # with plausible accelerations and times
    ("A sprinter starts from rest", "the sprinter", (3, 4, 5, 6), (3,)),
    ("A sports car starts from rest", "the car", range(3, 9), (6, 9, 12)),
    ("A rocket sledge starts from rest on a level track", "the sledge", range(10, 25), (3, 6)),
    ("A cyclist starts from rest on a level road", "the cyclist", (1, 2), (6, 9, 12)),
)


def _falling_acceleration(draw: Draw, context: int) -> Draft | None:
    setting, who, accelerations, times = _STARTS[context]
    a, t = draw.choice(accelerations), draw.choice(times)
    return draft(
        f"{setting}. A graph of the acceleration against time is a straight line that falls from ${a}$ m s$^{{-2}}$ at the start to zero after ${t}$ s. How far does "
        f"{who} travel in these ${t}$ s?",
        form="integrate(a*x-a*x**2/(2*T),(x,0,T))",
        key="a*T**2/3",
        wrong="a*T**2/2; a*T**2/4; a*T**2/6; a*T**2",
        reasoning=f"The velocity is ${a}t-\\frac{{{a}t^2}}{{2\\times{t}}}$; its integral over ${t}$ s is $\\frac{{1}}{{3}}\\times{a}\\times{t}^2=KEY$.",
        insight="The velocity curves, so neither the final nor the mean acceleration can be used as if it were constant.",
        givens={"a": a, "T": t},
        unit="m",
    )


FAMILIES = families("P3", _trapezium, _work, _falling_acceleration)
