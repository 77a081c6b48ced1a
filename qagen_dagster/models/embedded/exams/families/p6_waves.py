"""Families of P6, phase and path difference of waves."""

from __future__ import annotations

from fractions import Fraction

from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.family import Draft, Family, decimal, number, plain, united

_SPEAKERS = (
    ("Two loudspeakers emit the same note in phase. A microphone is ${a}$ m from one and ${b}$ m from the other", 340, "the sound at the microphone"),
    ("Two loudspeakers emit the same note in phase. A listener sits ${a}$ m from one and ${b}$ m from the other", 330, "the sound at the listener"),
    ("Two underwater sources emit the same tone in phase. A hydrophone is ${a}$ m from one and ${b}$ m from the other", 1500, "the sound at the hydrophone"),
    ("Two dippers make waves in phase on a long tank. A float is ${a}$ m from one and ${b}$ m from the other", 3, "the motion of the float"),
)  # fmt: skip


def _lowest(draw: Draw, context: int) -> Draft | None:
    setting, speed, what = _SPEAKERS[context]
    gap = Fraction(draw.choice((2, 4, 10, 8, 5, 3, 6)), 4)
    near = Fraction(draw.whole(4, 16), 2)
    value = Fraction(speed) / (2 * gap)
    if value.denominator > 2:
        return None
    wrong = (2 * value, value / 2, speed / near / 2, speed / (2 * near + gap) / 2, speed / (near + gap) / 2)
    return Draft(
        stem=f"{setting.format(a=decimal(near), b=decimal(near + gap))}. The waves travel at ${speed}$ m s$^{{-1}}$. What is the lowest frequency for which {what} is "
        "a minimum?",
        key=united(decimal(value), "Hz"),
        wrong=tuple(united(decimal(one), "Hz") if (one * 20).denominator == 1 else None for one in wrong),
        reasoning=f"The path difference of ${decimal(gap)}$ m must be half a wavelength, so the wavelength is ${decimal(2 * gap)}$ m and the frequency ${number(value)}$ Hz.",
        insight="Only the difference of the paths matters, and the first minimum needs half a wavelength of it.",
        expression="c/(2*(b-a))",
        givens={"c": speed, "a": decimal(near), "b": decimal(near + gap)},
        unit="Hz",
    )


_PIPES = (
    ("A pipe that is closed at one end and open at the other", True),
    ("A string that is fixed at both ends", False),
    ("A tall vase that acts as a pipe closed at its lower end", True),
    ("A pipe that is open at both ends", False),
)


def _resonances(draw: Draw, context: int) -> Draft:
    name, closed = _PIPES[context]
    base = draw.choice((20, 30, 40, 50, 60, 70, 80, 90))
    order = draw.whole(2, 5)
    first, second = (
        (base * (2 * order - 1), base * (2 * order + 1)) if closed else (base * order, base * (order + 1))
    )
    gap = second - first
    wrong = (
        gap if closed else Fraction(gap, 2),
        first,
        Fraction(first, 3 if closed else 2),
        Fraction(first + second, 2),
        2 * gap,
    )
    return Draft(
        stem=f"{name} resonates at ${first}$ Hz and at ${second}$ Hz, and at no frequency between the two. What is its lowest resonant frequency?",
        key=united(str(base), "Hz"),
        wrong=tuple(united(number(one), "Hz") for one in wrong),
        reasoning=f"Neighbouring resonances differ by {'twice ' if closed else ''}the lowest one; the difference is ${gap}$ Hz, so it is ${base}$ Hz.",
        insight="The spacing of the resonances tells the lowest one; which multiples occur depends on the ends.",
        expression="(q-p)/2" if closed else "q-p",
        givens={"p": first, "q": second},
        unit="Hz",
    )


_RINGS = (
    ("Two transmitters ${d}$ m apart emit waves of wavelength ${w}$ m in phase. A detector is carried once round a large circle centred midway between them", "How many maxima does it pass", 0, True),
    ("Two transmitters ${d}$ m apart emit waves of wavelength ${w}$ m in phase. A detector is moved along the straight line from one to the other", "How many maxima does it pass on the way", 0, False),
    ("Two loudspeakers ${d}$ m apart emit sound of wavelength ${w}$ m in antiphase. A microphone is moved along the straight line from one to the other", "How many maxima does it pass on the way", 1, False),
    ("Two sources ${d}$ m apart emit waves of wavelength ${w}$ m in antiphase. A detector is carried once round a large circle centred midway between them", "How many maxima does it pass", 1, True),
)  # fmt: skip


def _count(draw: Draw, context: int) -> Draft | None:
    setting, asked, anti, ring = _RINGS[context]
    wave = draw.whole(2, 6)
    ratio = Fraction(draw.whole(5, 22), 4)
    if ratio.denominator == 1 or (2 * ratio).denominator == 1:
        return None
    apart = wave * ratio
    whole, half = int(ratio), int(ratio + Fraction(1, 2))
    across, other = (2 * half, 2 * whole + 1) if anti else (2 * whole + 1, 2 * half)
    value = 2 * across if ring else across
    wrong = (
        2 * other if ring else other,
        across if ring else 2 * across,
        half if anti else whole,
        2 * across + 4 if ring else across + 2,
    )
    twice = f", and each half of the circle passes all of them: together ${value}$" if ring else ""
    return Draft(
        stem=f"{setting.format(d=decimal(apart), w=wave)}. {asked}?",
        key=plain(str(value)),
        wrong=tuple(plain(str(one)) for one in wrong),
        reasoning=f"The path difference runs from $-{decimal(ratio)}$ to ${decimal(ratio)}$ wavelengths, which holds ${across}$ maxima{twice}.",
        insight="Count the whole or half numbers of wavelengths that the path difference can reach, on both sides of zero.",
        expression=(("2*(2*floor(d/w)+1)", "2*floor(d/w)+1"), ("4*floor(d/w+1/2)", "2*floor(d/w+1/2)"))[anti][
            0 if ring else 1
        ],
        givens={"d": decimal(apart), "w": wave},
    )


FAMILIES = (
    Family(
        "P6", "easy",
        summary="Two sources in phase are at different distances from a point. The lowest frequency with a minimum there makes the path difference half a wavelength.",
        carrier="two sources of one wave",
        constraints=("the sources are in phase", "the distances differ"),
        asked="the lowest frequency that gives a minimum",
        rationale="One condition on the difference of the paths.",
        paths=(
            "Makes the path difference a whole wavelength.",
            "Makes the path difference a quarter of a wavelength.",
            "Uses the distance to one source in place of the difference.",
            "Uses the sum of the two distances in place of their difference.",
            "Uses the distance to the other source in place of the difference.",
        ),
        contexts=4, make=_lowest,
    ),
    Family(
        "P6", "medium",
        summary="Two neighbouring resonances are known. Their difference tells the lowest one, in a way that depends on the ends of the pipe or string.",
        carrier="a pipe or string with known ends",
        constraints=("the two resonances are neighbours", "the ends decide which multiples occur"),
        asked="the lowest resonant frequency",
        rationale="Neither length nor speed is given; the spacing has to be interpreted.",
        paths=(
            "Uses the multiples that belong to other ends.",
            "Takes the lower of the two for the lowest of all.",
            "Takes the lower of the two for the first overtone.",
            "Takes the mean of the two.",
            "Doubles the difference instead of using it as it is or in half.",
        ),
        contexts=4, make=_resonances,
    ),
    Family(
        "P6", "hard",
        summary="A detector passes through all path differences that two sources allow. Maxima are counted by the whole or half numbers of wavelengths that occur.",
        carrier="two sources and a moving detector",
        constraints=("the path difference is bounded by the distance of the sources", "the phase of the sources decides which numbers count"),
        asked="the number of maxima passed",
        rationale="Bounds, phase and the number of times each direction is met all matter at once.",
        paths=(
            "Counts minima in place of maxima.",
            "Counts each direction a wrong number of times.",
            "Counts on one side of the middle only.",
            "Counts maxima beyond the greatest path difference.",
        ),
        contexts=4, make=_count,
    ),
)  # fmt: skip
