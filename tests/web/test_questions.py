from __future__ import annotations

from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.web.questions import marked, windows

LINES = ["one two", "three four", "five", "six"]


def spans(*places: tuple[int, int]) -> list[Evidence]:
    return [Evidence(quote="x", start_line=start, end_line=end) for start, end in places]


def test_windows_that_touch_are_one() -> None:
    assert windows(spans((20, 21), (30, 30), (60, 60)), 62) == [(14, 36), (54, 62)]
    assert windows(spans((9, 9)), 0) == []  # the document lost its text


def test_a_quote_is_marked_over_line_ends() -> None:
    quote = Evidence(quote="two\nthree four\nfi", start_line=1, end_line=3)
    assert [line.pieces for line in marked(LINES, [quote], 1, 4)] == [
        ("one ", "two"),
        ("", "three four"),
        ("", "fi", "ve"),
        ("six",),
    ]


def test_a_quote_that_is_gone_marks_nothing() -> None:
    quote = Evidence(quote="seven", start_line=1, end_line=9)
    assert [line.pieces for line in marked(LINES, [quote], 2, 3)] == [("three four",), ("five",)]
