from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.loop.evaluation.answer_marks import exact, mark_answer, token_f1, wrong_type


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
    ("question", "reference", "given"),
    [
        ("When was the bridge opened?", "12 May 1879", "42"),
        ("In which year did the mill close?", "1951", "because of rain"),
        ("What date is on the stone?", "3 June 1802", "Marie Curie"),
        ("When did it open?", "1879", "7 kg"),
        ("How many arches does it have?", "seven", "because of rain"),
        ("How many cows were sold?", "23", "the market"),
        ("How much did it cost?", "$5 million", "Paris"),
        ("What percentage of the seats is free?", "12 %", "the upper rows"),
        ("How old was the tower?", "42 years", "in 1879"),
        ("How long did the repair take?", "3 weeks", "the mason"),
        ("Who built the bridge?", "Ida Holm", "42"),
        ("Who built the bridge?", "Ida Holm", "in 1879"),
        ("Where is the mill?", "Ridge", "42 kg"),
        ("Where is the mill?", "Ridge", "due to the flood"),
        ("Who built the bridge?", "Ida Holm", "because the old one fell"),
        ("Why was it closed?", "the roof leaked", "17"),
        ("Which town has the mill?", "Ridge", "Yes."),
    ],
)
def test_an_answer_of_another_type_is_named(question: str, reference: str, given: str) -> None:
    assert wrong_type(question, reference, given)


@pytest.mark.parametrize(
    ("question", "reference", "given"),
    [
        ("When was the bridge opened?", "12 May 1879", "1879"),
        ("When was the bridge opened?", "12 May 1879", "the 12th"),
        ("When was the bridge opened?", "1879", "'79"),
        ("When was the bridge opened?", "1879", "MDCCCLXXIX"),
        ("When was the bridge opened?", "1879", "after the war"),
        ("When was the bridge opened?", "1879", "on a Tuesday"),
        ("When was the bridge opened?", "when the king came", "42"),
        ("When does it open?", "after 30 days", "when a month has passed"),
        ("How many arches does it have?", "0", "none"),
        ("How many arches does it have?", "2", "a pair"),
        ("How many cows were sold?", "23", "several"),
        ("How many cows were sold?", "twenty-three", "23"),
        ("How long is the beam?", "2 m", "as long as the door"),
        ("How often is it read?", "4 times a year", "quarterly"),
        ("How often is it read?", "twice", "2"),
        ("How hot must it be?", "20 degrees", "room temperature"),
        ("Which king is named?", "Louis XIV", "14"),
        ("Which model is it?", "U2", "42"),
        ("What caused the delay?", "rain", "because of rain"),
        ("When and why was it closed?", "1951", "because of rain in 1951"),
        ("Did it rain?", "yes", "no"),
        ("Was the bridge closed?", "Yes, in May", "Yes"),
        ("Who built the bridge?", "Ida Holm", "a mason"),
        ("Where is the mill?", "Ridge", "12 Mill Lane"),
        ("How many?", "7", "?"),
    ],
)
def test_an_answer_that_may_be_of_the_right_type_is_left_alone(
    question: str, reference: str, given: str
) -> None:
    assert wrong_type(question, reference, given) == ""


@pytest.mark.parametrize(
    ("said", "right", "same"),
    [
        ("6 590 pounds", "6,590 pounds", True),
        ("12,5 km", "12.5 km", True),
        ("18.50", "18,50", True),
        ("12,5 km", "125 km", False),
        ("6 590 pounds", "6,591 pounds", False),
    ],
)
def test_european_numbers_are_right_too(said: str, right: str, same: bool) -> None:
    marked = mark_answer("How much is it?", right, said, None, "judge").result
    assert (marked is not None and marked.right) is same
