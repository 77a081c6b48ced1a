"""Options that are no answers of their own, and figures that are not there."""

from __future__ import annotations

import pytest

from qagen_dagster.latex.choices import equal_options, option_faults, without_figure

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
