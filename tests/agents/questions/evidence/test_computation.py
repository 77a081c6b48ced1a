from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents.questions.evidence.computation import described, wrong
from qagen_dagster.records.questions.submissions import Computation, Step

TABLE = """\
| | 2018 | 2019 |
| Mill Lane | 1,250 | 1,000 |
| Ferry Quay | 640.5 | (20) |
The council keeps three boats: the Heron, the Teal and the Grebe."""
RIGHT: list[tuple[str, tuple[str, ...], str]] = [
    ("sum", ("1,250", "640.5"), "1,890.5"),
    ("difference", ("1,250", "1,000"), "250"),
    ("difference", ("1,000", "1,250"), "250"),
    ("mean", ("1,250", "1,000"), "1,125"),
    ("product", ("1,000", "(20)"), "20,000"),
    ("ratio", ("1,000", "1,250"), "0.8"),
    ("ratio", ("1,000", "1,250"), "80%"),
    ("percent_change", ("1,000", "1,250"), "20 %"),
    ("ratio", ("640.5", "1,250"), "51.2 %"),
    ("count", ("the Heron", "the Teal", "the Grebe"), "3"),
    ("product", ("three", "1,000"), "3,000"),
    ("difference", ("1,000", "three boats"), "997"),
]


DATES = "The bridge was closed on 3 March 1947 and opened again on 2 May 1947."
CHOICES: list[tuple[str, tuple[str, ...], str, str]] = [
    ("maximum", ("Mill Lane: 1,250", "Ferry Quay: 640.5"), "Mill Lane", "Mill Lane had more."),
    ("minimum", ("Mill Lane: 1,250", "Ferry Quay: 640.5"), "Ferry Quay", "Ferry Quay had the fewest."),
    ("maximum", ("Mill Lane: 1,250", "Ferry Quay: 640.5"), "1,250", "1,250"),
    ("median", ("1,250", "1,000", "640.5"), "1,000", "1,000"),
    ("rank", ("Ferry Quay: 640.5", "Mill Lane: 1,250"), "2", "Ferry Quay"),
    ("rank", ("1,000", "1,250", "640.5"), "2", "It is in place 2."),
    ("days", ("2 May 1947", "3 March 1947"), "60", "60 days"),
]


@pytest.mark.parametrize(("operation", "items", "result", "answer"), CHOICES)
def test_a_name_a_median_and_days_between_dates_are_computed(
    operation: str, items: tuple[str, ...], result: str, answer: str
) -> None:
    assert wrong(computation(operation, items, result), answer, f"{TABLE}\n{DATES}") == ""


def test_the_larger_of_two_differences_is_named() -> None:
    steps = (
        Step(operation="difference", items=("1,250", "1,000"), result="250"),
        Step(operation="difference", items=("640.5", "(20)"), result="660.5"),
    )
    items = ("Mill Lane: 250", "Ferry Quay: 660.5")
    best = Computation(operation="maximum", items=items, result="Ferry Quay", steps=steps)
    assert wrong(best, "Ferry Quay fell by more.", TABLE) == ""
    other = best.model_copy(update={"result": "Mill Lane"})
    assert "is Ferry Quay: 660.5, not Mill Lane" in wrong(other, "Mill Lane fell by more.", TABLE)


@pytest.mark.parametrize(
    ("operation", "items", "result", "answer", "why"),
    [
        ("maximum", ("Mill Lane: 1,250", "Ferry Quay: 640.5"), "Ferry Quay", "Ferry Quay", "not Ferry Quay"),
        (
            "maximum",
            ("Mill Lane: 1,250", "Swan Quay: 640.5"),
            "Mill Lane",
            "Mill Lane",
            "stands in no evidence quote",
        ),
        (
            "maximum",
            ("Mill Lane: 1,250", "Ferry Quay: 640.5"),
            "Mill Lane",
            "The quay",
            "is no part of the answer",
        ),
        ("days", ("2 May 1947", "31 February 1947"), "60", "60", "stands in no evidence quote"),
        ("days", ("2 May 1947", "3 March 1947"), "61", "61", "is 60, not 61"),
    ],
)
def test_a_wrong_choice_or_count_of_days_is_refused(
    operation: str, items: tuple[str, ...], result: str, answer: str, why: str
) -> None:
    assert why in wrong(computation(operation, items, result), answer, f"{TABLE}\n{DATES}")


def computation(operation: Any, items: tuple[str, ...], result: str) -> Computation:
    return Computation(operation=operation, items=items, result=result)


@pytest.mark.parametrize(("operation", "items", "result"), RIGHT)
def test_a_right_computation_proves_its_answer(operation: str, items: tuple[str, ...], result: str) -> None:
    assert wrong(computation(operation, items, result), f"It was {result} in all.", TABLE) == ""


@pytest.mark.parametrize(
    ("operation", "items", "result", "answer", "why"),
    [
        ("sum", ("1,250", "640.5"), "1,891.5", "1,891.5", "the sum of 1,250; 640.5 is 1890.5, not 1,891.5"),
        ("sum", ("1,250", "99"), "1,349", "1,349", "the computation's '99' stands in no evidence quote"),
        ("sum", ("1,250", "640.5"), "1,890.5", "1,900", "is no part of the answer"),
        ("count", ("the Heron", "the Teal"), "3", "3", "the count of the Heron; the Teal is 2, not 3"),
        ("count", ("the Heron", "the Swan"), "2", "2", "'the Swan' stands in no evidence quote"),
        ("count", ("the Teal", "the teal"), "2", "2", "cannot be computed"),
        ("difference", ("1,250",), "1,250", "1,250", "cannot be computed"),
        ("mean", ("1,250 and 1,000",), "1,125", "1,125", "stands in no evidence quote"),
    ],
)
def test_a_wrong_one_says_what_is_wrong(
    operation: str, items: tuple[str, ...], result: str, answer: str, why: str
) -> None:
    assert why in wrong(computation(operation, items, result), answer, TABLE)


def test_results_of_steps_are_items_of_later_ones() -> None:
    steps = (
        Step(operation="difference", items=("1,250", "1,000"), result="250"),
        Step(operation="sum", items=("640.5", "1,000"), result="1,640.5"),
    )
    whole = Computation(steps=steps, operation="sum", items=("250", "1,640.5"), result="1,890.5")
    assert wrong(whole, "It was 1,890.5.", TABLE) == ""
    assert described(whole) == (
        "difference of 1,250; 1,000 = 250; then sum of 640.5; 1,000 = 1,640.5; then sum of 250; 1,640.5 = 1,890.5"
    )
    later = whole.model_copy(update={"steps": steps[1:]})
    assert "'250' stands in no evidence quote" in wrong(later, "It was 1,890.5.", TABLE)
    false = whole.model_copy(update={"steps": (steps[0].model_copy(update={"result": "251"}), steps[1])})
    assert "is 250, not 251" in wrong(false, "It was 1,890.5.", TABLE)


def test_a_percentage_of_a_number_is_a_product() -> None:
    assert wrong(computation("product", ("87%", "23"), "20"), "20 of them", "87% of the 23 boats") == ""
    assert "is 2001, not 21" in wrong(
        computation("product", ("87%", "23"), "21"), "21", "87% of the 23 boats"
    )


def test_one_is_a_number_where_it_is_added() -> None:
    quoted = "74 failures in 554 districts.\nOne of these districts had failed, too."
    assert wrong(computation("sum", ("74", "One"), "75"), "75 districts", quoted) == ""
    assert wrong(computation("sum", ("74", "1"), "75"), "75 districts", quoted) == ""


def test_nothing_is_divided_by_zero() -> None:
    assert "cannot be computed" in wrong(computation("ratio", ("1", "0"), "0"), "0", "1 of 0")


def test_a_number_beyond_all_measure_is_not_computed() -> None:
    huge = "9" * 400
    assert "stands in no evidence quote" in wrong(computation("sum", (huge, f"-{huge}"), "0"), "0", None)


def test_values_of_a_picture_are_computed_but_not_looked_up() -> None:
    assert wrong(computation("sum", ("12", "30"), "42"), "42", None) == ""
    assert "is 42, not 43" in wrong(computation("sum", ("12", "30"), "43"), "43", None)


def test_it_is_told_in_words() -> None:
    assert described(computation("sum", ("12", "30"), "42")) == "sum of 12; 30 = 42"


@given(st.text(), st.lists(st.text(max_size=9), min_size=1, max_size=4), st.text(max_size=12), st.text())
def test_any_words_have_an_outcome(answer: str, items: list[str], result: str, told: str) -> None:
    for operation in ("sum", "difference", "product", "ratio", "percent_change", "mean", "count"):
        assert isinstance(wrong(computation(operation, tuple(items), result), answer, told), str)
