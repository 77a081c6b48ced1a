"""Repeats across a bank: the same stem, the same computation in other words; not the same template with other numbers."""

from __future__ import annotations

from typing import Any

from qagen_dagster.loop.exams.duplicates import find_duplicates
from qagen_dagster.records.exams.submissions import QuestionPackage
from tests.support.exams.items import item, package, question


def asked(stem: str, expression: str = "m*v**2/2", unit: str = "J", **givens: str) -> QuestionPackage:
    check: dict[str, Any] = {"givens": givens, "expression": expression, "unit": unit}
    return package(question(stem), check=check)


def same_question(first: QuestionPackage, second: QuestionPackage) -> str:
    """Why the second question repeats the first one; empty if it does not."""
    items = [item(id=name, question_package=one) for name, one in (("1", first), ("2", second))]
    return find_duplicates(items).get("2", ("", ""))[1]


TRUCK = "A truck of mass $2$ kg moves at $3$ m s$^{-1}$. What is its kinetic energy?"


def test_the_same_stem_in_other_type_is_a_repeat() -> None:
    other = TRUCK.replace("$2$ kg", "$2\\,\\mathrm{kg}$").replace("A truck", "a  truck")
    assert same_question(asked(TRUCK, m="2", v="3"), asked(other, m="2", v="3"))


def test_a_word_more_does_not_make_another_question() -> None:
    other = TRUCK.replace("A truck of", "A small truck of")
    assert "nearly the same words" in same_question(asked(TRUCK, "m+1", m="2"), asked(other, "m+2", m="2"))


def test_other_numbers_are_another_question() -> None:
    assert same_question(asked(TRUCK, m="2", v="3"), asked(TRUCK.replace("$3$", "$5$"), m="2", v="5")) == ""


def test_numbers_that_change_places_are_another_question() -> None:
    other = TRUCK.replace("$2$", "$0$").replace("$3$", "$2$").replace("$0$", "$3$")
    assert same_question(asked(TRUCK, m="2", v="3"), asked(other, m="3", v="2")) == ""


def test_a_difference_is_no_sum() -> None:
    first = "The real number $x$ satisfies $x+\\frac{1}{x}=5$. What is the value of $x^2+\\frac{1}{x^2}$?"
    second = first.replace("$x+", "$x-")
    assert same_question(asked(first, "k**2-2", "", k="5"), asked(second, "k**2+2", "", k="5")) == ""
    assert same_question(
        asked(first, "k**2-2", "", k="5"), asked(first.replace("The real", "Some real"), "k**2-2", "", k="5")
    )


def test_the_same_computation_in_other_words_is_a_repeat() -> None:
    first = asked(
        "A pipe closed at one end sounds at $3$ and $5$ Hz. What is the lowest?",
        "(b-a)/2*sqrt(c)+d*a",
        a="3",
        b="5",
        c="4",
        d="1",
    )
    second = asked(
        "In a vase the air rings twice, as told.", "d*p+sqrt(r)*(q-p)/2", p="3", q="5", r="4", d="1"
    )
    assert "same computation" in same_question(first, second)


def test_a_short_computation_needs_words_in_common() -> None:
    first = asked("A car covers a distance in a time. What is its speed?", "a/b", a="6", b="2")
    second = asked("Sweets are shared by children. How many does each get?", "a/b", a="6", b="2")
    assert same_question(first, second) == ""


def test_givens_count_inside_of_roots_and_sums() -> None:
    stem = "The powers are $12$ W in series and $54$ W in parallel. What is the ratio?"
    for expression in ("solve((x+1)**2*s-p*x,x)[-1]", "Sum(k+s*p,(k,1,s))"):
        first = asked(stem, expression, s="12", p="54")
        second = asked(stem.replace("54", "48"), expression, s="12", p="48")
        assert same_question(first, second) == ""


def test_of_two_repeats_the_first_one_stays() -> None:
    items = [
        item(question("What is $1+1$?")),
        item(question("What is $2+2$?"), difficulty=item().difficulty),
        item(question("What  is $1 + 1$ ?")),
    ]
    found = find_duplicates(items)
    assert list(found) == [items[2].id]
    assert found[items[2].id][0] == items[0].id
