from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.loop.questions.batch.duplicates import DuplicateMatch, find_duplicates

NEAR = "What made the river rise at the old mill in 1986?"
NEARER = "What caused the river to rise at the old mill in 1986?"
YEAR = "What made the river rise at the old mill in 1987?"


def alike(texts: Sequence[str]) -> NDArray[np.float32]:
    """All texts are 0.9 alike."""
    rows = np.full((len(texts), len(texts) + 1), 0.0, dtype=np.float32)
    rows[:, 0] = np.sqrt(0.9)
    for number in range(len(texts)):
        rows[number, number + 1] = np.sqrt(0.1)
    return rows


def test_equal_words_and_high_similarity_are_repeats_other_numbers_are_none() -> None:
    found = find_duplicates(
        ["what made the river rise  at the old mill in 1986?", NEARER, YEAR], [NEAR], alike, 0.85
    )
    assert found == [
        DuplicateMatch(NEAR, 1.0, exact=True),
        DuplicateMatch(NEAR, 0.9, exact=False),
        None,
    ]
    assert [one.detail for one in found if one] == ["the same words", "similarity 0.90"]


def test_new_ones_are_compared_with_each_other_but_not_with_repeats() -> None:
    first, second, third = find_duplicates([NEAR, NEARER, YEAR], [], alike, 0.85)
    assert (first, third) == (None, None)
    assert second is not None
    assert second.of == NEAR


def test_questions_for_another_kind_of_answer_are_no_repeats() -> None:
    known = ["How many mills stood at the river before the flood?"]
    assert find_duplicates(["How did the mills at the river stand the flood?"], known, alike, 0.85) == [None]
    assert find_duplicates(["What is the number of mills at the river?"], known, alike, 0.85) != [None]


def test_the_threshold_is_the_scenarios() -> None:
    assert find_duplicates([NEARER], [NEAR], alike, 0.95) == [None]
    assert find_duplicates([], [NEAR], alike, 0.5) == []
