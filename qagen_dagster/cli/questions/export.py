"""`qagen export`: published sets as files of other programs, in a folder or pushed to a server."""

from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import Selection, combination_options, json_option
from qagen_dagster.cli.output import fail, folder_to_write, print_json, warn
from qagen_dagster.cli.questions.push import push
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.questions.publication import exports
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
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
    callback=folder_to_write,
    help="Folder to write to. It is created if it does not exist.",
)
@click.option(
    "--push",
    "destination",
    help="Push to this MLflow server (an address) or dataset repository (OWNER/NAME).",
)
@json_option
@click.pass_obj
def export(
    settings: Settings,
    chosen: Selection,
    formats: tuple[str, ...],
    output: Path | None,
    destination: str | None,
    as_json: bool,
) -> int:
    """Export published sets to formats of other programs.

    Each set goes to <corpus>/<scenario>/<mode>/<format>/ in the output folder. Questions that do not fit into a
    format are left out and counted. With --push, a set goes to a server: an MLflow dataset named like the set
    (--format mlflow), or a repository (--format huggingface).
    """
    if output is None and destination is None:
        raise ConfigError("give --output, or --push with --format mlflow or huggingface")
    if destination is not None and formats not in (("mlflow",), ("huggingface",)):
        raise ConfigError("--push needs one --format: mlflow or huggingface")
    space = Workspace(settings)
    published = chosen.published(space)
    if destination is not None and formats == ("huggingface",) and len(published) > 1:
        raise ConfigError("a repository takes one set: choose it with --corpus, --scenario and --mode")
    wanted = exports.chosen_formats(() if ALL in formats else formats)
    failures, rows = list[str](), list[dict[str, Any]]()
    for combination in published:
        pushed: dict[str, Any] = {}
        try:
            made = exports.export_set(space, combination, wanted)
            if destination is not None:
                changed = push(wanted[0].name, destination, combination.key, made.exports[0].files)
                pushed = {"pushed": destination, "changed": changed}
        except StoreError as error:
            failures.append(str(error))
            continue
        if output is not None:
            list(exports.write_exports(Store(output.absolute()), combination.key, made))
        rows += [row | pushed for row in _rows(combination.key, made, output)]
        warn(f"{combination.key}: no picture of {why}" for why in made.no_picture)
    _print(rows, failures, as_json)
    return fail(failures)


def _rows(combination: str, made: exports.SetExports, output: Path | None) -> list[dict[str, Any]]:
    folders = [None if output is None else output / combination / one.format for one in made.exports]
    return [
        {
            "combination": combination,
            "format": exported.format,
            "questions": exported.questions,
            "left_out": list(exported.left_out),
            "folder": folder and str(folder),
            "files": [str(folder / path) for path in exported.files] if folder else [],
        }
        for exported, folder in zip(made.exports, folders, strict=True)
    ]


def _print(rows: list[dict[str, Any]], failures: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"ok": not failures, "failures": failures, "exports": rows})
        return
    for row in rows:
        left_out = f", {len(row['left_out'])} left out" if row["left_out"] else ""
        place = row["folder"] or f"{row['pushed']}, {'changed' if row['changed'] else 'up to date'}"
        echo(f"{row['format']}: {row['questions']} questions{left_out}: {place}")
