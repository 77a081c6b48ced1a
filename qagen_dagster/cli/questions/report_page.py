"""`qagen report`: the review page as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import combination_options
from qagen_dagster.cli.output import OUTPUT, file_to_write, write_output
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import Settings
from qagen_dagster.web.page import report_page
from qagen_dagster.web.sets import Reviews, chosen_sets


@click.command()
@combination_options
@click.option("--output", type=OUTPUT, required=True, callback=file_to_write, help="The HTML file to write.")
@click.pass_obj
def report(
    settings: Settings, corpus: str | None, scenario: str | None, mode: Mode | None, output: Path
) -> None:
    """Write the review page as one HTML file.

    The file has all questions, their evidence and the decisions on them. It opens without a server, and can only be read.
    """
    space = Workspace(settings)
    found = list(chosen_sets(space, corpus, scenario, mode).all())
    if not found:
        raise StoreError("nothing is published yet: `qagen run` makes question sets")
    write_output(output, report_page(found, Reviews(space)).encode())
    echo(f"{sum(len(one.rows) for one in found)} questions: {output}", err=True)
