"""The commands `qagen stats`, which shows counts, tokens and cost, and `qagen compare`, which compares runs, profiles or versions of a set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.catalog import compare as comparisons
from qagen_dagster.catalog import stats as queries
from qagen_dagster.cli.options import combination_options, json_option
from qagen_dagster.cli.output import Terminal, print_json, slashed
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.catalog.file import catalog_file
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


@click.command()
@combination_options
@json_option
@click.pass_obj
def stats(
    settings: Settings, corpus: str | None, scenario: str | None, mode: Mode | None, as_json: bool
) -> None:
    """Show counts, tokens and cost of each combination.

    The cost is split by role and also given per accepted question.
    """
    with catalog_file(Store(settings.assets)) as file:
        every = queries.combinations(file)
    chosen = [
        one
        for one in every
        if corpus in (None, one.corpus) and scenario in (None, one.scenario) and mode in (None, one.mode)
    ]
    if not chosen and (every or corpus or scenario or mode):
        known = ", ".join(one.combination for one in every) or "none"
        raise ConfigError(f"no combination of the catalog matches (there are: {known})")
    if as_json:
        print_json([one.model_dump(mode="json") for one in chosen])
        return
    console = Terminal()
    console.print(_questions(chosen))
    console.print(_costs(chosen))


def _questions(chosen: Sequence[queries.CombinationStats]) -> Table:
    table = Table(title="Questions", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("combination", "accepted", "pass rate", "rejected by reason"):
        table.add_column(name, overflow="fold")
    for one in chosen:
        table.add_row(
            slashed(one.combination),
            str(one.accepted),
            "-" if one.pass_rate is None else f"{one.pass_rate:.0%}",
            ", ".join(f"{name} {count}" for name, count in one.rejected_by_reason.items()) or "-",
        )
    return table


def _costs(chosen: Sequence[queries.CombinationStats]) -> Table:
    """A row for each combination, and below it one for each role. Each row has two lines, to fit a terminal."""
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
    for one in chosen:
        each = "-" if one.usd is not None and not one.accepted else _exact(one.usd_per_accepted)
        tokens = "-" if one.tokens_per_accepted is None else f"{one.tokens_per_accepted:,.0f}"
        unknown = one.unknown_price_share if one.calls else 0.0
        table.add_row(
            f"[bold]{slashed(one.combination)}[/bold]",
            *_spent(one, one.model_seconds),
            _money(one.usd, unknown),
            f"{each}\n{tokens}",
        )
        for role in one.roles:
            unknown = role.unknown_price_calls / role.calls if role.calls else 0.0
            name = f"  {role.role}\n  {escape(role.model)}"
            table.add_row(name, *_spent(role, role.seconds), _money(role.usd, unknown))
        table.add_section()
    return table


def _spent(one: queries.CombinationStats | queries.RoleCost, seconds: float) -> list[str]:
    return [
        f"{one.calls:,}",
        f"{one.input_tokens:,}\n{one.cached_tokens:,}",
        f"{one.output_tokens:,}\n{one.reasoning_tokens:,}",
        f"{seconds:,.1f}\n{one.retries:,}",
    ]


def _money(usd: float | None, unknown_share: float) -> str:
    if usd is None:
        return "unknown"
    return f"{_exact(usd)} + {unknown_share:.0%} unknown" if unknown_share else _exact(usd)


def _exact(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}"


SHOWN = 20  # questions of one side


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
    with catalog_file(Workspace(settings).store) as file:
        found = comparisons.compare(file, first, second)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    console = Terminal()
    for one in found:
        console.print(_figures(one, first, second))
        _print_questions(console, first, one.only_in_first)
        _print_questions(console, second, one.only_in_second)


def _figures(one: comparisons.Comparison, first: str, second: str) -> Table:
    table = Table(title=escape(one.first.combination))
    table.add_column("")
    for name in (first, second):
        table.add_column(escape(name), overflow="fold")
    sides = (one.first, one.second)
    reasons = sorted({reason for side in sides for reason in side.rejected_by_reason})
    rows: list[tuple[str, list[object]]] = [
        ("run", [side.run_id for side in sides]),
        ("started (UTC)", [f"{side.started:%Y-%m-%d %H:%M}" if side.started else None for side in sides]),
        ("status", [side.status for side in sides]),
        ("profile", [side.profile for side in sides]),
        ("version of the set", [side.version for side in sides]),
        ("documents", [side.documents for side in sides]),
        ("accepted", [side.accepted for side in sides]),
        ("questions in both", [one.in_both, one.in_both]),
        ("questions in one only", [len(one.only_in_first), len(one.only_in_second)]),
        ("  of these retired", [_retired(one.only_in_first), _retired(one.only_in_second)]),
        ("rejected", [side.rejected for side in sides]),
        *((f"  {reason}", [side.rejected_by_reason.get(reason, 0) for side in sides]) for reason in reasons),
        ("pass rate", [None if side.pass_rate is None else f"{side.pass_rate:.0%}" for side in sides]),
        ("model calls", [side.calls for side in sides]),
        ("cost", [_cost(side) for side in sides]),
    ]
    for name, values in rows:
        table.add_row(name, *(escape("-" if value is None else str(value)) for value in values))
    return table


def _retired(questions: Sequence[comparisons.OneSided]) -> int:
    return sum(one.reason is not None for one in questions)


def _cost(side: comparisons.Side) -> str | None:
    if side.calls is None:
        return None
    if side.usd is None:
        return "unknown"
    more = f" + {side.unknown_price_calls} calls of unknown price" if side.unknown_price_calls else ""
    return f"${side.usd:.4f}{more}"


def _print_questions(console: Terminal, name: str, questions: Sequence[comparisons.OneSided]) -> None:
    console.print(f"[bold]only in {escape(name)}: {len(questions)}[/bold]")
    for one in questions[:SHOWN]:
        text = f"  {one.question_id}  {one.source_document}: {one.question}"
        console.print(escape(text), highlight=False)
        if one.reason is not None:
            console.print(escape(f"    retired, {one.reason}: {one.detail}"), highlight=False)
            for before, now in zip_longest(one.text_before or (), one.text_now or (), fillvalue=""):
                console.print(escape(f"      before: {before}"), highlight=False)
                console.print(escape(f"      now:    {now or 'nothing like it'}"), highlight=False)
    if len(questions) > SHOWN:
        console.print(f"  and {len(questions) - SHOWN} more; --json has all")
