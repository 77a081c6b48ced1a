from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.index import ranking
from qagen_dagster.index.ranking import words_of

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=9), min_size=1, max_size=6)


@given(TEXTS, st.sets(st.sampled_from("abcxyz"), min_size=1))
def test_bm25_is_the_formula(texts: list[list[str]], query: set[str]) -> None:
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    found = [
        (row, word, text.count(word)) for row, text in enumerate(texts) for word in sorted(query & set(text))
    ]
    rows, words, times = (
        np.array([one[n] if n != 1 else ord(str(one[1])) for one in found]) for n in range(3)
    )
    total, shares = ranking.bm25(
        lengths, rows.astype(np.int64), words.astype(np.int64), times.astype(np.float64), len(query)
    )
    average = max(sum(map(len, texts)) / len(texts), 1.0)
    reach = 0.0
    expected = [0.0] * len(texts)
    for word in query:
        having = sum(word in text for text in texts)
        rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        reach += rarity * 2.2
        for row, text in enumerate(texts):
            often = text.count(word)
            expected[row] += rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(text) / average))
    assert np.allclose(total, expected)
    assert np.allclose(shares, np.array(expected) / reach)
    assert (shares >= 0).all()
    assert (shares <= 1).all()


def test_both_methods_count_alike_and_a_contrary_meaning_is_none() -> None:
    both = ranking.both(np.array([1.0, -0.5, 0.0]), np.array([0.0, 0.0, 1.0]))
    assert both.tolist() == [0.5, 0.0, 0.5]


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
