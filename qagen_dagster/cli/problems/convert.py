"""`qagen convert`: a problem in another format."""

from __future__ import annotations

import click

from qagen_dagster.cli.problems.command_runner import carry_out, give
from qagen_dagster.cli.problems.options import (
    FORMATS,
    Request,
    image_option,
    output_option,
    range_option,
    request_options,
    tex_option,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.item import Format
from qagen_dagster.records.problems.result import Stage


@click.command()
@image_option
@tex_option
@click.option("--from", "source", required=True, type=FORMATS, help="Format that the problem has now.")
@click.option("--to", "target", required=True, type=FORMATS, help="Format to convert it to.")
@range_option
@output_option
@request_options
def convert(request: Request, source: Format, target: Format) -> int:
    """Convert problems to another format with the same answer.

    \b
    Examples:
      qagen convert -t mcq.tex --from mcq_sc --to subjective -o subjective.tex
      qagen convert -t subjective.tex --from subjective --to mcq_sc -o mcq.tex
      qagen convert -t mcq.tex --from mcq_sc --to integer -o integer.tex
    """
    if source is target:
        raise ConfigError(f"--from and --to are both {source.value}")
    problems = tuple(one.model_copy(update={"source_format": source}) for one in request.problems())
    wishes = Wishes(stages=request.stages(Stage.CONVERT), conversions=(target,))
    done = carry_out(request, problems, wishes)
    return give(request, done, [latex for one in done.records for latex in one.conversions.values()])
