"""`qagen idea`: what problems are about and how they are solved."""

from __future__ import annotations

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.output import print_json
from qagen_dagster.cli.problems.command_runner import carry_out, tell, told, write_rows
from qagen_dagster.cli.problems.options import (
    Request,
    output_option,
    range_option,
    request_options,
    tex_option,
)
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.result import Stage


@click.command()
@tex_option
@range_option
@output_option
@request_options
def idea(request: Request) -> int:
    """Extract concepts, formulas and techniques of problems.

    The file must contain the solutions, too. The JSON is one object for one problem. For several problems it is a list in
    which every entry has its item number.

    \b
    Example:
      qagen idea -t problem.tex -o ideas.json
    """
    done = carry_out(request, request.problems(), Wishes(stages=(Stage.SCAN, Stage.IDEA)))
    rows = [(one, one.ideas.model_dump(mode="json")) for one in done.records if one.ideas is not None]
    text = write_rows(request, done, rows)
    if request.as_json:
        print_json(told(done))
    elif request.output is None and rows:
        echo(text)
    return tell(done.warnings, done.errors)
