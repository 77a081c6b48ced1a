from __future__ import annotations

import pytest

from qagen_dagster.agents.questions.history import History, prompt_values, unused_parts
from qagen_dagster.records.questions.results import Evidence
from tests.support.documents import context_of


def place(start: int, end: int) -> Evidence:
    return Evidence(quote="x", start_line=start, end_line=end)


@pytest.mark.parametrize(
    ("used", "total", "unused"),
    [
        ([], 9, "1-9"),
        ([], 0, "none"),
        ([(1, 9)], 9, "none"),
        ([(4, 5)], 9, "1-3, 6-9"),
        ([(6, 9), (2, 5)], 9, "1"),
        ([(2, 8), (3, 4)], 9, "1, 9"),
        ([(n, n) for n in range(10, 100, 10)], 95, "1-9, 11-19, 21-29, 31-39, 41-49, 51-59"),
    ],
)
def test_unused_parts_are_the_longest_gaps(used: list[tuple[int, int]], total: int, unused: str) -> None:
    assert unused_parts([place(*one) for one in used], total) == unused


def test_references_count_as_used() -> None:
    assert unused_parts([place(4, 5)], 20, [(12, 20)]) == "1-3, 6-11"


def test_short_gaps_are_named_only_where_there_is_nothing_else() -> None:
    assert unused_parts([place(5, 6), place(30, 31)], 40) == "7-29"
    assert unused_parts([place(5, 6)], 9) == "1-4, 7-9"


def test_a_note_that_is_made_twice_is_shown_once() -> None:
    """A corrected submission repeats the notes of the refused one."""
    notes = ("Line 4 says how often.", "Line 6 names Ida Holm.", "line 4 says  how often.")
    shown = prompt_values(context_of(), History(also_seen=notes))["also_seen"]
    assert shown.splitlines() == ["- line 4 says  how often.", "- Line 6 names Ida Holm."]
