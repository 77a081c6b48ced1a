r"""A conversion to an integer counts in the unit it asks for, and is held to its source's answer all the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.loop.problems.properties import conversion_breaches
from qagen_dagster.records.problems.item import Format
from tests.support.problems.play import integer, item

STATEMENT = "A spring is pulled until it rests. How far is it pulled?"
LENGTH = r"0.25\,\mathrm{m}"


def made(statement: str, answer: str) -> str:
    return f"\\item {statement}\n\\begin{{solution}}\nBy Hooke's law $x = F / k = \\boxed{{{answer}}}$.\n\\end{{solution}}"


def said(source: str, ask: str, answer: str, statement: str = STATEMENT) -> list[tuple[int, str]]:
    broken = conversion_breaches(
        made(STATEMENT, source), Format.INTEGER, made(f"{statement} {ask}".strip(), answer)
    )
    return [(one.property, one.detail) for one in broken]


@pytest.mark.parametrize(
    ("source", "ask", "answer"),
    [
        (LENGTH, "Give your answer in cm as an integer.", "52"),
        (LENGTH, r"Give your answer in $\mathrm{cm}$ as an integer.", "52"),
        (LENGTH, "Give your answer as an integer.", r"52\,\mathrm{cm}"),
        (LENGTH, "Give the number of centimetres.", "250"),
        (LENGTH, "Give your answer in m as a number.", "25"),
        (LENGTH, r"Give the integer in units of $10^{-3}\,\mathrm{m}$.", "25"),
        (LENGTH, "Give your answer as an integer.", r"25\,\mathrm{s}"),
        (r"12.4\,\mathrm{m}", "Give your answer in m to the nearest integer.", "13"),
        (r"1234\,\mathrm{m}", "Give an integer in m, to two significant figures.", "1300"),
        (r"36\,\mathrm{km\,h^{-1}}", r"Give your answer in $\mathrm{m\,s^{-1}}$ as an integer.", "36"),
        (r"-5\,\mathrm{m}", "Give your answer in m as an integer.", "5"),
        (r"10\,\mathrm{m}", "Give your answer as an integer.", "12"),
    ],
)
def test_an_integer_that_is_not_the_sources_answer_is_refused(source: str, ask: str, answer: str) -> None:
    ((number, detail),) = said(source, ask, answer)
    assert (number, detail) == (11, f"the answer must stay {source}; here it is {answer}")


@pytest.mark.parametrize(
    ("source", "ask", "answer"),
    [
        (LENGTH, "Give your answer in cm as an integer.", "25"),
        (LENGTH, "Give your answer in cm as an integer.", r"25\,\mathrm{cm}"),
        (LENGTH, "Give the number of centimetres.", "25"),
        (LENGTH, r"Give the integer in units of $10^{-3}\,\mathrm{m}$.", "250"),
        (LENGTH, "Give the numerical value of your answer in m.", "0.25"),
        (r"12.4\,\mathrm{m}", "Give your answer in m to the nearest integer.", "12"),
        (r"1234\,\mathrm{m}", "Give an integer in m, to two significant figures.", "1200"),
        (r"36\,\mathrm{km\,h^{-1}}", r"Give your answer in $\mathrm{m\,s^{-1}}$ as an integer.", "10"),
        (r"36\,\mathrm{km\,h^{-1}}", "Give your answer in metres per second as an integer.", "10"),
        (r"-5\,\mathrm{m}", "Give the magnitude in m as an integer.", "5"),
        (r"0.5\,\mathrm{rad}", "Give your answer in degrees to the nearest integer.", "29"),
        (
            r"300\,\mathrm{K}",
            r"Give your answer as an integer in $^\circ\mathrm{C}$.",
            r"27\,^\circ\mathrm{C}",
        ),
        (r"2\sqrt{5}\,\mathrm{m}", r"It is $n\sqrt{5}$ in m. Give the integer $n$.", "2"),
        (r"4500\,\mathrm{J}", r"It is $n \times 10^{2}\,\mathrm{J}$. Give the integer $n$.", "45"),
        (r"0.25", "Give your answer in percent as an integer.", "25"),
        (LENGTH, "Give your answer as an integer in paces.", "52"),
        (r"2x\,\mathrm{m}", "Give the number of metres as an integer.", "9"),
    ],
)
def test_an_integer_that_is_the_answer_in_another_unit_or_cannot_be_compared_is_kept(
    source: str, ask: str, answer: str
) -> None:
    assert said(source, ask, answer) == []


def test_the_unit_that_the_question_itself_asks_for_counts() -> None:
    asked = "A spring is pulled until it rests. How far is it pulled in mm? Give an integer."
    assert said(LENGTH, "", "250", asked) == []
    assert len(said(LENGTH, "", "520", asked)) == 1


def test_a_rounded_answer_of_the_source_may_be_given_with_more_digits() -> None:
    source = made(STATEMENT, r"9.8\,\mathrm{m}").replace("By", r"As $g \approx 10$, by")
    about = source.replace("9.8", "10")
    converted = made(f"{STATEMENT} Give a numerical answer in m.", "9.8")
    assert conversion_breaches(about, Format.INTEGER, converted) == ()
    (breach,) = conversion_breaches(made(STATEMENT, r"10\,\mathrm{m}"), Format.INTEGER, converted)
    assert "must stay" in breach.detail


@settings(max_examples=100, deadline=None)
@given(a=st.integers(2, 900), t=st.integers(2, 900), off=st.integers(1, 1000))
def test_the_same_question_in_the_same_unit_keeps_its_number(a: int, t: int, off: int) -> None:
    """**Feature: physics-question-pipeline, Property 11: Format Conversion Structure**"""
    assert conversion_breaches(item(a, t), Format.INTEGER, integer(a, t)) == ()
    wrong = a * t + max(off, a * t // 50 + 1)
    other = integer(a, t).replace(f"\\boxed{{{a * t}", f"\\boxed{{{wrong}")
    (breach,) = conversion_breaches(item(a, t), Format.INTEGER, other)
    assert (breach.property, "must stay" in breach.detail) == (11, True)
