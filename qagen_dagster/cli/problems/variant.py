"""`qagen variant`: new problems from given ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
    FILE,
    VARIANTS,
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
from qagen_dagster.loop.problems.sources import combined
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.config import MOST_VARIANTS
from qagen_dagster.records.problems.item import Problem, VariantKind
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.settings import Settings

MOST_PARTS = 8


@click.command()
@image_option
@tex_option
@click.option("--type", "kind", required=True, type=VARIANTS, help="What a variant changes.")
@range_option
@click.option(
    "-n", "--count", type=click.IntRange(1, MOST_VARIANTS), default=1, show_default=True, help="How many."
)
@click.option(
    "--context",
    "contexts",
    multiple=True,
    type=FILE,
    help="TeX file for multi; several with several --context.",
)
@click.option("--style", default="", help="For multi: what the new problem should be like, in words.")
@output_option
@run_options
@click.pass_obj
def variant(
    settings: Settings,
    image: Path | None,
    tex: Path | None,
    kind: str,
    item_range: tuple[int, int] | None,
    count: int,
    contexts: tuple[Path, ...],
    style: str,
    output: Path | None,
    as_json: bool,
    **wished: Any,
) -> int:
    """Make variants of problems.

    \b
    numerical   only the numbers change
    context     the scene changes, the numbers stay
    conceptual  the physics concept changes
    calculus    what was constant varies
    multi       several problems become one
    \b
    Examples:
      qagen variant -t problem.tex --type numerical -n 3 -o variants.tex
      qagen variant -t problems.tex --type context -r 2 4 -o variants.tex
      qagen variant --type multi --context p1.tex --context p2.tex -o combined.tex
    """
    check_output(output)
    space, chosen = Workspace(settings), VariantKind(kind)
    if chosen is VariantKind.MULTI:
        if image or (item_range and not tex):
            raise ConfigError("--type multi combines TeX files (-t, --context); -r is about the file of -t")
        problems = _combined(space, tex, item_range, contexts, style)
        stages: tuple[Stage, ...] = (Stage.VARIANT,)
        name = f"files-{fingerprint([problems[0].source_path])[:16]}"
    else:
        if contexts or style:
            raise ConfigError("--context and --style are for --type multi")
        problems = read_input(space, image, tex, item_range)
        stages = (Stage.SCAN, Stage.VARIANT) if tex else (Stage.CLASSIFY, Stage.SCAN, Stage.VARIANT)
        name = name_of(problems)
    wishes = Wishes(stages=stages, variants=(chosen,), variants_each=count)
    done = carry_out(space, Order(name, problems, wishes, problem_options(wished), quiet=as_json))
    found = [latex for one in done.records for latex in one.variants.values()]
    return give(done, found, output, as_json=as_json)


def _combined(
    space: Workspace,
    tex: Path | None,
    wanted: tuple[int, int] | None,
    contexts: tuple[Path, ...],
    style: str,
) -> tuple[Problem, ...]:
    """One problem out of all items of all files; -r is about the file of -t."""
    parts = [one.tex for one in read_input(space, None, tex, wanted)] if tex is not None else []
    parts += [one.tex for file in contexts for one in read_input(space, None, file)]
    if not 2 <= len(parts) <= MOST_PARTS:
        raise ConfigError(
            f"--type multi combines 2 to {MOST_PARTS} problems, not {len(parts)} (-t, --context)"
        )
    files = [file for file in (tex, *contexts) if file is not None]
    return (combined("combined", ", ".join(map(str, files)), parts, style),)
