from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.agents.exams import shown_ideas

BUDGET = 2_000


def test_an_idea_is_shown_to_its_end() -> None:
    idea = "The cube of the edge matters. " * 20 + "Its wrong path ends at the square."
    assert shown_ideas([idea]) == f"- {idea}"


def test_the_newest_ideas_are_shown_and_the_others_counted() -> None:
    ideas = [f"{number} {'word ' * 120}end" for number in range(6)]
    first, *rows = shown_ideas(ideas).splitlines()
    assert first == "(3 older ideas are not shown)"
    assert rows == [f"- {one}" for one in ideas[3:]]
    assert shown_ideas(ideas[:4]).startswith("(1 older idea is not shown)\n- 1 ")


def test_without_an_idea_that_is_said() -> None:
    assert shown_ideas([]) == "(none yet)"


@settings(max_examples=100, deadline=None)
@given(sizes=st.lists(st.integers(1, 2_500), max_size=60))
def test_shown_ideas_keep_their_budget_and_none_is_lost_silently(sizes: list[int]) -> None:
    ideas = [f"{place}" + "x" * size for place, size in enumerate(sizes)]
    rows = shown_ideas(ideas).splitlines()
    shown = [row for row in rows if row.startswith("- ")]
    assert len("\n".join(shown)) <= BUDGET
    hidden = len(ideas) - len(shown)
    assert (f"({hidden} older" in rows[0]) is bool(hidden and ideas)
    assert all(row == f"- {idea}" for row, idea in zip(shown[:-1], ideas[hidden:-1], strict=True))
    if ideas and len(ideas[-1]) <= BUDGET - 2:
        assert shown[-1] == f"- {ideas[-1]}"
