"""Forms that prove nothing: givens that the stem does not give, that decide nothing, or in mixed scales."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qagen_dagster.loop.exams.code_checks import examine
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.records.exams.bank import Examination, ProofStatus
from qagen_dagster.records.exams.submissions import QuestionPackage

STONE = "A stone of mass $2$ kg moves at $5$ m s$^{-1}$. What is its kinetic energy?"
JOULES = tuple(rf"${value}\,\mathrm{{J}}$" for value in (25, 10, 50, 100, 5))


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box


def examined(
    box: Sandbox,
    stem: str = STONE,
    options: tuple[str, ...] = JOULES,
    reasoning: str = r"$\frac{1}{2}\times2\times5^2=25$.",
    expression: str = "m*v**2/2",
    unit: str = "J",
    givens: dict[str, str] | None = None,
) -> Examination:
    """The question with its first option as the key."""
    lettered = dict(zip("ABCDEFGH", options, strict=False))
    fields = {
        "question": {"stem": stem, "options": lettered, "correct_option": "A"},
        "solution": {"reasoning": reasoning, "key_insight": "See what stays the same."},
        "distractor_map": {
            one: f"Takes wrong turn number {one} on the way." for one in lettered if one != "A"
        },
        "check": {
            "givens": {"m": "2", "v": "5"} if givens is None else givens,
            "expression": expression,
            "unit": unit,
        },
    }
    return examine(QuestionPackage.model_validate(fields), box)


def names(found: Examination) -> set[str]:
    return {one.name for one in found.faults}


def test_a_good_question_is_kept_and_its_key_is_computed(box: Sandbox) -> None:
    found = examined(box)
    assert (found.faults, found.proof.status) == ((), ProofStatus.PROVEN)


@pytest.mark.parametrize(
    ("expression", "givens", "fault"),
    [
        ("m*v**2/2", {"m": "50", "v": "1"}, "given_not_in_the_stem"),
        ("m*v**2/2", {"m": "0.5", "v": "10"}, "given_not_in_the_stem"),
        ("d*1", {"d": "25"}, "form_states_the_answer"),
        ("-5", {}, "form_states_the_answer"),
        ("d+0*2", {"d": "25"}, "form_states_the_answer"),
        ("solve(x-25,x)[0]", {}, "form_states_the_answer"),
        ("m-m+25", {"m": "2"}, "given_without_influence"),
        ("25+0*v", {"v": "5"}, "given_without_influence"),
    ],
)
def test_forms_that_prove_nothing(box: Sandbox, expression: str, givens: dict[str, str], fault: str) -> None:
    assert fault in names(examined(box, expression=expression, givens=givens))


@pytest.mark.parametrize(("time", "found"), [("", True), (" after $4$ s", False)])
def test_an_exponent_of_a_unit_is_no_given(box: Sandbox, time: str, found: bool) -> None:
    stem = rf"A car accelerates at $3\,\mathrm{{m\,s^{{-2}}}}$ from rest. What is its speed{time}?"
    asked = examined(box, stem, expression="a*t", givens={"a": "3", "t": "4"})
    assert ("given_not_in_the_stem" in names(asked)) is found


@pytest.mark.parametrize(
    "reasoning",
    [
        r"$\frac{1}{2}\times2\times5^2=50$.",
        r"$2\times5=10$, so the answer is B.",
        r"$p = 2\times5=10$ and so $E = 2 \times 25 = 50$.",
        r"$2\times5=\boxed{10\,\mathrm{J}}$.",
    ],
)
def test_solutions_that_end_elsewhere(box: Sandbox, reasoning: str) -> None:
    found = names(examined(box, reasoning=reasoning))
    assert found & {"false_step", "solution_of_another_option"}


def test_a_surplus_given_is_no_fault_but_the_form_does_not_prove_the_key(box: Sandbox) -> None:
    found = examined(box, stem=STONE.replace("moves", r"and of volume $700\,\mathrm{cm^3}$ moves"))
    assert (found.faults, found.proof.status) == ((), ProofStatus.UNPROVEN)
    assert "700" in found.proof.detail


@pytest.mark.parametrize(
    ("stem", "options", "expression", "unit", "givens", "reasoning"),
    [
        (
            r"In a class $11$ of $25$ wear glasses. What percentage is that?",
            (r"$44\%$", r"$11\%$", r"$25\%$", r"$56\%$"),
            "a/b", "", {"a": "11", "b": "25"}, r"$\frac{11}{25}=44\%$",
        ),
        (
            r"For which acute angle $\theta$ is $\sin\theta = \frac{1}{2}$?",
            (r"$30^\circ$", r"$45^\circ$", r"$60^\circ$", r"$15^\circ$"),
            "asin(s)", "", {"s": "1/2"}, r"$\sin 30^\circ=\frac{1}{2}$",
        ),
        (
            r"A train goes $29.8$ km, then $8.94$ km. How far does it go, to the nearest km?",
            ("about 39 km", "about 21 km", "about 30 km", "about 45 km"),
            "a+b", "km", {"a": "29.8", "b": "8.94"}, r"$29.8+8.94=38.74$",
        ),
        (
            r"A heater of power $2\,\mathrm{kW}$ runs for $3$ hours. What energy does it use?",
            (r"$6\,\mathrm{kWh}$", r"$5\,\mathrm{kWh}$", r"$1.5\,\mathrm{kWh}$", r"$9\,\mathrm{kWh}$"),
            "p*t", "kWh", {"p": "2", "t": "3"}, r"$2\times3=6$",
        ),
        (
            r"A wheel turns $40$ times in $20$ seconds. What is its frequency of rotation?",
            ("$120$ rpm", "$2$ rpm", "$800$ rpm", "$60$ rpm"),
            "n/t*60", "rpm", {"n": "40", "t": "20"}, r"$\frac{40}{20}\times60=120$",
        ),
    ],
)  # fmt: skip
def test_units_of_numbers_and_rounded_options_are_read(
    box: Sandbox,
    stem: str,
    options: tuple[str, ...],
    expression: str,
    unit: str,
    givens: dict[str, str],
    reasoning: str,
) -> None:
    found = examined(box, stem, options, reasoning, expression, unit, givens)
    assert (found.faults, found.proof.status) == ((), ProofStatus.PROVEN)


def test_a_given_that_is_not_converted(box: Sandbox) -> None:
    volts = tuple(rf"${value}\,\mathrm{{V}}$" for value in (1000, 100, 10, 40))
    stem = r"A current of $200\,\mathrm{mA}$ flows through $5\,\Omega$. What is the potential difference?"
    found = examined(box, stem, volts, r"$200\times5=1000$", "i*r", "V", {"i": "200", "r": "5"})
    assert "form_in_mixed_scales" in names(found)


def test_another_root_among_the_options(box: Sandbox) -> None:
    found = examined(
        box, "The number $x$ satisfies $x^2=49$. What is a possible value of $x$?", ("$7$", "$-7$", "$14$", "$49$"),
        r"$\sqrt{49}=7$", "solve(x**2-a,x)[1]", "", {"a": "49"},
    )  # fmt: skip
    assert "several_options_have_the_value" in names(found)
