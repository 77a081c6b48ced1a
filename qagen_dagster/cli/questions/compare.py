"""`qagen compare`: shows two runs, profiles or versions of a published set side by side."""

from collections.abc import Sequence
from itertools import zip_longest

import click
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog import stats as queries
from qagen_dagster.cli.catalog import current_catalog
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal, print_json
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings

SHOWN = 20  # maximum number of questions of one side


@click.command()
@click.argument("first")
@click.argument("second")
@json_option
@click.pass_obj
def compare(settings: Settings, first: str, second: str, as_json: bool) -> None:
    """Compare two runs, profiles or versions of a published set.

    FIRST and SECOND are each one of: a run id or its beginning; the name of a profile, which stands for the latest run
    of each combination with it; or a version of a set, as corpus/scenario/mode@2. Shows accepted and rejected candidates,
    reasons, cost, how many questions are in both sets (kept), and the questions that are in only one: new ones, and retired ones
    with the reason and what the document said before and says now.
    """
    with current_catalog(Workspace(settings).store) as file:
        found = queries.compare(file, first, second)
    if as_json:
        print_json(found)
        return
    console = Terminal()
    for comparison in found:
        console.print(_figures(comparison, first, second))
        _print_questions(console, first, comparison.only_in_first)
        _print_questions(console, second, comparison.only_in_second)


def _figures(comparison: queries.Row, first: str, second: str) -> Table:
    table = Table(title=escape(comparison.first.combination))
    table.add_column("")
    for name in (first, second):
        table.add_column(escape(name), overflow="fold")
    sides = (comparison.first, comparison.second)
    reasons = sorted({reason for side in sides for reason in side.rejected_by_reason})
    rows: list[tuple[str, list[object]]] = [
        ("run", [side.run_id for side in sides]),
        ("started (UTC)", [f"{side.started:%Y-%m-%d %H:%M}" if side.started else None for side in sides]),
        ("status", [side.status for side in sides]),
        ("profile", [side.profile for side in sides]),
        ("version of the set", [side.version for side in sides]),
        ("documents", [side.documents for side in sides]),
        ("accepted", [side.accepted for side in sides]),
        ("questions in both", [comparison.in_both, comparison.in_both]),
        ("questions in one only", [len(comparison.only_in_first), len(comparison.only_in_second)]),
        ("  of these retired", [_retired(comparison.only_in_first), _retired(comparison.only_in_second)]),
        ("rejected", [side.rejected for side in sides]),
        *((f"  {reason}", [side.rejected_by_reason.get(reason, 0) for side in sides]) for reason in reasons),
        ("pass rate", [None if side.pass_rate is None else f"{side.pass_rate:.0%}" for side in sides]),
        ("model calls", [side.calls for side in sides]),
        ("cost", [_cost(side) for side in sides]),
    ]
    for name, values in rows:
        table.add_row(name, *(escape("-" if value is None else str(value)) for value in values))
    return table


def _retired(questions: Sequence[queries.Row]) -> int:
    return sum(question.reason is not None for question in questions)


def _cost(side: queries.Row) -> str | None:
    if side.calls is None:
        return None
    if side.usd is None:
        return "unknown"
    more = f" + {side.unknown_price_calls} calls of unknown cost" if side.unknown_price_calls else ""
    return f"${side.usd:.4f}{more}"


def _print_questions(console: Terminal, name: str, questions: Sequence[queries.Row]) -> None:
    console.print(f"[bold]only in {escape(name)}: {len(questions)}[/bold]")
    for question in questions[:SHOWN]:
        text = f"  {question.question_id}  {question.source_document}: {question.question}"
        console.print(escape(text), highlight=False)
        if question.reason is not None:
            console.print(escape(f"    retired, {question.reason}: {question.detail}"), highlight=False)
            for before, now in zip_longest(question.text_before or (), question.text_now or (), fillvalue=""):
                console.print(escape(f"      before: {before}"), highlight=False)
                console.print(escape(f"      now:    {now or 'nothing like it'}"), highlight=False)
    if len(questions) > SHOWN:
        console.print(f"  and {len(questions) - SHOWN} more; --json has all")
