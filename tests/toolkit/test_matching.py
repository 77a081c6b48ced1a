from __future__ import annotations

import time

import pytest

from qagen_dagster.toolkit import matching
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.matching import Hit, find_literal, find_regex


def regex(text: str) -> matching.Pattern:
    return matching.regex(text, ignore_case=False)


def test_one_hit_per_line_with_its_place(make_view) -> None:
    view: DocumentView = make_view("xx \u00fcx\n\nx")
    found = find_regex(view, regex("x"), 1)
    assert found.hits == (Hit(1, 1, 0), Hit(3, 3, 8))
    assert find_literal(view, matching.literal("x", ignore_case=False), 1) == found
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


def literal(text: str) -> matching.Pattern:
    return matching.literal(text, ignore_case=True)


def test_a_phrase_that_costs_too_much_ends_in_seconds(make_view) -> None:
    view = make_view("\n".join(["a" * 999] * 2_000))
    began = time.thread_time()
    found = find_literal(view, literal("a" * 1_000), 1, max_seconds=0.2)
    assert time.thread_time() - began < 4
    assert found.hits == ()
    assert found.stopped_at is not None
    assert 1 < found.stopped_at < 2_000
    later = find_literal(view, literal("a" * 1_000), found.stopped_at, max_seconds=0.2)
    assert later.stopped_at is not None
    assert later.stopped_at > found.stopped_at


@pytest.mark.parametrize("at", [0, 47_990, 49_999, 50_000, 96_000, 150_000])
@pytest.mark.parametrize("gap", [" ", "\n" * 3, "\u2003 \n" * 60_000])
def test_a_phrase_is_found_wherever_it_stands(make_view, at: int, gap: str) -> None:
    before = "é z\n" * (at // 5) + "z" * (at % 5)
    view = make_view(f"{before}the{gap}need-\nle{'b' * 60_000}\nz")
    pattern = literal("the needle")
    match = pattern.search(view.data)
    assert match is not None
    hit = Hit(view.line_at(match.start()), view.line_at(match.end() - 1), match.start())
    assert find_literal(view, pattern, 1).hits == (hit,)


def test_a_phrase_search_out_of_time_says_where_to_go_on(make_view) -> None:
    found = find_literal(make_view("x\nx\ny\nx"), literal("x"), 1, max_seconds=0.0)
    assert (found.hits, found.stopped_at) == ((Hit(1, 1, 0),), 2)
