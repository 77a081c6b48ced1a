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
        (
            r"A heater of power $1.5$ kW runs for $4$ hours each day. How much energy does it transfer in $5$ days?",
            ("$30$ kWh", "$6$ kWh", "$7.5$ kWh", "$20$ kWh"),
            "p*t*n", "kWh", {"p": "1.5", "t": "4", "n": "5"}, r"$1.5\times4\times5=30$",
        ),
        (
            "A walker goes $6$ km due east and then $9$ km due north. How far away is the start, to the nearest kilometre?",
            ("$11$ km", "$3$ km", "$7$ km", "$15$ km"),
            "sqrt(a**2+b**2)", "km", {"a": "6", "b": "9"}, r"The distance is $\sqrt{6^2+9^2}=\sqrt{117}\approx11$ km.",
        ),
        (
            "A cell delivers $400$ mA for $3$ h. What charge does it deliver?",
            ("$1200$ mA h", "$400$ mA h", "$133$ mA h", "$4320$ mA h"),
            "i*t", "mA h", {"i": "400", "t": "3"}, r"$400\times3=1200$",
        ),
        (
            r"A car goes $90$ km in $2$ h at a steady speed. What is its speed?",
            (r"$45\,\mathrm{km\,h^{-1}}$", r"$180\,\mathrm{km\,h^{-1}}$", r"$12.5\,\mathrm{km\,h^{-1}}$", r"$88\,\mathrm{km\,h^{-1}}$"),
            "s/t", "km/h", {"s": "90", "t": "2"}, r"$90\div2=45$",
        ),
        (
            "What average speed in km per hour is needed for $7$ km in $2$ minutes?",
            ("$210$ km/h", "$3.5$ km/h", "$14$ km/h", "$420$ km/h"),
            "d*h/t", "km/h", {"d": "7", "h": "60", "t": "2"}, r"$7\times30=210$",
        ),
        (
            r"A gas at $3$ bar fills $8$ L. What is its volume at $2$ bar and the same temperature?",
            ("$12$ L", "$16$ L", "$24$ L", "$6$ L"),
            "p*v/q", "L", {"p": "3", "v": "8", "q": "2"}, r"$3\times8\div2=12$",
        ),
        (
            r"What is the mass of $40\,\mathrm{cm^3}$ of a metal of density $9\,\mathrm{g\,cm^{-3}}$?",
            ("$360$ g", "$49$ g", "$4.4$ g", "$31$ g"),
            "d*v", "g", {"d": "9", "v": "40"}, r"$9\times40=360$",
        ),
        (
            r"A tank holds $60$ kg, and $15\%$ of it leaks out. What mass leaks out?",
            ("$9$ kg", "$51$ kg", "$15$ kg", "$4$ kg"),
            "m*p", "kg", {"m": "60", "p": "15/100"}, r"$60\times15\%=9$",
        ),
        (
            r"Light of photon energy $7$ eV falls on a metal of work function $4$ eV. What is the stopping potential?",
            ("$3$ V", "$11$ V", "$4$ V", "$7$ V"),
            "e-w", "V", {"e": "7", "w": "4"}, r"$7-4=3$",
        ),
        (
            "An electron is accelerated through $50$ kV. What is its kinetic energy?",
            ("$50$ keV", "$5$ keV", "$25$ keV", "$100$ keV"),
            "u*q", "keV", {"u": "50", "q": "1"}, r"$1\times50=50$",
        ),
        (
            "A bus runs at $36$ km/h for $5$ minutes. How far does it go in km?",
            ("$3$ km", "$180$ km", "$7.2$ km", "$1.8$ km"),
            "v*t/k", "km", {"v": "36", "t": "5", "k": "60"}, r"$36\times\frac{5}{60}=3$",
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


@pytest.mark.parametrize(
    ("stem", "unit", "expression", "givens"),
    [
        ("A gas at $480$ mmHg has a volume of $2$ L. What is its pressure at $8$ L?", "mmHg", "p*v/w", {"p": "480", "v": "2", "w": "8"}),
        (r"A straight road of $240$ km runs at $30^\circ$ to the north. How far east does it lead?", "km", "l*sin(a)", {"l": "240", "a": "pi/6"}),
        ("A pipe delivers $2$ litres every minute. How much does it deliver in $1$ hour?", "L", "q*60", {"q": "2"}),
        (r"Light takes $800\,\mathrm{\mu s}$ for the way to a mirror and back. How far is the mirror?", "km", "c*t/2/k", {"c": "3e8", "t": "800e-6", "k": "1000"}),
    ],
)  # fmt: skip
def test_a_form_of_another_kind_is_not_judged_by_its_scale(
    box: Sandbox, stem: str, unit: str, expression: str, givens: dict[str, str]
) -> None:
    options = tuple(rf"${value}\,\mathrm{{{unit}}}$" for value in (120, 240, 360, 60))
    found = examined(box, stem, options, "See the law.", expression, unit, givens)
    assert found.faults == ()


@pytest.mark.parametrize(
    ("stem", "unit", "key", "expression", "givens"),
    [
        (r"A current of $200\,\mathrm{mA}$ flows through $5\,\Omega$. What is the potential difference?", "V", 1000, "i*r", {"i": "200", "r": "5"}),
        ("A stone of mass $250$ g moves at $8$ m s$^{-1}$. What is its kinetic energy?", "J", 8000, "m*v**2/2", {"m": "250", "v": "8"}),
        ("Nina walks $3$ km, then $400$ m. How far does she walk?", "m", 403, "a+b", {"a": "3", "b": "400"}),
        ("A car goes $90$ km in $2$ h. What is its speed?", "m/s", 45, "s/t", {"s": "90", "t": "2"}),
        ("A room is $300$ cm wide and $4$ m long. How long is its diagonal, to the nearest metre?", "m", 300, "sqrt(a**2+b**2)", {"a": "300", "b": "4"}),
    ],
)  # fmt: skip
def test_a_given_that_is_not_converted(
    box: Sandbox, stem: str, unit: str, key: int, expression: str, givens: dict[str, str]
) -> None:
    options = tuple(rf"${value}\,\mathrm{{{unit}}}$" for value in (key, key * 2, 7, 11))
    found = examined(box, stem, options, "The law gives the key.", expression, unit, givens)
    assert "form_in_mixed_scales" in names(found)


def test_another_root_among_the_options(box: Sandbox) -> None:
    found = examined(
        box, "The number $x$ satisfies $x^2=49$. What is a possible value of $x$?", ("$7$", "$-7$", "$14$", "$49$"),
        r"$\sqrt{49}=7$", "solve(x**2-a,x)[1]", "", {"a": "49"},
    )  # fmt: skip
    assert "several_options_have_the_value" in names(found)


@pytest.mark.parametrize(
    ("stem", "key", "wrong", "right", "givens"),
    [
        (r"How many pages are from page $15$ to page $42$, both included?", "$27$", "b-a", "b-a+1", ("15", "42")),
        (r"A share rose from $40\%$ to $50\%$. By how many per cent did it grow?", "$10$", "b-a", "100*(b-a)/a", ("40", "50")),
        (r"What is $\log_2 8 + \log_2 4$?", r"$\ln 32$", "log(a)+log(b)", "log(a)/log(2)+log(b)/log(2)", ("8", "4")),
        ("Boats hold $40$ people. How many boats are needed for $130$ people?", "$3$", "floor(b/a)", "ceiling(b/a)", ("40", "130")),
        (
            r"A gas at $27\,\mathrm{^\circ C}$ is heated to $127\,\mathrm{^\circ C}$ at constant volume. By what factor does its pressure grow?",
            r"$\frac{127}{27}$", "b/a", "(b+273)/(a+273)", ("27", "127"),
        ),
    ],
)  # fmt: skip
def test_a_form_without_what_the_stem_asks_for_does_not_prove_the_key(
    box: Sandbox, stem: str, key: str, wrong: str, right: str, givens: tuple[str, str]
) -> None:
    options = (key, "$28$", "$25$", "$5$", "$4$", r"$\frac{4}{3}$")
    named = dict(zip("ab", givens, strict=True))
    fooled, fit = (
        examined(box, stem, options, "See the form.", form, "", named).proof for form in (wrong, right)
    )
    assert (fooled.status, fooled.matching) == (ProofStatus.UNPROVEN, ("A",))
    assert fooled.detail
    assert (fit.status, len(fit.matching)) == (ProofStatus.REFUTED, 1)


@pytest.mark.parametrize(("area", "kept"), [("0.25", False), ("2.5e-3", True), ("25e-4", True)])
def test_a_given_in_a_third_unit_is_converted(box: Sandbox, area: str, kept: bool) -> None:
    stem = r"A force of $50\,\mathrm{N}$ presses on $25\,\mathrm{cm^2}$. What is the pressure?"
    key = 20_000 if kept else 200
    options = tuple(rf"${value}\,\mathrm{{Pa}}$" for value in (key, 2, 1250, 75))
    found = examined(box, stem, options, rf"$F/A={key}$", "f/a", "Pa", {"f": "50", "a": area})
    assert ("form_in_mixed_scales" not in names(found)) is kept
