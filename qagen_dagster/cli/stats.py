"""`qagen stats`: what each combination gave, and what it cost."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from qagen_dagster.catalog import stats as queries
from qagen_dagster.cli.options import combination_options, json_option
from qagen_dagster.loop.catalog_source import catalog_file
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings

_COLUMNS = (
    "combination",
    "accepted",
    "pass rate",
    "rejected by reason",
    "calls",
    "tokens in",
    "tokens out",
    "cost",
)


@click.command()
@combination_options
@json_option
@click.pass_obj
def stats(
    settings: Settings, corpus: str | None, scenario: str | None, mode: str | None, as_json: bool
) -> None:
    """Show counts, pass rates, tokens and cost by combination."""
    with catalog_file(Workspace(settings).store) as file:
        every = queries.combinations(file)
    chosen = [
        one
        for one in every
        if corpus in (None, one.corpus)
        and scenario in (None, one.scenario)
        and mode in (None, one.mode.value)
    ]
    if as_json:
        click.echo(json.dumps([one.model_dump(mode="json") for one in chosen], indent=2))
        return
    table = Table()
    for name in _COLUMNS:
        table.add_column(name)
    for one in chosen:
        table.add_row(
            one.combination,
            str(one.accepted),
            "-" if one.pass_rate is None else f"{one.pass_rate:.0%}",
            ", ".join(f"{name} {count}" for name, count in one.rejected_by_reason.items()) or "-",
            str(one.calls),
            f"{one.input_tokens:,}",
            f"{one.output_tokens:,}",
            _money(one),
        )
    Console().print(table)


def _money(one: queries.CombinationStats) -> str:
    if one.usd is None:
        return "unknown" if one.calls else "-"
    known = f"${one.usd:.4f}"
    return known if not one.unknown_price_share else f"{known} and {one.unknown_price_share:.0%} unknown"
