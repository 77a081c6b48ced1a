from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.evaluation.answer_marks import exact, token_f1, wrong_type


@pytest.mark.parametrize(
    ("said", "right", "same", "f1"),
    [
        ("The Ridge station.", "ridge station", True, 1.0),
        ("12 bar", "a pressure of 12 bar", False, 2 * 2 / 6),
        ("12 bar", "13 psi", False, 0.0),
        ("", "12 bar", False, 0.0),
        ("Saint\u2010Denis \u00ab1998\u00bb", "saintdenis 1998", True, 1.0),
        ("\u6771\u4eac\u90fd", "\u6771\u4eac", False, 0.8),
        ("bar bar bar", "bar", False, 0.5),
        ("?", "?", True, 1.0),
        ("?", "!", False, 0.0),
    ],
)
def test_words_count_and_their_dress_does_not(said: str, right: str, same: bool, f1: float) -> None:
    assert exact(said, right) is same
    assert token_f1(said, right) == pytest.approx(f1)


@given(st.text(max_size=40), st.text(max_size=40))
def test_scores_are_shares_and_no_side_is_preferred(one: str, other: str) -> None:
    assert token_f1(one, other) == token_f1(other, one)
    assert 0 <= token_f1(one, other) <= 1
    assert exact(one, other) is exact(other, one)
    assert not exact(one, other) or token_f1(one, other) == 1
    assert exact(one, one)


@pytest.mark.parametrize(
    ("reference", "given"),
    [("Ida Holm", "42"), ("Ida Holm", "in 1879"), ("Ridge", "42 kg"), ("the roof leaked", "17")],
)
def test_a_number_for_words_is_named(reference: str, given: str) -> None:
    assert wrong_type(reference, given)


@pytest.mark.parametrize(
    ("reference", "given"),
    [
        ("12 May 1879", "1879"),
        ("when the king came", "42"),
        ("twenty-three", "23"),
        ("twice", "2"),
        ("Louis XIV", "14"),
        ("U2", "42"),
        ("Ida Holm", "a mason"),
        ("Ridge", "12 Mill Lane"),
        ("7", "?"),
    ],
)
def test_an_answer_that_may_be_of_the_right_type_is_left_alone(reference: str, given: str) -> None:
    assert wrong_type(reference, given) == ""
