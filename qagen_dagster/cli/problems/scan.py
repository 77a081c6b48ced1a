"""`qagen scan`: the LaTeX of a problem in an image."""

from __future__ import annotations

import click

from qagen_dagster.cli.options import OneOf
from qagen_dagster.cli.problems.command_runner import carry_out, give
from qagen_dagster.cli.problems.options import (
    Request,
    image_option,
    output_option,
    range_option,
    request_options,
    tex_option,
)
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.item import QuestionKind
from qagen_dagster.records.problems.result import Stage


@click.command()
@image_option
@tex_option
@click.option("--type", "kind", type=OneOf(QuestionKind), help="Kind of problem. Default: classify it first.")
@range_option
@output_option
@request_options
def scan(request: Request, kind: QuestionKind | None) -> int:
    """Transcribe problems to LaTeX (stage 2 of the pipeline).

    The LaTeX of a problem runs from \\item to \\end{solution}. A TeX item that is already complete is copied unchanged.

    \b
    Examples:
      qagen scan -i images/q1.png -o output.tex
      qagen scan -i images/q1.png --type mcq_sc
    """
    stages = (Stage.SCAN,) if kind else (Stage.CLASSIFY, Stage.SCAN)
    done = carry_out(request, request.problems(kind), Wishes(stages=stages))
    scanned = [task.scan.latex for one in done.records for task in one.tasks if task.scan and task.end.ok]
    return give(request, done, scanned)
