from __future__ import annotations

import pytest

from qagen_dagster.toolkit import patterns
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.matching import Hit, find_literal, find_regex


def regex(text: str) -> patterns.Pattern:
    return patterns.regex(text, ignore_case=False)


def test_one_hit_per_line_with_its_place(make_view) -> None:
    view: DocumentView = make_view("xx \u00fcx\n\nx")
    found = find_regex(view, regex("x"), 1)
    assert found.hits == (Hit(1, 1, 0), Hit(3, 3, 8))
    assert find_literal(view, patterns.literal("x", ignore_case=False), 1) == found
    assert find_regex(view, regex("x"), 2).hits == (Hit(3, 3, 8),)


def test_out_of_time_says_where_to_go_on(make_view) -> None:
    view = make_view("x\nx\ny\nx")
    found = find_regex(view, regex("x"), 1, max_seconds=0.0)
    assert found.stopped_at == 2
    assert [hit.first for hit in found.hits] == [1]
    assert find_regex(view, regex("y"), 1, max_seconds=0.0).stopped_at == 1


@pytest.mark.parametrize("at", [0, 47_990, 49_999, 50_000, 96_000, 150_000])
def test_an_endless_line_is_searched_to_its_end(make_view, at: int) -> None:
    line = "a" * at + "needle" + "b" * 60_000
    assert find_regex(make_view(f"q\n{line}\nz"), regex("nee?dle"), 1).hits == (Hit(2, 2, at + 2),)
