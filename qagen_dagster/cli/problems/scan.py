"""`qagen scan`: a picture as LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
    image_option,
    kind_option,
    name_of,
    output_option,
    problem_options,
    range_option,
    read_input,
    run_options,
    tex_option,
)
from qagen_dagster.cli.problems.work import Order, carry_out, check_output, give
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings


@click.command()
@image_option
@tex_option
@kind_option
@range_option
@output_option
@run_options
@click.pass_obj
def scan(
    settings: Settings,
    image: Path | None,
    tex: Path | None,
    kind: str | None,
    item_range: tuple[int, int] | None,
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Stage 2: extract LaTeX, from \\item to \\end{solution}.

    Classifies first, unless --type says what kind of question it is. Of a TeX file, an item that is whole is taken as
    it stands.

    \b
    Examples:
      qagen scan -i images/q1.png -o output.tex
      qagen scan -i images/q1.png --type mcq_sc
    """
    check_output(output)
    space = Workspace(settings)
    problems = read_input(space, image, tex, item_range, kind)
    stages = (Stage.SCAN,) if kind else (Stage.CLASSIFY, Stage.SCAN)
    order = Order(name_of(problems), problems, Wishes(stages=stages), problem_options(wished), quiet=as_json)
    done = carry_out(space, order)
    scanned = [task.scan.latex for one in done.records for task in one.tasks if task.scan and task.end.ok]
    return give(done, scanned, output, as_json=as_json)
