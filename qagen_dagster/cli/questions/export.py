"""`qagen export`: writes published sets in the formats of other programs into a folder, pushes them to a server, or does both.

A server is an MLflow server or a dataset repository of the Hugging Face Hub. Pushing an unchanged set again changes nothing.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import Selection, combination_options, folder_option, json_option
from qagen_dagster.cli.output import fail, print_json, warn
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.questions.publication import exports
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store

_ALL = "all"
_Files = Mapping[str, bytes]
_AT_ONCE = 1_000  # records in one request
_SECONDS = 10.0  # wait for a reply; after this time a server counts as absent


@click.command()
@combination_options
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([*(known.name for known in EXPORT_FORMATS), _ALL]),
    default=[_ALL],
    help="Only this format. Can be repeated. Default: all.",
)
@folder_option(required=False)
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
    wanted = exports.chosen_formats(() if _ALL in formats else formats)
    failures, rows = list[str](), list[dict[str, Any]]()
    for combination in published:
        pushed: dict[str, Any] = {}
        try:
            made = exports.export_set(space, combination, wanted)
            if destination is not None:
                changed = _push(wanted[0].name, destination, combination.key, made.exports[0].files)
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


def _push(form: str, destination: str, name: str, files: _Files) -> bool:
    """Push the files of a set in the format `form`. Returns whether this changed anything at the destination.

    Raises ConfigError if the package for the format is missing, and StoreError if the destination does not take the set.
    """
    try:
        return (_to_mlflow if form == "mlflow" else _to_hub)(destination, name, files)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--push to {form} needs {error.name}: pip install 'qagen-dagster[{form}]'"
        ) from None
    except Exception as error:  # both packages raise many kinds of errors
        raise StoreError(f"{name} is not pushed to {destination}: {type(error).__name__}: {error}") from error


def _to_mlflow(address: str, name: str, files: _Files) -> bool:
    """Add missing records to the dataset `name`, and remove outdated records that qagen added. Returns whether this changed anything."""
    import httpx

    mlflow, datasets = (import_module(module) for module in ("mlflow", "mlflow.genai.datasets"))
    if address.startswith("http"):  # MLflow itself tries for minutes
        httpx.get(f"{address.rstrip('/')}/health", timeout=_SECONDS).raise_for_status()
    mlflow.set_tracking_uri(address)
    known = datasets.search_datasets(filter_string=f"name = '{name}'")
    dataset = known[0] if known else datasets.create_dataset(name=name)
    ours = (one for one in dataset.to_df().to_dict("records") if "question_id" in one["inputs"])
    before: dict[str, str] = {_content(one): one["dataset_record_id"] for one in ours}
    wanted = {_content(one): one for one in map(json.loads, files["records.jsonl"].splitlines())}
    if stale := [record for key, record in before.items() if key not in wanted]:
        dataset.delete_records(stale)
    new = [one for key, one in wanted.items() if key not in before]
    for start in range(0, len(new), _AT_ONCE):
        dataset.merge_records(new[start : start + _AT_ONCE])
    return bool(stale or new)


def _content(record: Mapping[str, Any]) -> str:
    """A text that is the same for equal records. It leaves out the tags that MLflow adds."""
    tags = {name: value for name, value in record["tags"].items() if not name.startswith("mlflow.")}
    return json.dumps([record["inputs"], record["expectations"], tags], sort_keys=True)


def _to_hub(repository: str, name: str, files: _Files) -> bool:
    """Commit the files to the dataset `repository`. If it is missing, it is made, and is private. Returns whether this changed anything."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()
    logging.set_verbosity_error()
    hub = HfApi()
    hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
    before = hub.repo_info(repository, repo_type="dataset").sha
    added = [CommitOperationAdd(path, data) for path, data in files.items()]
    return hub.create_commit(repository, added, commit_message=name, repo_type="dataset").oid != before
