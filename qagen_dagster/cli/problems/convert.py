"""`qagen convert`: a problem in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
    FORMATS,
    image_option,
    name_of,
    output_option,
    problem_options,
    range_option,
    read_input,
    run_options,
    tex_option,
)
from qagen_dagster.cli.problems.work import Order, carry_out, check_output, give
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.item import Format
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings


@click.command()
@image_option
@tex_option
@click.option("--from", "source", required=True, type=FORMATS, help="What the problem is.")
@click.option("--to", "target", required=True, type=FORMATS, help="What it becomes.")
@range_option
@output_option
@run_options
@click.pass_obj
def convert(
    settings: Settings,
    image: Path | None,
    tex: Path | None,
    source: str,
    target: str,
    item_range: tuple[int, int] | None,
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Convert problems between formats; the answer stays.

    \b
    Examples:
      qagen convert -t mcq.tex --from mcq_sc --to subjective -o subjective.tex
      qagen convert -t subjective.tex --from subjective --to mcq_sc -o mcq.tex
      qagen convert -t mcq.tex --from mcq_sc --to integer -o integer.tex
    """
    check_output(output)
    if source == target:
        raise ConfigError(f"--from and --to are both {source}")
    space = Workspace(settings)
    given = {"source_format": Format(source)}
    problems = tuple(one.model_copy(update=given) for one in read_input(space, image, tex, item_range))
    stages = (Stage.SCAN, Stage.CONVERT) if tex else (Stage.CLASSIFY, Stage.SCAN, Stage.CONVERT)
    wishes = Wishes(stages=stages, conversions=(Format(target),))
    done = carry_out(
        space, Order(name_of(problems), problems, wishes, problem_options(wished), quiet=as_json)
    )
    found = [latex for one in done.records for latex in one.conversions.values()]
    return give(done, found, output, as_json=as_json)
