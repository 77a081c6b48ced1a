"""`qagen process`: the whole pipeline on a file, with its results in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import OneOf
from qagen_dagster.cli.output import folder_to_write, print_json
from qagen_dagster.cli.problems.command_runner import (
    FOLDER,
    FORMATS,
    Done,
    Request,
    SpreadCommand,
    carry_out,
    count_option,
    image_option,
    json_record,
    range_option,
    reference_option,
    request_options,
    tell,
    tex_option,
    write_folder,
)
from qagen_dagster.cli.problems.sets import process_set
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.bank import (
    bank_files,
    export_files,
    export_of,
    items_of,
    not_usable,
    told_bank,
)
from qagen_dagster.loop.problems.state_machine import Wishes
from qagen_dagster.records.problems.item import VariantKind
from qagen_dagster.records.problems.result import ProblemBank, ProblemEnd, Stage

_NOTHING = {"alternate": False, "variants": (), "count": 1, "conversions": ()}


@click.command(cls=SpreadCommand)
@image_option
@tex_option
@click.option(
    "--set",
    "set_key",
    help="Process this problem set of the corpora folder, with the asset graph and the settings of its problems.yaml.",
)
@range_option
@click.option(
    "--variants",
    multiple=True,
    type=OneOf([one for one in VariantKind if one is not VariantKind.MULTI]),
    help="Kinds of variants to make, separated by spaces. Default: none.",
)
@count_option("variants of each kind")
@click.option(
    "--alternate/--no-alternate",
    default=False,
    show_default=True,
    help="Whether to solve every problem by another method.",
)
@click.option(
    "--convert",
    "conversions",
    multiple=True,
    type=FORMATS,
    help="Format to convert to. Can be repeated. Default: none.",
)
@reference_option
@click.option(
    "--replace",
    is_flag=True,
    help="With --set: replace what the bank has. Default: add to it, and remove nothing.",
)
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    callback=folder_to_write,
    help="Folder to write to. Required without --set.",
)
@request_options
def process(request: Request, set_key: str | None, replace: bool, **wished: Any) -> int:
    """Run the whole pipeline on a file or a problem set.

    The stages are: classify, scan, draw, extract ideas, then make alternate solutions, variants and conversions.
    Finished work is kept. Run the same command again to resume; nothing is paid twice.

    \b
    Examples:
      qagen process -i images/q1.png --variants numerical context -o output/
      qagen process -t problems.tex -r 1 5 --alternate -o output/
      qagen process -t problems.tex --variants numerical context conceptual calculus -o output/
      qagen process --set mechanics
    """
    if set_key is not None:
        files = request.image or request.tex or request.item_range or request.references
        if files or _wishes(wished) != _wishes(_NOTHING):
            raise ConfigError("--set takes files and tasks from problems.yaml: leave out their options")
        return process_set(request, set_key, replace=replace)
    if replace:
        raise ConfigError("--replace is for the bank of a problem set (--set)")
    if request.output is None:
        raise ConfigError("give a folder to write to (-o)")
    done = carry_out(request, request.problems(), _wishes(wished), everything=True)
    title = (request.image or request.tex or request.output).stem
    bank = ProblemBank(name=done.plan.name, title=title, problems=done.records)
    write_folder(request.output, bank_files(bank) | export_files(export_of(bank)))
    _say(done, bank, request.output, as_json=request.as_json)
    return tell(done.warnings, done.errors)


def _wishes(wished: Mapping[str, Any]) -> Wishes:
    return Wishes(
        stages=tuple(Stage),
        alternates=1 if wished["alternate"] else 0,
        variants=tuple(dict.fromkeys(wished["variants"])),
        variants_each=wished["count"],
        conversions=tuple(dict.fromkeys(wished["conversions"])),
    )


def _say(done: Done, bank: ProblemBank, output: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(json_record(done))
        return
    unusable = not_usable(bank)
    for one in done.records:
        made = (
            ", ".join(item.made for item in items_of(one)) if one.end is ProblemEnd.ACCEPTED else one.detail
        )
        but = f", but it {unusable[one.id]}" if one.id in unusable else ""
        echo(f"{one.id}: {one.end.value}{f' ({made})' if made else ''}{but}")
    echo(f"{output}: {told_bank(bank)}")
