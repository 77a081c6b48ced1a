from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.grounding.error_rates import error_rates
from qagen_dagster.records.grading import ErrorRate

PAGE = Path(__file__).parents[2] / "docs" / "grading.md"


def row(one: ErrorRate) -> str:
    return (
        f"| {one.documents} | {one.verdict} | {one.decided:,} of {one.answers:,} ({one.decided / one.answers:.1%}) | "
        f"{one.precision:.3f} ({one.low:.2f} to {one.high:.2f}) |"
    )


def test_each_verdict_has_a_figure_for_short_and_for_long_documents() -> None:
    found = [(one.documents, one.verdict) for one in error_rates()]
    assert found == [
        ("short", "supported"),
        ("short", "unsupported"),
        ("long", "supported"),
        ("long", "unsupported"),
    ]


@pytest.mark.parametrize("one", error_rates(), ids=lambda one: f"{one.documents} {one.verdict}")
def test_figures_are_possible_and_the_page_has_them(one: ErrorRate) -> None:
    assert one.right <= one.decided <= one.answers
    assert one.low <= one.precision <= one.high
    assert row(one) in PAGE.read_text(encoding="utf-8")
