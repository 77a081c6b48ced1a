"""`qagen process`: the whole pipeline on a file, its results in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.problems.options import (
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
from qagen_dagster.cli.problems.sets import process_set
from qagen_dagster.cli.problems.work import (
    Done,
    Order,
    as_json_text,
    carry_out,
    check_folder,
    tell,
    told,
    write_folder,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.bank import bank_files, export_files, export_of, items_of
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.config import MOST_VARIANTS
from qagen_dagster.records.problems.item import Format, VariantKind
from qagen_dagster.records.problems.result import ProblemBank, ProblemEnd, Stage
from qagen_dagster.settings import Settings

_NOTHING = {"alternate": False, "variants": (), "count": 1, "conversions": ()}


@click.command(cls=SpreadCommand)
@image_option
@tex_option
@click.option(
    "--set",
    "set_key",
    help="A problem set of the corpora instead: the asset graph, as problems.yaml wants it.",
)
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
    "-o", "--output", type=click.Path(path_type=Path), help="Folder to write; may be left out with --set."
)
@run_options
@click.pass_obj
def process(
    settings: Settings,
    image: Path | None,
    tex: Path | None,
    set_key: str | None,
    item_range: tuple[int, int] | None,
    references: tuple[Path, ...],
    output: Path | None,
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
      qagen process --set mechanics
    """
    check_folder(output)
    space, options = Workspace(settings), problem_options(wished)
    if set_key is not None:
        if image or tex or item_range or references or _wishes(wished) != _wishes(_NOTHING):
            raise ConfigError("--set works a set as its problems.yaml says: leave files and wishes out")
        return process_set(space, set_key, options, output, as_json=as_json)
    if output is None:
        raise ConfigError("name a folder to write (-o)")
    problems = read_input(space, image, tex, item_range)
    order = Order(
        name_of(problems), problems, _wishes(wished), options, references, quiet=as_json, everything=True
    )
    done = carry_out(space, order)
    bank = ProblemBank(name=done.plan.name, title=(image or tex or output).stem, problems=done.records)
    write_folder(output, bank_files(bank) | export_files(export_of(bank)))
    _say(done, bank, output, as_json=as_json)
    return tell(done)


def _wishes(wished: Mapping[str, Any]) -> Wishes:
    return Wishes(
        stages=tuple(Stage),
        alternates=1 if wished["alternate"] else 0,
        variants=tuple(VariantKind(one) for one in dict.fromkeys(wished["variants"])),
        variants_each=wished["count"],
        conversions=tuple(Format(one) for one in dict.fromkeys(wished["conversions"])),
    )


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
