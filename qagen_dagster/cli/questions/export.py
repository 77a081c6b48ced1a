"""`qagen export`: published sets as files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import combination_options, json_option
from qagen_dagster.cli.output import fail, folder_to_write, print_json, warn
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.questions.publication.exports import (
    SetExports,
    chosen_formats,
    export_set,
    write_exports,
)
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

ALL = "all"


@click.command()
@combination_options
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([*(known.name for known in EXPORT_FORMATS), ALL]),
    default=[ALL],
    help="Only this format. Can be repeated. Default: all.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    callback=folder_to_write,
    help="Folder to write to. It is created if it does not exist.",
)
@json_option
@click.pass_obj
def export(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: Mode | None,
    formats: tuple[str, ...],
    output: Path,
    as_json: bool,
) -> int:
    """Export published sets to formats of other programs.

    Each set goes to <corpus>/<scenario>/<mode>/<format>/ in the output folder. Questions that do not fit into a
    format are left out and counted.
    """
    space = Workspace(settings)
    combinations = space.corpora.combinations(corpus, scenario, mode)
    published = [
        combination
        for combination in combinations
        if space.store.exists(CorpusGenerationResult.key(combination))
    ]
    if not published:
        raise StoreError("no matching set is published: `qagen run` makes it")
    chosen = chosen_formats(() if ALL in formats else formats)
    target, failures, rows = Store(output.absolute()), list[str](), list[dict[str, Any]]()
    for combination in published:
        try:
            made = export_set(space, combination, chosen)
        except StoreError as error:
            failures.append(str(error))
            continue
        list(write_exports(target, combination.key, made))
        rows += _rows(combination.key, made, output)
        warn(f"{combination.key}: no picture of {why}" for why in made.no_picture)
    _print(rows, failures, as_json)
    return fail(failures)


def _rows(combination: str, made: SetExports, output: Path) -> list[dict[str, Any]]:
    return [
        {
            "combination": combination,
            "format": exported.format,
            "questions": exported.questions,
            "left_out": list(exported.left_out),
            "folder": str(output / combination / exported.format),
            "files": [str(output / combination / exported.format / path) for path in exported.files],
        }
        for exported in made.exports
    ]


def _print(rows: list[dict[str, Any]], failures: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"ok": not failures, "failures": failures, "exports": rows})
        return
    for row in rows:
        left_out = f", {len(row['left_out'])} left out" if row["left_out"] else ""
        echo(f"{row['format']}: {row['questions']} questions{left_out}: {row['folder']}")
