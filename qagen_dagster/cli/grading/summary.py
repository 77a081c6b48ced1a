"""`qagen summary`: what the last run gave, as grades with reasons; writes run_summary.json."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.grading.labels import letter, number, show_highlights
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import OUTPUT, write_output
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.grading.run_summary import (
    DocumentSummary,
    RunSummary,
    described_outputs,
    latest_reports,
    reports_of,
    summarize,
)
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

SECONDS = 19  # characters of a time that a person reads
MOST_DOCUMENTS = 40  # rows on a terminal; the JSON has all


@click.command()
@click.option("--latest", is_flag=True, help="The last command or backfill that graded; the default.")
@click.option(
    "--run", "run_id", help="A Dagster run, or what its command or backfill is called in a summary."
)
@click.option("--output", type=OUTPUT, help="Write the JSON to this file, too.")
@click.option(
    "--documents",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a JSON with text, answers and grades for each document into this folder.",
)
@json_option
@click.pass_obj
def summary(
    settings: Settings,
    latest: bool,
    run_id: str | None,
    output: Path | None,
    documents: Path | None,
    as_json: bool,
) -> None:
    """Show grades by document, and answers that do not rest on their document, with reasons.

    All of them are in run_summary.json, which is kept in the store.
    """
    if latest and run_id is not None:
        raise ConfigError("choose --latest or --run")
    store = Workspace(settings).store
    reports = latest_reports(store) if run_id is None else reports_of(store, run_id)
    found = summarize(reports, run_id or reports[0].launch)
    data = (found.model_dump_json(indent=1) + "\n").encode()
    key = RunSummary.key(found.run_id)
    store.write_if_changed(key, data)
    if output is not None:
        write_output(output, data)
    if documents is not None:
        folder = Store(documents)
        for name, value in described_outputs(store, reports):
            folder.write_bytes(name, json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n")
    if as_json:
        click.echo(data.decode(), nl=False)
        return
    _show(Console(), found)
    click.echo(f"\n{store.path(key)}")


def _show(console: Console, found: RunSummary) -> None:
    console.print(_heads(found))
    console.print(_documents(found))
    if len(found.documents) > MOST_DOCUMENTS:
        console.print(f"... and {len(found.documents) - MOST_DOCUMENTS} more, graded higher; --json has all")
    show_highlights(console, found.ungrounded_highlights)


def _heads(found: RunSummary) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("run", found.run_id),
        ("graded (UTC)", found.timestamp[:SECONDS]),
        ("generator", found.generator_model or "-"),
        ("judge", found.judge_model or "none"),
        ("provider", found.provider or "-"),
        ("method", found.grading_method),
    ):
        table.add_row(name, escape(value))
    return table


def _documents(found: RunSummary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_footer=True)
    whole = (found.grounded_count, found.ungrounded_count, found.not_measured_count)
    table.add_column("combination\ndocument", "all", overflow="fold")
    for name, footer in (
        ("grade", letter(found.overall_grade)),
        ("confidence", number(found.overall_confidence)),
        ("grounded", str(whole[0])),
        ("ungrounded", str(whole[1])),
        ("not\nmeasured", str(whole[2])),
    ):
        table.add_column(name, footer, justify="right", no_wrap=True)
    last = ""
    for one in _least_first(found):
        if one.combination != last:
            table.add_section()
            table.add_row(f"[bold]{escape(one.combination)}[/bold]")
            last = one.combination
        counts = (one.grounded_count, one.ungrounded_count, one.not_measured_count)
        table.add_row(
            f"  {escape(one.id)}",
            letter(one.overall_grade),
            number(one.overall_confidence),
            *(str(count) for count in counts),
        )
    return table


def _least_first(found: RunSummary) -> list[DocumentSummary]:
    """The documents that are shown: the least grounded of all, by combination."""
    least = sorted(
        found.documents, key=lambda one: 2.0 if one.overall_confidence is None else one.overall_confidence
    )
    return sorted(least[:MOST_DOCUMENTS], key=lambda one: one.combination)
