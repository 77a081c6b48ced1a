"""`qagen corpora check`: reads every corpus.yaml and reports errors with their place."""

from __future__ import annotations

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import fail, print_json
from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.files import discover
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
            found.get(name)
        except ConfigError as error:
            faults = [error, *(fault for fault in faults if fault is not error)]
    if as_json:
        rows = {
            corpus.key: {
                "name": corpus.config.name,
                "files": len(discover(corpus)),
                "combinations": [one.key for one in corpus.combinations()],
            }
            for corpus in good
        }
        print_json({"corpora": rows, "faults": [str(fault) for fault in faults]})
    else:
        for corpus in good:
            files, scenarios = len(discover(corpus)), ", ".join(corpus.config.scenarios)
            echo(f"{corpus.key}: valid; files: {files}; scenarios: {scenarios}")
    return 2 if fail(faults) else 0
