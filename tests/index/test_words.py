from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.index.words import words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The VALVES", "the valve"),
        ("cities", "city"),
        ("Café Müller", "cafe\u0301 muller"),
        ("الْعَرَبِيَّةُ", "العربية"),
        ("\uff46\uff55\uff4c\uff4c \uff57ide", "full wide"),
        ("straße", "STRASSE"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [("bus", "bu"), ("class", "clas"), ("gas", "ga"), ("2022", "2023")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert not words_of(one) & words_of(other)


def test_scripts_without_spaces_are_found_by_pairs() -> None:
    assert words_of("黄河发源").total() == 3
    assert words_of("黄河") <= words_of("伟大的黄河发源于青海")
    assert words_of("第3章 valve12").total() == 4
    assert words_of("水").total() == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_words_of_two_lines_are_those_of_both(one: str, other: str) -> None:
    assert words_of(f"{one}\n{other}") == words_of(one) + words_of(other)
    assert all(0 <= word < 2**63 for word in words_of(one))
