"""`qagen variant`: new problems from given ones."""

from __future__ import annotations

from pathlib import Path

import click

from qagen_dagster.cli.options import OneOf
from qagen_dagster.cli.problems.command_runner import carry_out, give
from qagen_dagster.cli.problems.options import (
    FILE,
    Request,
    count_option,
    image_option,
    output_option,
    range_option,
    read_problems,
    request_options,
    tex_option,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.sources import combined
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.item import Problem, VariantKind
from qagen_dagster.records.problems.result import Stage

MOST_PARTS = 8


@click.command()
@image_option
@tex_option
@click.option(
    "--type", "kind", required=True, type=OneOf(VariantKind), help="What a variant changes; see above."
)
@range_option
@count_option("variants of each problem")
@click.option(
    "--context",
    "contexts",
    multiple=True,
    type=FILE,
    help="Only for multi: a TeX file to combine. Can be repeated.",
)
@click.option("--style", default="", help="Only for multi: the wanted style of the new problem, in words.")
@output_option
@request_options
def variant(request: Request, kind: VariantKind, count: int, contexts: tuple[Path, ...], style: str) -> int:
    """Make variants of problems.

    \b
    numerical   only the numbers change
    context     the scene changes, the numbers stay the same
    conceptual  the physics concept changes
    calculus    a constant quantity becomes a variable one
    multi       several problems are combined into one
    \b
    Examples:
      qagen variant -t problem.tex --type numerical -n 3 -o variants.tex
      qagen variant -t problems.tex --type context -r 2 4 -o variants.tex
      qagen variant --type multi --context p1.tex --context p2.tex -o combined.tex
    """
    name = None
    if kind is VariantKind.MULTI:
        problems = _combined(request, contexts, style)
        stages: tuple[Stage, ...] = (Stage.VARIANT,)
        name = f"files-{fingerprint([problems[0].source_path])[:16]}"
    elif contexts or style:
        raise ConfigError("--context and --style need --type multi")
    else:
        problems, stages = request.problems(), request.stages(Stage.VARIANT)
    done = carry_out(
        request, problems, Wishes(stages=stages, variants=(kind,), variants_each=count), name=name
    )
    return give(request, done, [latex for one in done.records for latex in one.variants.values()])


def _combined(request: Request, contexts: tuple[Path, ...], style: str) -> tuple[Problem, ...]:
    """One problem out of all items of all files. Raises ConfigError."""
    if request.image or (request.item_range and not request.tex):
        raise ConfigError("--type multi combines TeX files (-t, --context); -r applies to the file of -t")
    given = [] if request.tex is None else [(request.tex, request.item_range)]
    files = [*given, *((file, None) for file in contexts)]
    parts = [
        one.tex for file, wanted in files for one in read_problems(request.space, file, wanted, tex=True)
    ]
    if not 2 <= len(parts) <= MOST_PARTS:
        raise ConfigError(
            f"--type multi combines 2 to {MOST_PARTS} problems (-t, --context), but {len(parts)} are given"
        )
    return (combined("combined", ", ".join(str(file) for file, _ in files), parts, style),)
