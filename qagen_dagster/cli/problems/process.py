"""`qagen process`: the whole pipeline on a file, with its results in a folder, or on a problem set of the corpora folder."""

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress, open_quietly
from qagen_dagster.cli.options import OneOf
from qagen_dagster.cli.output import Terminal, folder_to_write, print_json
from qagen_dagster.cli.problems import command_runner
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems import bank as problem_bank
from qagen_dagster.loop.problems.outdated import expected_calls, told_calls
from qagen_dagster.loop.problems.sources import find_problems
from qagen_dagster.loop.problems.state_machine import FULL, Wishes
from qagen_dagster.loop.product_table import Product
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import ProblemBank, ProblemEnd
from qagen_dagster.records.problems.submissions import VariantKind
from qagen_dagster.records.run import CallSummary


@click.command(cls=command_runner.SpreadCommand)
@command_runner.image_option
@command_runner.tex_option
@click.option(
    "--set",
    "set_key",
    help="Process this problem set of the corpora folder, with the asset graph and the settings of its problems.yaml.",
)
@command_runner.range_option
@click.option(
    "--variants",
    multiple=True,
    type=OneOf([kind for kind in VariantKind if kind is not VariantKind.MULTI]),
    help="Kinds of variants to make, separated by spaces. Default: none.",
)
@command_runner.count_option("variants of each kind")
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
    type=command_runner.FORMATS,
    help="Format to convert to. Can be repeated. Default: none.",
)
@command_runner.reference_option
@click.option(
    "--replace",
    is_flag=True,
    help="With --set: replace the results in the bank. Default: add to them, and remove nothing.",
)
@click.option(
    "-o",
    "--output",
    type=command_runner.FOLDER,
    callback=folder_to_write,
    help="Folder to write to. Required without --set.",
)
@command_runner.request_options
def process(request: command_runner.Request, set_key: str | None, replace: bool, **wished: Any) -> int:
    """Run the whole pipeline on a file or a problem set.

    The stages are: classify, scan, draw, extract ideas, then make alternate solutions, variants and conversions.
    Finished work is kept. Run the same command again to resume; nothing is paid twice.

    \b
    Examples:
      qagen process -i images/q1.png --variants numerical context -o output/
      qagen process -i images/problems.png -r 1 5 -o output/
      qagen process -t problems.tex -r 1 5 --alternate -o output/
      qagen process -t problems.tex --variants numerical context conceptual calculus -o output/
      qagen process --set mechanics
    """
    if set_key is not None:
        files = request.image or request.tex or request.item_range or request.references
        if files or _wishes(wished) != Wishes(stages=FULL):
            raise ConfigError("--set takes files and tasks from problems.yaml: leave out their options")
        return _process_set(request, set_key, replace=replace)
    if replace:
        raise ConfigError("--replace is for the bank of a problem set (--set)")
    if request.output is None:
        raise ConfigError("give a folder to write to (-o)")
    run_id = f"cli-{uuid.uuid4().hex[:12]}"
    calls: list[CallSummary] = []  # the calls that found the problems on the pages of an image file
    if request.image is not None and request.tex is None and request.item_range is not None:
        path, files = request.image, command_runner.name_of_files([str(request.image)])
        command_runner.check_kind(path, tex=False)
        problems, calls = find_problems(
            request.space, path, request.item_range, request.options, run_id, files
        )
    else:
        problems = request.problems()
    done = command_runner.carry_out(request, problems, _wishes(wished), everything=True, run_id=run_id)
    title = (request.image or request.tex or request.output).stem
    bank = ProblemBank(name=done.plan.name, title=title, problems=done.records)
    undrawn = _write(request.space, bank, request.output)
    command_runner.keep_raw_texts(request, done, request.output)
    if request.as_json:
        found = {"finding": [call.model_dump(mode="json") for call in calls]} if calls else {}
        print_json(command_runner.json_record(done.records, done.errors, done.warnings) | found)
    else:
        unusable = problem_bank.not_usable(bank)
        for record in done.records:
            made = record.detail
            if record.end is ProblemEnd.ACCEPTED:
                made = ", ".join(item.made for item in problem_bank.items_of(record))
            but = f", but it {unusable[record.id]}" if record.id in unusable else ""
            echo(f"{record.id}: {record.end.value}{f' ({made})' if made else ''}{but}")
        echo(f"{request.output}: {problem_bank.told_bank(bank)}")
    return command_runner.tell([*done.warnings, *undrawn], done.errors)


def _process_set(request: command_runner.Request, key: str, *, replace: bool = False) -> int:
    """Run the asset graph for one set, and write its bank to the output folder if one is given. Returns the exit code.

    If the graph fails, nothing is written. With `replace`, the new results replace those in the bank. Raises ConfigError, before any
    work, for a set or models that cannot be used.
    """
    space, options = request.space, request.options.model_copy(update={"replace": replace})
    problem_set = find_problem_set(space.settings.corpora, key)
    problem_bank.keep_sources(space, problem_set)
    calls = expected_calls(space, problem_bank.plan_problem_set(space, problem_set, options))
    with Progress(Terminal(stderr=True), quiet=request.as_json) as progress:
        if calls:
            progress.note(f"{key}: {told_calls(calls)}")
        progress.begin(2)
        with open_quietly(space, progress) as graph:
            chosen = options.model_dump(exclude_defaults=True)
            errors = graph.make(Product.PROBLEMS, partition=key, fields=chosen)
            unlisted = graph.catalog()
    output = None if errors else request.output
    errors += unlisted
    plan = problem_bank.plan_problem_set(space, problem_set, options)
    bank = problem_bank.open_bank(space, plan)
    failed, warnings = command_runner.sorted_out(bank.problems, everything=True)
    errors += [*plan.missing, *failed]
    warnings += problem_bank.changed_sources(space, plan)
    if output is not None:
        warnings += _write(space, bank, output)
    if request.as_json:
        print_json(command_runner.json_record(bank.problems, errors, warnings))
    else:
        where = space.store.path(ProblemBank.file_key(key, problem_bank.FILES[0]))
        echo(f"{bank.name}: {problem_bank.told_bank(bank)}, see {where}")
    return command_runner.tell(warnings, errors)


def _write(space: Workspace, bank: ProblemBank, output: Path) -> list[str]:
    """Write the files of a bank and its exports. Returns a line about figures that are not drawn; no line if all are drawn."""
    export = problem_bank.with_pictures(space, bank)
    for name, data in (problem_bank.bank_files(bank) | problem_bank.export_files(export)).items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        command_runner.write(output / name, data)
    return problem_bank.without_pictures(export)


def _wishes(wished: Mapping[str, Any]) -> Wishes:
    return Wishes(
        stages=FULL,
        alternates=1 if wished["alternate"] else 0,
        variants=tuple(dict.fromkeys(wished["variants"])),
        variants_each=wished["count"],
        conversions=tuple(dict.fromkeys(wished["conversions"])),
    )
