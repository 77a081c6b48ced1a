"""What the text of an option is worth: plain and LaTeX, with units; and what says no value, and why."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.mathematics.equality import Quantity, close, equal, rounds_to, value_of
from qagen_dagster.mathematics.expressions import Unreadable
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.mathematics.value_reading import read_unit, read_value

EQUAL = [
    ("0.5", r"$\frac{1}{2}$"),
    (r"\dfrac12", r"$\tfrac{5}{10}$"),
    ("1,250", r"$1{,}250$"),
    ("12 000", r"$12\,000$"),
    (r"$2\frac{1}{2}$", "2.5"),
    ("2 1/2", r"$\frac52$"),
    (r"$\sqrt{12}$", r"$2\sqrt{3}$"),
    ("3√2", r"$\sqrt{18}$"),
    (r"$\sqrt[3]{8}$", "2"),
    (r"$\frac{1}{\sqrt{2}}$", r"$\frac{\sqrt{2}}{2}$"),
    (r"$\sqrt{3+2\sqrt{2}}$", r"$1+\sqrt{2}$"),
    (r"$3.0\times10^{8}$", "300000000"),
    ("5 \u00d7 10\u207b\u00b3", "0.005"),
    ("25%", r"$\frac{1}{4}\times 100\%$"),
    ("$180^\\circ$", r"$\pi\ \mathrm{rad}$"),
    ("30 degrees", "30°"),
    (r"$\sin 30^\circ$", "0.5"),
    (r"$\cos^2 45^{\circ}$", "1/2"),
    (r"$\tan^{-1} 1$", r"$\frac{\pi}{4}$"),
    (r"$\log_2 8$", "3"),
    (r"$e^{\ln 5}$", "5"),
    (r"$5!$", "120"),
    (r"$|-3|$", "3"),
    (r"$2^{-3}$", "0.125"),
    ("$x = 7$", "7"),
    (r"$\frac{3F}{2}$", "1.5F"),
    (r"$\frac{mg\sin\theta}{2}$", r"$\frac12 mg\sin\theta$"),
    (r"$\frac{\lambda}{2}$", r"$0.5\lambda$"),
    (r"$(a+b)^2$", "$a^2+2ab+b^2$"),
    ("72 km/h", r"$20\ \mathrm{m\,s^{-1}}$"),
    ("5 ms^{-1}", "5 m/s"),
    (r"$2.5\,\text{kN}$", "2500 N"),
    (r"$6\,\mu\mathrm{C}$", r"$6\times10^{-6}\ \mathrm{C}$"),
    ("1 N m", "1 J"),
    ("90 minutes", "1.5 hours"),
    ("5 ohms", "$0.005\\,\\mathrm{k\\Omega}$"),
    ("£2.50", "250 pence"),
    ("$5", "5 dollars"),
    (r"$\$5$", r"\$5"),
    (r"$4\pi\ \text{cm}^2$", r"$\frac{\pi}{2500}\,\mathrm{m}^2$"),
    ("9.8 m s⁻²", "9.8 m/s^2"),
]
UNEQUAL = [
    ("30", "31"),
    ("$x$", "$y$"),
    ("5 m", "5 s"),
    ("5 m", "5 cm"),
    ("20 °C", "20 K"),
    (r"$\sqrt{2}$", "1.41421356237309504880168872420969807"),
    (r"$2F$", "$F^2$"),
    ("2F", "2 F"),
    ("25%", "0.26"),
]
NO_VALUE = {
    "between 3 and 4": "a range",
    "3 to 4": "a range",
    "3-4": "a range",
    "3\u20134": "a range",
    "$3 < x < 4$": "a range",
    "3, 4": "several values",
    "(1,2)": "several values",
    "9 2 0 0": "several values",
    "x2": "several values",
    "$x = 2$ or $x = 3$": "an equation",
    r"$\pm 2$": "two values",
    "4:3": "a ratio",
    "none of these": "words",
    "It doubles": "words",
    r"$\text{none}$": "words",
    "kg": "words",
    "": "empty",
    "$$": "empty",
    "1/2x": "ambiguous",
    "$v^2/2g$": "ambiguous",
    "(1": "breaks off",
    r"$\frac{1}{$": "breaks off",
    "(" * 40 + "1": "nested",
    "9" * 60: "digits",
    "1 " * 300: "longer",
    "$x^2 = 4y$": "an equation",
}


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_one_value_in_two_forms(left: str, right: str) -> None:
    assert equal(value_of(left), value_of(right))


@pytest.mark.parametrize(("left", "right"), UNEQUAL)
def test_values_that_differ(left: str, right: str) -> None:
    assert not equal(value_of(left), value_of(right))


@pytest.mark.parametrize(("text", "why"), NO_VALUE.items())
def test_what_says_no_value_is_told_why(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_value(text)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("3.14", Fraction(1, 100)),
        ("-0.5", Fraction(1, 10)),
        (r"$3.0\times 10^{8}\,\mathrm{m\,s^{-1}}$", Fraction(10**7)),
        (r"$1.6\times10^{-19}$", Fraction(1, 10**20)),
        ("12", None),
        (r"$3\times 10^8$", None),
        (r"$\frac{1.5}{2}$", None),
    ],
)
def test_the_last_place_of_a_decimal_is_known(text: str, step: Fraction | None) -> None:
    assert read_value(text).last_place == step


def test_a_rounded_decimal_is_told_from_a_wrong_one() -> None:
    assert rounds_to(value_of(r"$\sqrt{7}$"), value_of("2.65"))
    assert not rounds_to(value_of(r"$\sqrt{7}$"), value_of("2.64"))
    assert not rounds_to(value_of("9"), value_of("10"))
    assert rounds_to(value_of("1234 m"), value_of("1.23 km"))
    assert close(value_of("9.81"), value_of("10"), 0.02)
    assert not close(value_of("9.81"), value_of("10"), 0.01)


@pytest.mark.parametrize("text", ["m s^{-1}", r"\mathrm{m\,s^{-1}}", "m/s", "$m s^-1$", "metres per second"])
def test_one_unit_in_five_ways(text: str) -> None:
    unit = read_unit(text)
    assert unit.factor == 1
    assert unit.comparable(read_unit("km/h"))
    assert read_unit("km/h").factor == Fraction(1000, 3600)


@pytest.mark.parametrize(
    "text", [r"$2\,\mathrm{k}\Omega$", r"$2\,k\Omega$", r"$2$ k$\Omega$", r"$2\,\mathrm{k\Omega}$"]
)
def test_a_prefix_apart_from_its_ohm(text: str) -> None:
    assert equal(value_of(text), value_of(r"$2000\,\Omega$"))


def test_no_unit_is_one() -> None:
    assert read_unit("") == ONE
    with pytest.raises(Unreadable):
        read_unit("bananas")


whole = st.integers(min_value=-(10**9), max_value=10**9)


@given(whole, st.integers(min_value=1, max_value=10**6))
def test_every_fraction_is_read_exactly(top: int, bottom: int) -> None:
    found = value_of(f"$\\frac{{{top}}}{{{bottom}}}$")
    assert equal(found, _rational(Fraction(top, bottom)))


@given(st.integers(min_value=1000, max_value=10**12))
def test_thousands_may_be_separated(number: int) -> None:
    for text in (f"{number:,}", f"${f'{number:,}'.replace(',', '{,}')}$", f"{number:,}".replace(",", " ")):
        assert equal(value_of(text), _rational(Fraction(number)))


@given(st.decimals(min_value=-1000, max_value=1000, places=4), st.integers(min_value=-12, max_value=12))
def test_scientific_notation_is_exact(mantissa: object, exponent: int) -> None:
    found = value_of(f"${mantissa} \\times 10^{{{exponent}}}$")
    assert equal(found, _rational(Fraction(str(mantissa)) * Fraction(10) ** exponent))


@given(st.integers(min_value=2, max_value=500), st.integers(min_value=1, max_value=60))
def test_a_root_times_itself_is_its_radicand(inside: int, front: int) -> None:
    squared = value_of(f"$({front}\\sqrt{{{inside}}})^2$")
    assert equal(squared, _rational(Fraction(front * front * inside)))


@given(st.text(alphabet="0123456789+-*/^_(){}[]|!.,:;$\\ abefxpimsqrtfrNmk%\u00b0\u221a=<>&'\"", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(Unreadable):
        assert read_value(text).expression


def _rational(value: Fraction) -> Quantity:
    return (
        value_of(f"$\\frac{{{value.numerator}}}{{{value.denominator}}}$")
        if value.denominator > 1
        else value_of(str(value.numerator))
    )
