"""Grades, confidences and ungrounded answers as the terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.records.grading import Grade, Highlight

MOST_HIGHLIGHTS = 10
_COLOURS = {Grade.A: "green", Grade.B: "green", Grade.C: "yellow", Grade.D: "red", Grade.F: "red"}


class Graded(Protocol):
    """What a row of the table shows."""

    @property
    def overall_grade(self) -> Grade | None: ...

    @property
    def overall_confidence(self) -> float | None: ...


GradedT = TypeVar("GradedT", bound=Graded)


def grade_table(title: str, whole: Graded, counts: Sequence[int]) -> Table:
    """A table of documents, with the totals of all in its footer. `counts`: grounded, ungrounded, not measured."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_footer=True)
    table.add_column(title, "all documents", overflow="fold")
    names = ("grade", "confidence", "grounded", "ungrounded", "not\nmeasured")
    for name, total in zip(names, _cells(whole, counts), strict=True):
        table.add_column(name, total, justify="right", no_wrap=True)
    return table


def add_grades(table: Table, name: str, one: Graded, counts: Sequence[int]) -> None:
    table.add_row(escape(name), *_cells(one, counts))


def least_first(documents: Sequence[GradedT]) -> list[GradedT]:
    """The documents by confidence, the lowest first and those without one last."""
    return sorted(
        documents, key=lambda one: 2.0 if one.overall_confidence is None else one.overall_confidence
    )


def _cells(one: Graded, counts: Sequence[int]) -> list[str]:
    return [_letter(one.overall_grade), _number(one.overall_confidence), *(f"{count:,}" for count in counts)]


def _letter(grade: Grade | None) -> str:
    """A grade in its colour; `-` for no grade."""
    return "-" if grade is None else f"[{_COLOURS[grade]}]{grade.value}[/]"


def _number(value: float | None) -> str:
    """A confidence; `-` for none."""
    return "-" if value is None else f"{value:.2f}"


def show_highlights(console: Console, highlights: Sequence[Highlight]) -> None:
    """The first ungrounded answers with their reasons."""
    for one in highlights[:MOST_HIGHLIGHTS]:
        place = f"{one.document_id} (confidence {_number(one.confidence)})"
        console.print(f"\n[bold]{escape(one.question)}[/bold] [dim]{escape(place)}[/dim]", highlight=False)
        console.print(f"  {escape(one.answer)}", highlight=False)
        for reason in one.reasons:
            console.print(f"  [red]{escape(reason)}[/red]", highlight=False)
    if len(highlights) > MOST_HIGHLIGHTS:
        console.print(
            f"\n... and {len(highlights) - MOST_HIGHLIGHTS:,} more ungrounded answers; the JSON lists all"
        )
