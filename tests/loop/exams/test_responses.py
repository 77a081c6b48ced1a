"""Statistics of items against their definitions, and intervals against the model that made the answers."""

from __future__ import annotations

from statistics import correlation, pvariance

import pytest

from qagen_dagster.loop.exams.responses import Table, share_of
from qagen_dagster.records.exams.paper import ItemFlag
from tests.support.exams.items import item, question
from tests.support.exams.papers import responses

ASKED = item(question(key="A", **dict(zip("ABCDE", "12345", strict=True))))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_follow_their_definitions(seed: int) -> None:
    rows = responses(["A"] * 8, seed, {}, {})
    table = Table(rows, [ASKED] * 8)
    right = [[float(letter == "A") for letter in row] for row in rows]
    scores = [sum(row) for row in right]
    for column in range(8):
        figures, own = table.figures(column), [row[column] for row in right]
        rest = [score - one for score, one in zip(scores, own, strict=True)]
        assert figures.facility.value == pytest.approx(sum(own) / len(own))
        assert figures.discrimination is not None
        assert figures.discrimination.value == pytest.approx(correlation(own, rest))
        assert figures.discrimination.low < figures.discrimination.value < figures.discrimination.high
        assert sum(figures.chosen.values()) == len(rows)
    inner = sum(pvariance([row[column] for row in right]) for column in range(8))
    reliability = table.reliability()
    assert reliability is not None
    assert reliability.value == pytest.approx(8 / 7 * (1 - inner / pvariance(scores)))


def test_wilson_is_the_interval_of_the_textbook() -> None:
    found = share_of(0.8, 50)
    assert (round(found.low, 3), round(found.high, 3)) == (0.670, 0.888)
    assert (share_of(0, 10).low, share_of(1, 10).high) == (0, pytest.approx(1))


@pytest.mark.parametrize("keys", [["A"], ["A", "A"]])
def test_what_cannot_be_computed_is_none(keys: list[str]) -> None:
    table = Table([keys, keys], [ASKED] * len(keys))
    assert table.reliability() is None
    figures = table.figures(0)
    assert (figures.discrimination, figures.suspected, figures.dead) == (None, None, ())


def test_equal_scores_are_shared_between_the_thirds_whatever_their_order() -> None:
    rows = [["A", "A"], ["A", "B"], ["B", "A"], ["B", "B"]] * 10
    first, again = (Table(order, [ASKED] * 2).figures(0) for order in (rows, rows[::-1]))
    assert (
        (first.upper, first.lower) == (again.upper, again.lower) == (pytest.approx(0.5), pytest.approx(0.5))
    )


def test_rules_need_the_whole_interval() -> None:
    """Two wrong keys, and a distractor that nobody takes, of 400 candidates; of 12 nothing is certain."""
    rows = responses(["A"] * 20, 7, {3: "B", 9: "C"}, {5: "D"})
    figures = [Table(rows, [ASKED] * 20).figures(column) for column in range(20)]
    assert {at: one.suspected for at, one in enumerate(figures) if one.suspected} == {3: "B", 9: "C"}
    assert figures[5].dead == ("D",)
    assert ItemFlag.NEGATIVE in figures[3].flags
    few = Table(rows[:12], [ASKED] * 20)
    assert not any(few.figures(column).dead for column in range(20))
