"""`qagen stats`: the questions and cost of each combination. `qagen runs`: the runs. `qagen compare`: two runs, profiles or versions."""

from collections.abc import Sequence
from itertools import zip_longest

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog import queries
from qagen_dagster.cli.catalog import current_catalog
from qagen_dagster.cli.options import Selection, combination_options, json_option
from qagen_dagster.cli.output import Terminal, exact_money, print_json, slashed
from qagen_dagster.errors import ConfigError
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

_SHOWN = 20  # maximum number of questions of one side


@click.command()
@combination_options
@json_option
@click.pass_obj
def stats(settings: Settings, chosen: Selection, as_json: bool) -> None:
    """Show counts, tokens and cost of each combination.

    The cost is split by role and also given per accepted question.
    """
    with current_catalog(Store(settings.assets)) as file:
        found = _matching(queries.combinations(file), *chosen)
    if as_json:
        print_json(found)
        return
    console = Terminal()
    console.print(_questions(found))
    console.print(_costs(found))


def _matching(every: Sequence[queries.Row], *wanted: str | None) -> list[queries.Row]:
    """The rows of a corpus, a scenario and a mode; None matches all. Raises ConfigError if something is chosen and no row matches."""
    found = [
        row
        for row in every
        if all(a in (None, b) for a, b in zip(wanted, row.combination.split("/"), strict=True))
    ]
    if not found and (every or any(wanted)):
        known = ", ".join(dict.fromkeys(row.combination for row in every)) or "none"
        raise ConfigError(f"no combination of the catalog matches (there are: {known})")
    return found


def _questions(chosen: Sequence[queries.Row]) -> Table:
    table = Table(title="Questions", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("combination", "accepted", "pass rate", "rejected by reason"):
        table.add_column(name, overflow="fold")
    for row in chosen:
        table.add_row(
            slashed(row.combination),
            str(row.accepted),
            "-" if row.pass_rate is None else f"{row.pass_rate:.0%}",
            ", ".join(f"{name} {count}" for name, count in row.rejected_by_reason.items()) or "-",
        )
    return table


def _costs(chosen: Sequence[queries.Row]) -> Table:
    """A row for each combination, and below it a row for each role. Each row has two lines, to fit a terminal."""
    table = Table(
        title="Cost\n",
        caption="A replayed request counts once. Seconds are model time of all parallel calls.\n"
        "The last column divides all spending and tokens by the accepted questions.",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("combination\nrole, model", overflow="fold")
    for name in (
        "calls", "tokens in\ncached", "tokens out\nreasoning", "seconds\nretries", "cost", "per\nquestion",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    for row in chosen:
        each = "-" if row.usd is not None and not row.accepted else exact_money(row.usd_per_accepted)
        tokens = "-" if row.tokens_per_accepted is None else f"{row.tokens_per_accepted:,.0f}"
        unknown = row.unknown_price_share if row.calls else 0.0
        table.add_row(
            f"[bold]{slashed(row.combination)}[/bold]",
            *_spent(row, row.model_seconds),
            _cost(row, unknown),
            f"{each}\n{tokens}",
        )
        for role in row.roles:
            unknown = role.unknown_price_calls / role.calls if role.calls else 0.0
            name = f"  {role.role}\n  {escape(role.model)}"
            table.add_row(name, *_spent(role, role.seconds), _money(role.usd, unknown))
        table.add_section()
    return table


def _spent(spending: queries.Row, seconds: float) -> list[str]:
    return [
        f"{spending.calls:,}",
        f"{_tokens(spending, spending.input_tokens)}\n{_tokens(spending, spending.cached_tokens)}",
        f"{_tokens(spending, spending.output_tokens)}\n{_tokens(spending, spending.reasoning_tokens)}",
        f"{seconds:,.1f}\n{spending.retries:,}",
    ]


@click.command()
@combination_options
@json_option
@click.pass_obj
def runs(settings: Settings, chosen: Selection, as_json: bool) -> None:
    """List the runs of question sets, the newest first.

    Shows the cost of each run, and the cost per question that it added.
    """
    with current_catalog(Store(settings.assets)) as file:
        found = _matching(queries.runs(file), *chosen)
    if as_json:
        print_json(found)
        return
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("run", "combination", "started", "outcome", "added", "cost", "per question"):
        table.add_column(name, overflow="fold")
    for row in found:
        started = "-" if row.started is None else row.started.strftime("%Y-%m-%d %H:%M")
        each = "-" if not row.added else exact_money(row.usd_per_added)
        cells = (row.run_id[:8], slashed(row.combination), started, row.status or "-", str(row.added))
        table.add_row(*cells, exact_money(row.usd), each)
    Terminal().print(table)


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
    with current_catalog(Store(settings.assets)) as file:
        found = queries.compare(file, first, second)
    if as_json:
        print_json(found)
        return
    console = Terminal()
    for comparison in found:
        console.print(_side_by_side(comparison, first, second))
        _print_questions(console, first, comparison.only_in_first)
        _print_questions(console, second, comparison.only_in_second)


def _side_by_side(comparison: queries.Row, first: str, second: str) -> Table:
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
        ("cost", [_cost_of_run(side) for side in sides]),
    ]
    for name, values in rows:
        table.add_row(name, *(escape("-" if value is None else str(value)) for value in values))
    return table


def _retired(questions: Sequence[queries.Row]) -> int:
    return sum(question.reason is not None for question in questions)


def _cost_of_run(side: queries.Row) -> str | None:
    if side.calls is None:
        return None
    if side.usd is None:
        return "unknown"
    more = f" + {side.unknown_price_calls} calls of unknown cost" if side.unknown_price_calls else ""
    return f"${side.usd:.4f}{more}"


def _print_questions(console: Terminal, name: str, questions: Sequence[queries.Row]) -> None:
    console.print(f"[bold]only in {escape(name)}: {len(questions)}[/bold]")
    for question in questions[:_SHOWN]:
        text = f"  {question.question_id}  {question.source_document}: {question.question}"
        console.print(escape(text), highlight=False)
        if question.reason is not None:
            console.print(escape(f"    retired, {question.reason}: {question.detail}"), highlight=False)
            for before, now in zip_longest(question.text_before or (), question.text_now or (), fillvalue=""):
                console.print(escape(f"      before: {before}"), highlight=False)
                console.print(escape(f"      now:    {now or 'nothing like it'}"), highlight=False)
    if len(questions) > _SHOWN:
        console.print(f"  and {len(questions) - _SHOWN} more; --json has all")


def _tokens(row: queries.Row, count: int | None) -> str:
    """The number of tokens; "-" if no server counted them, and a lower bound if some calls were not counted."""
    return "-" if count is None else f"{'≥ ' if row.uncounted_calls else ''}{count:,}"


def _cost(row: queries.Row, unknown_share: float) -> str:
    if not row.calls and not row.at_least:
        return "-"
    least = "≥ " if row.at_least and row.usd is not None else ""
    return f"{least}{_money(row.usd, unknown_share)}"


def _money(usd: float | None, unknown_share: float) -> str:
    if usd is None:
        return "unknown"
    return f"{exact_money(usd)} + {unknown_share:.0%} unknown" if unknown_share else exact_money(usd)
