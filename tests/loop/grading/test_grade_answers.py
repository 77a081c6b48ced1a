from __future__ import annotations

from qagen_dagster.loop.grading.grade_answers import coverage_lines
from qagen_dagster.records.grading import Decided, ErrorRate

RATE = ErrorRate(
    documents="short", verdict="supported", answers=100, decided=40, right=38, low=0.83, high=0.99
)


def test_a_person_is_told_what_was_decided_by_whom_and_how_often_such_verdicts_are_right() -> None:
    first, second = coverage_lines(Decided(code=50, judge=30, nobody=20), [RATE])
    assert first == "decided: 80% of 100 answers (50 by code, 30 by the judge, 20 not measured)"
    assert "`supported` was right in 0.95 of the cases (0.83 to 0.99)" in second


def test_nothing_is_told_of_an_earlier_report_or_of_errors_that_code_could_not_make() -> None:
    assert coverage_lines(None, [RATE]) == coverage_lines(Decided(), [RATE]) == []
    assert len(coverage_lines(Decided(judge=3), [RATE])) == 1
