from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.facts.words import content_stems, stem
from qagen_dagster.grounding.opposites import by_form, opposite_in

EVIDENCE = "The new method efficiently removes old noise before the recording of each neuron."


def found(claim: str, evidence: str = EVIDENCE, question: str = "") -> tuple[str, str] | None:
    return opposite_in(content_stems(claim), frozenset(content_stems(question)), [content_stems(evidence)])


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("The method inefficiently removes noise.", ("inefficiently", "efficiently")),
        ("The new method adds old noise.", None),
        ("The method removes young noise before the recording.", None),  # not by form
        ("Young people make recordings.", None),  # nothing beside it stands beside "old"
        ("The method efficiently removes noise.", None),
        ("The method efficiently, not inefficiently, removes noise.", None),  # has both
    ],
)
def test_an_opposite_counts_in_the_place_of_the_other(claim: str, words: tuple[str, str] | None) -> None:
    assert found(claim) == (words and tuple(map(stem, words)))


def test_words_of_the_question_are_not_exchanged() -> None:
    claim = "The method inefficiently removes noise."
    assert found(claim, question="Does it work inefficiently?") is None


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


@given(st.lists(st.sampled_from(["young", "old", "old", "new", "dog", "cat"]), max_size=8))
def test_a_text_has_no_opposite_of_itself(words: list[str]) -> None:
    assert opposite_in(words, frozenset[str](), [words]) is None
