"""Options that are no answers of their own, and figures that are not there."""

from __future__ import annotations

import pytest

from qagen_dagster.latex.question_faults import (
    equal_options,
    impossible_answer,
    impossible_values,
    option_faults,
    without_figure,
)

A = frozenset("a")


def options(*texts: str) -> dict[str, str]:
    return dict(zip("abcdefgh", texts, strict=False))


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Which is a vector?", ("velocity", "speed", "none of the above")),
        ("Which is a vector?", ("velocity", "force", "All of these")),
        ("Which is a vector?", ("both (b) and (c)", "force", "momentum")),
        ("Which is a vector?", ("velocity", "force", "both (a) and (b)")),
        ("Which is a vector?", ("velocity", "force", "Both A and B")),
        ("Which is a vector?", ("velocity", "speed", "none of the other options")),
        (
            "Find its acceleration.",
            (r"$5\,\mathrm{m\,s^{-2}}$", r"$5\,\mathrm{N}$", r"$4\,\mathrm{m\,s^{-2}}$"),
        ),
        ("How long?", ("$3$ m, because metals expand when they are heated and move more", "$2$ m", "$1$ m")),
    ],
)
def test_poor_options(question: str, texts: tuple[str, ...]) -> None:
    assert list(option_faults(question, options(*texts), A)) != []


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Which is a vector?", ("velocity", "speed", "all the energy of the body", "none of its mass")),
        ("What is its speed?", (r"$5\,\mathrm{m\,s^{-1}}$", r"$18\,\mathrm{km/h}$", "$0$")),
        (r"A speed of $5$ m/s doubles. What is the final speed?", ("$10$ m/s", "$5$ m/s")),
        ("Why?", ("Because the net force on it is zero at every point", "It is light", "It is at rest")),
    ],
)
def test_good_options(question: str, texts: tuple[str, ...]) -> None:
    assert list(option_faults(question, options(*texts), A)) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("$40$", r"$\frac{80}{2}$", True),
        (r"$500\,\mathrm{cm\,s^{-2}}$", r"$5\,\mathrm{m\,s^{-2}}$", True),
        (r"$0.38\,\mathrm{kN}$", r"$380\,\mathrm{N}$", True),
        (r"$44\%$", "$0.44$", True),
        (r"$44\%$", "$0.44$ m", False),
        ("$4$ N", "$40$ N", False),
    ],
)
def test_options_of_one_value(one: str, other: str, same: bool) -> None:
    assert (list(equal_options(options(one, other))) != []) is same


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("The graph below shows the speed.", True),
        ("A block slides down the incline, as shown in the figure.", True),
        ("The graph of $y=x$ is moved up. Which figure has an area of 2?", False),
        ("As shown in the figure.\n% diagram\nFind it.", False),
        (r"As shown: \begin{tikzpicture}\draw (0,0) -- (1,1);\end{tikzpicture}", False),
    ],
)
def test_a_figure_that_is_not_there(text: str, missing: bool) -> None:
    assert (list(without_figure(text)) != []) is missing


IMPOSSIBLE = [
    r"A body of mass $-2$ kg is at rest.",
    r"The probability is $\frac{17}{12}$.",
    r"$P(A)=\frac{17}{12}$",
    r"A motor has an efficiency of $150\%$.",
    "A triangle has sides of length 3 cm, 4 cm and 9 cm.",
    "Take a 3-4-9 triangle.",
    r"A triangle has angles of $70^\circ$, $80^\circ$ and $60^\circ$.",
    r"$\sin\theta = 1.2$",
    r"$\cos\alpha=\frac{6}{5}$",
    r"A force of $20\,\mathrm{kg}$ acts on it.",
    r"$F = 20\,\mathrm{kg}$",
    r"It moves with a speed of $4\times10^8\,\mathrm{m\,s^{-1}}$.",
    r"A spaceship moves at $1.5c$ relative to the Earth.",
    r"A current of $3\,\mathrm{V}$ flows.",
    r"The resistance is $-5\,\Omega$.",
    r"A block of mass $20$ N is at rest.",
    r"A force of $5$ N m turns it.",
    r"The mass of the block is $20$ N.",
    r"The probability of heads is $1.2$.",
    r"Glass of a refractive index of $0.7$ is cut.",
]
POSSIBLE = [
    r"Light travels at a speed of $3\times10^8\,\mathrm{m\,s^{-1}}$; the ship moves at $0.6c$.",
    r"A velocity of $-5\,\mathrm{m\,s^{-1}}$, an acceleration of $3g$, a current of $2$ m/s in the river.",
    r"A force constant of $20\,\mathrm{N\,m^{-1}}$; the speed ratio is $-1$.",
    "A girl of mass m and a boy of mass 2m. The cart has mass 4m and velocity v.",
    r"$\sin\theta = 0.6$ and $2\sin\theta = 1.2$, $P(A) = 1$, $\eta = 75\%$",
    r"A price of energy of £0.30 per kWh. The air resistance is $20$ N.",
    "A triangle has sides 3 cm, 4 cm and 5 cm.",
    r"A momentum of $12$ kg m s$^{-1}$, an impulse of $3$ N s, an energy of $2$ kW h and a charge of $40$ mA h.",
    r"What is the mass of $500$ cm$^3$ of water? The resistance of $3$ m of the wire, the charge of $2$ mol of electrons.",
    r"A latent heat of $334$ kJ kg$^{-1}$, an angular acceleration of $2$ rad s$^{-2}$, an energy of $4$ kJ per mole.",
    "The pressure of 760 mm of mercury, an area of 2 cm2, an acceleration of 6 metres per second squared.",
    "It moves at 1/2 c.",
    r"An efficiency of $80$ per cent, a torque of $20$ N cm, a temperature of $30\,^\circ$C, the sine of $30^\circ$.",
    r"The square of the speed of the car is $4$ m$^2$ s$^{-2}$, the current of the river is $2$ m/s.",
    r"The coefficient of friction is $0.3$, the mass of the Earth is $81$ times that of the Moon.",
]
ANSWERS = [
    ("What is the force on it?", r"$5\,\mathrm{kg}$", False),
    ("What is the force on it?", r"$5\,\mathrm{N}$", True),
    ("What is the probability that both are red?", r"$\frac{17}{12}$", False),
    ("Find its mass.", r"$-3\,\mathrm{kg}$", False),
    ("What is the maximum speed of the car?", r"$5\,\mathrm{m}$", False),
    ("What is the speed of the fluid, if the flow speed was V?", "4/3 V", True),
    ("What is the ratio of the speeds?", "$-3$", True),
    ("What is the probability, as a percentage?", r"$40\%$", True),
    ("What is its mass, in terms of m?", "$2m$", True),
    ("What is the refractive index of the glass?", r"$\frac{\sqrt{2}}{2}$", False),
    ("What is the refractive index of the glass?", r"$\frac{2}{\sqrt{3}}$", True),
    ("What is the refractive index of water relative to glass?", r"$\frac{8}{9}$", True),
    ("What is the temperature of the gas?", r"$-73\,^\circ$C", True),
    ("What is the focal length of the lens?", r"$-10\,\mathrm{cm}$", True),
    ("What is the radius of curvature of the mirror?", r"$-10\,\mathrm{cm}$", True),
    ("What is the power of the lens?", r"$4\,\mathrm{m^{-1}}$", True),
    ("What is the heat capacity of the block?", r"$40\,\mathrm{J\,K^{-1}}$", True),
    ("What is the energy density of the field?", r"$4\,\mathrm{J\,m^{-3}}$", True),
    ("What is the molar mass of the gas?", r"$44\,\mathrm{g\,mol^{-1}}$", True),
    ("What is the energy that is lost per second?", r"$4\,\mathrm{W}$", True),
    ("What is the resistance of the lamp?", r"$4$ k$\Omega$", True),
]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_impossible(text: str) -> None:
    assert list(impossible_values(text)) != []


@pytest.mark.parametrize("text", POSSIBLE)
def test_possible(text: str) -> None:
    assert list(impossible_values(text)) == []


@pytest.mark.parametrize(("question", "answer", "possible"), ANSWERS)
def test_an_answer_is_of_the_asked_quantity(question: str, answer: str, possible: bool) -> None:
    assert (list(impossible_answer(question, answer)) == []) is possible


def test_the_messages_have_no_article_before_the_quantity() -> None:
    asked = list(impossible_answer("What is the energy of the ball?", r"$5\,\mathrm{m}$"))
    stated = list(impossible_values(r"It has a mass of $-5\,\mathrm{kg}$."))
    assert [fault.split(",")[0] for fault in asked] == ["the question asks for energy"]
    assert [fault.split(" of ")[0] for fault in stated] == ["mass"]
