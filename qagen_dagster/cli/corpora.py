"""The commands about corpora: `qagen init`, `qagen corpora check` and `qagen documents`."""

import contextlib
import json
from collections.abc import Iterator

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import OneOf, json_option
from qagen_dagster.cli.output import fail, print_json, warn
from qagen_dagster.configuration.corpora import (
    CONFIG_NAME,
    RESERVED,
    TEMPLATE,
    Corpus,
    find_corpus,
    load_corpora,
    load_corpus,
)
from qagen_dagster.configuration.profiles import load_profile
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.corpus_files import discover
from qagen_dagster.loop.questions.stopping import room_notes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import CorpusIndex, Outcome
from qagen_dagster.records.ids import check_name
from qagen_dagster.settings import Settings


@click.group()
def corpora() -> None:
    """Check the configuration of corpora."""


@corpora.command()
@click.argument("names", nargs=-1)
@json_option
@click.pass_obj
def check(settings: Settings, names: tuple[str, ...], as_json: bool) -> int:
    """Check all corpora, or only NAMES.

    Exits with 2 if a corpus cannot be used.
    """
    found = load_corpora(settings.corpora)
    faults = list(found.faults)
    good = [corpus for key, corpus in found.corpora.items() if not names or key in names]
    for name in names:
        try:
            find_corpus(settings.corpora, name)
        except ConfigError as error:
            faults = [error, *(fault for fault in faults if fault is not error)]
    faults += (fault for corpus in good for fault in _unknown_profiles(corpus, settings))
    files = {corpus.key: len(discover(corpus)) for corpus in good}
    warnings = [f"{key}: there are no documents" for key, count in files.items() if not count]
    warnings += (note for corpus in good for note in _room_notes(corpus, settings))
    if as_json:
        rows = {
            corpus.key: {
                "name": corpus.config.name,
                "files": files[corpus.key],
                "combinations": [combination.key for combination in corpus.combinations()],
            }
            for corpus in good
        }
        print_json({"corpora": rows, "faults": [str(fault) for fault in faults], "warnings": warnings})
    else:
        for corpus in good:
            scenarios = ", ".join(corpus.config.scenarios)
            echo(f"{corpus.key}: valid; files: {files[corpus.key]}; scenarios: {scenarios}")
        warn(warnings)
    return 2 if fail(faults) else 0


def _unknown_profiles(corpus: Corpus, settings: Settings) -> Iterator[ConfigError]:
    for key, scenario in corpus.config.scenarios.items():
        try:
            load_profile(scenario.profile or "embedded", settings.profiles)
        except ConfigError as error:
            path = corpus.folder / CONFIG_NAME
            yield ConfigError(str(error), file=path, key=f"scenarios.{key}.profile")


def _room_notes(corpus: Corpus, settings: Settings) -> Iterator[str]:
    for key, scenario in corpus.config.scenarios.items():
        name = scenario.profile or settings.profile
        with contextlib.suppress(ConfigError):  # the faults name an unknown profile
            for note in room_notes(scenario, load_profile(name, settings.profiles)):
                yield f"{corpus.key}/{key} with the profile {name}: {note}"


@click.command()
@click.option("--corpus", help="Only this corpus. Default: all.")
@click.option("--outcome", type=OneOf(Outcome), help="Only documents with this outcome. Default: all.")
@json_option
@click.pass_obj
def documents(settings: Settings, corpus: str | None, outcome: Outcome | None, as_json: bool) -> None:
    """List documents with their outcomes, and why a file cannot be used.

    Shows what was last parsed. Files that were not parsed yet are not listed.
    """
    space = Workspace(settings)
    chosen = [space.corpus(corpus)] if corpus else list(space.corpora.corpora.values())
    parsed = [loaded.key for loaded in chosen if space.store.exists(CorpusIndex.key(loaded.key))]
    found = [
        {"corpus": key, "document": entry.id, "source": entry.source}
        | {"outcome": entry.outcome.value, "detail": entry.detail}
        for key in parsed
        for entry in space.entries(key)
        if outcome in (None, entry.outcome)
    ]
    unread = [
        f"{loaded.key}: its documents were never parsed; qagen run --corpus {loaded.key} reads them"
        for loaded in chosen
        if loaded.key not in parsed
    ]
    if as_json:
        print_json(found)
    else:
        for row in found:
            fields = (row["corpus"], row["document"], row["outcome"], row["detail"])
            echo(" | ".join(part for part in fields if part))
    warn((*unread, *space.corpora.faults))


@click.command()
@click.argument("name")
@click.pass_obj
def init(settings: Settings, name: str) -> None:
    """Make the folder of a new corpus.

    Writes `corpus.yaml`, to be edited, and an empty folder for the documents. NAME is the key of the corpus.
    """
    try:
        check_name(name)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if name in RESERVED:
        raise ConfigError(f"a corpus cannot have the name {name}, which is reserved for {name}")
    folder = settings.corpora / name
    try:
        (folder / "documents").mkdir(parents=True)
        with (folder / CONFIG_NAME).open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(name=json.dumps(name)))
    except FileExistsError as error:
        raise ConfigError("already exists", file=error.filename) from None
    load_corpus(folder)
    echo(
        f"made {folder}\n"
        f"1. put your documents into {folder / 'documents'}\n"
        f"2. describe them in {folder / CONFIG_NAME}\n"
        f"3. qagen corpora check {name}\n"
        f"4. qagen run --corpus {name}"
    )
