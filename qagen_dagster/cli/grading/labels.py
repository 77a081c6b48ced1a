"""Grades, confidences and ungrounded answers as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from qagen_dagster.records.grading import Grade, Highlight

MOST_HIGHLIGHTS = 10
_COLOURS = {Grade.A: "green", Grade.B: "green", Grade.C: "yellow", Grade.D: "red", Grade.F: "red"}


def letter(grade: Grade | None) -> str:
    """A grade with its colour; `-` where there is none."""
    return "-" if grade is None else f"[{_COLOURS[grade]}]{grade.value}[/]"


def number(value: float | None) -> str:
    """A confidence; `-` where there is none."""
    return "-" if value is None else f"{value:.2f}"


def show_highlights(console: Console, highlights: Sequence[Highlight]) -> None:
    """The first ungrounded answers with their reasons."""
    for one in highlights[:MOST_HIGHLIGHTS]:
        place = f"{one.document_id} ({number(one.confidence)})"
        console.print(f"\n[bold]{escape(one.question)}[/bold] [dim]{escape(place)}[/dim]", highlight=False)
        console.print(f"  {escape(one.answer)}", highlight=False)
        for reason in one.reasons:
            console.print(f"  [red]{escape(reason)}[/red]", highlight=False)
    if len(highlights) > MOST_HIGHLIGHTS:
        console.print(
            f"\n... and {len(highlights) - MOST_HIGHLIGHTS:,} more ungrounded answers; the JSON has all"
        )
