"""Groups the quotes of an answer into passages."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.agents.questions.evidence.whole_sentence import head_of_table
from qagen_dagster.records.questions.results import Evidence


def passages(lines: Sequence[str], places: Sequence[Evidence]) -> list[set[int]]:
    """The numbers of the quotes of each passage. Lines that touch or overlap are one passage, and so are the rows of a table
    with its head.
    """
    heads = [None if one.start_line is None else head_of_table(lines, one.start_line) for one in places]
    found: dict[tuple[int, int], set[int]] = {}
    before, end = (-1, -1), -1
    for number in sorted(range(len(places)), key=lambda number: places[number].start_line or 0):
        start, last = places[number].start_line or 0, places[number].end_line or 0
        above = next((head for head in heads if head and start <= head[1] and head[0] <= last), None)
        touches = 0 < start <= end + 1
        before = heads[number] or above or (before if touches else (-1, number))
        found.setdefault(before, set()).add(number)
        end = max(end, last)
    return sorted(found.values(), key=min)
