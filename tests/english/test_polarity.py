from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.polarity import by_form, denied, leaves_open
from qagen_dagster.english.words import stem


@pytest.mark.parametrize(
    "sentence",
    [
        "Does the drug affect sleep?",
        "To determine the effect of the drug on sleep.",
        "It is not known whether the drug affects sleep.",
        "The aim of this work was to find an effect on sleep.",
        "We hypothesised that the drug affects sleep.",
        "The authors sought to show an effect on sleep.",
    ],
)
def test_what_somebody_asks_or_sets_out_to_find_is_left_open(sentence: str) -> None:
    assert leaves_open(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The drug affects sleep.",
        "The drug was compared with a placebo.",
        "To the north lies the sea.",
        "The drug aims at a receptor.",
        "She scored the first goal.",
        "Objective responses were seen in both groups.",
        "They asked 40 patients.",
    ],
)
def test_what_is_stated_is_not_left_open(sentence: str) -> None:
    assert not leaves_open(sentence)


def test_a_denial_concerns_the_words_behind_it_up_to_the_end_of_the_clause() -> None:
    assert denied("The drug does not affect sleep, but appetite.") == {"affect", "sleep"}
    assert denied("The drug affects sleep.") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("stable", "unstable"),
        ("prenatal", "postnatal"),
        ("hypotension", "hypertension"),
        ("increase", "decrease"),
        ("overestimate", "underestimate"),
    ],
)
def test_prefixes_make_opposites_both_ways(one: str, other: str) -> None:
    assert stem(other) in by_form(stem(one))
    assert stem(one) in by_form(stem(other))


@pytest.mark.parametrize(
    ("one", "other"), [("form", "inform"), ("in", "un"), ("port", "report"), ("flexion", "hyperflexion")]
)
def test_short_rests_and_other_prefixes_make_none(one: str, other: str) -> None:
    assert (stem(other) in by_form(stem(one))) is (other == "inform")


@given(st.text(alphabet="unipreostfulxy", max_size=12))
def test_opposites_by_form_are_mutual(word: str) -> None:
    assert word not in by_form(word)
    assert all(word in by_form(other) for other in by_form(word))
