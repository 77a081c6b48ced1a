"""`qagen idea`: what problems are about and how they are solved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
    name_of,
    output_option,
    problem_options,
    range_option,
    read_input,
    run_options,
    tex_option,
)
from qagen_dagster.cli.problems.work import Order, as_json_text, carry_out, check_output, tell, told, write
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings


@click.command()
@tex_option
@range_option
@output_option
@run_options
@click.pass_obj
def idea(
    settings: Settings,
    tex: Path | None,
    item_range: tuple[int, int] | None,
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Extract the concepts, formulas and techniques of a problem with its solution.

    One problem gives one JSON object, several give a list of them, each with its item's number.

    \b
    Example:
      qagen idea -t problem.tex -o ideas.json
    """
    check_output(output)
    space = Workspace(settings)
    problems = read_input(space, None, tex, item_range)
    wishes = Wishes(stages=(Stage.SCAN, Stage.IDEA))
    done = carry_out(
        space, Order(name_of(problems), problems, wishes, problem_options(wished), quiet=as_json)
    )
    found = [
        (one.problem.index, one.ideas.model_dump(mode="json"))
        for one in done.records
        if one.ideas is not None
    ]
    values = [ideas if len(problems) == 1 else {"item": number, **ideas} for number, ideas in found]
    text = as_json_text(values[0] if len(problems) == 1 and values else values)
    if output is not None and values:
        write(output, f"{text}\n".encode())
    if as_json:
        click.echo(as_json_text(told(done)))
    elif output is None and values:
        click.echo(text)
    return tell(done)
