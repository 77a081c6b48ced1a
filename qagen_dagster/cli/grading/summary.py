"""`qagen summary`: the grades of the last run with reasons. Writes run_summary.json."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.grading.labels import add_grades, grade_table, least_first, show_highlights
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import OUTPUT, Terminal, file_to_write, slashed, write_output
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.grading.grade_answers import coverage_lines
from qagen_dagster.loop.grading.run_summary import (
    DocumentSummary,
    RunSummary,
    described_outputs,
    latest_reports,
    reports_of,
    summarize,
)
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

SECONDS = 19  # characters of a time down to its seconds
MOST_DOCUMENTS = 40  # rows on a terminal; the JSON lists all


@click.command()
@click.option(
    "--latest", is_flag=True, help="Show the last command or backfill that made grades. This is the default."
)
@click.option(
    "--run",
    "run_id",
    help="Show an earlier run: its id in Dagster, or the id that `qagen summary` printed for it.",
)
@click.option("--output", type=OUTPUT, callback=file_to_write, help="Write the JSON to this file, too.")
@click.option(
    "--documents",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a JSON file for each document to this folder, with its text, answers and grades.",
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
    """Show the grades of a run by document.

    Also shows the first ungrounded answers with reasons. The complete list is in run_summary.json, which is kept in
    the store.
    """
    if latest and run_id is not None:
        raise ConfigError("--latest and --run exclude each other")
    store = Store(settings.assets)
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
        echo(data.decode(), nl=False)
        return
    _show(Terminal(), found)
    echo(f"\n{store.path(key)}")


def _show(console: Console, found: RunSummary) -> None:
    console.print(_heads(found))
    for line in coverage_lines(found.decided, found.error_rates):
        console.print(escape(line), highlight=False)
    console.print(_documents(found))
    if len(found.documents) > MOST_DOCUMENTS:
        console.print(
            f"... and {len(found.documents) - MOST_DOCUMENTS} more documents with higher grades; --json lists all"
        )
    show_highlights(console, found.ungrounded_highlights)


def _heads(found: RunSummary) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("run", found.run_id),
        ("graded (UTC)", found.timestamp[:SECONDS]),
        ("generator", found.generator_model or "-"),
        ("judge", found.judge_model or "none"),
        ("provider", found.provider or "-"),
        ("grading method", found.grading_method),
    ):
        table.add_row(name, escape(value))
    return table


def _documents(found: RunSummary) -> Table:
    counts = (found.grounded_count, found.ungrounded_count, found.not_measured_count)
    table = grade_table("combination\ndocument", found, counts)
    last = ""
    for one in _least_first(found):
        if one.combination != last:
            table.add_section()
            table.add_row(f"[bold]{escape(slashed(one.combination))}[/bold]")
            last = one.combination
        counts = (one.grounded_count, one.ungrounded_count, one.not_measured_count)
        add_grades(table, f"  {one.id}", one, counts)
    return table


def _least_first(found: RunSummary) -> list[DocumentSummary]:
    """The documents to show: those with the lowest confidence, by combination."""
    return sorted(least_first(found.documents)[:MOST_DOCUMENTS], key=lambda one: one.combination)
