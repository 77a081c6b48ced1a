"""`qagen process`: the whole pipeline on a file, its results in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problem_options import (
    FORMATS,
    ONE_PROBLEM_VARIANTS,
    SpreadCommand,
    image_option,
    name_of,
    problem_options,
    range_option,
    read_input,
    reference_option,
    run_options,
    tex_option,
)
from qagen_dagster.cli.problem_work import Done, Order, as_json_text, carry_out, tell, told, write_folder
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problem import Wishes
from qagen_dagster.loop.problem_bank import bank_files, export_files, export_of, items_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problem import Format, VariantKind
from qagen_dagster.records.problem_config import MOST_VARIANTS
from qagen_dagster.records.problem_result import ProblemBank, ProblemEnd, Stage
from qagen_dagster.settings import Settings


@click.command(cls=SpreadCommand)
@image_option
@tex_option
@range_option
@click.option(
    "--variants", multiple=True, type=ONE_PROBLEM_VARIANTS, help="Kinds of variants, one or several."
)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1, MOST_VARIANTS),
    default=1,
    show_default=True,
    help="Variants of each kind.",
)
@click.option("--alternate/--no-alternate", default=False, help="Solve every problem in another way, too.")
@click.option("--convert", "conversions", multiple=True, type=FORMATS, help="Formats to convert to.")
@reference_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write."
)
@run_options
@click.pass_obj
def process(
    settings: Settings,
    image: Path | None,
    tex: Path | None,
    item_range: tuple[int, int] | None,
    variants: tuple[str, ...],
    count: int,
    alternate: bool,
    conversions: tuple[str, ...],
    references: tuple[Path, ...],
    output: Path,
    as_json: bool,
    **wished: Any,
) -> int:
    """Full pipeline: classify, scan, draw, read the ideas, then alternates, variants and conversions.

    What is finished is kept; the same command goes on from there and pays nothing twice.

    \b
    Examples:
      qagen process -i images/q1.png --variants numerical context -o output/
      qagen process -t problems.tex -r 1 5 --alternate -o output/
      qagen process -t problems.tex --variants numerical context conceptual calculus -o output/
    """
    if output.exists() and not output.is_dir():
        raise ConfigError(f"cannot write {output}: it is no folder")
    space = Workspace(settings)
    problems = read_input(space, image, tex, item_range)
    wishes = Wishes(
        stages=tuple(Stage),
        alternates=1 if alternate else 0,
        variants=tuple(VariantKind(one) for one in dict.fromkeys(variants)),
        variants_each=count,
        conversions=tuple(Format(one) for one in dict.fromkeys(conversions)),
    )
    options = problem_options(wished)
    done = carry_out(space, Order(name_of(problems), problems, wishes, options, references, quiet=as_json))
    title = (image or tex or output).stem
    bank = ProblemBank(name=done.plan.name, title=title, problems=done.records)
    write_folder(output, bank_files(bank) | export_files(export_of(bank)))
    _say(done, bank, output, as_json=as_json)
    return tell(done)


def _say(done: Done, bank: ProblemBank, output: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(as_json_text(told(done)))
        return
    for one in done.records:
        made = (
            ", ".join(item.made for item in items_of(one)) if one.end is ProblemEnd.ACCEPTED else one.detail
        )
        click.echo(f"{one.id}: {one.end.value}{f' ({made})' if made else ''}")
    click.echo(f"{len(bank.accepted)} of {len(bank.problems)} problems in {output}")
