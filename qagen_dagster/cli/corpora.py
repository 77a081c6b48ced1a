"""`qagen corpora check`: read every corpus.yaml and say what is wrong, and where."""

from __future__ import annotations

import json

import click

from qagen_dagster.cli.options import json_option
from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.errors import ConfigError
from qagen_dagster.ingest.files import discover
from qagen_dagster.settings import Settings


@click.group()
def corpora() -> None:
    """Look at the corpora."""


@corpora.command()
@click.argument("names", nargs=-1)
@json_option
@click.pass_obj
def check(settings: Settings, names: tuple[str, ...], as_json: bool) -> int:
    """Check every corpus, or the named ones. Exit 2 when one of them cannot be used."""
    found = load_corpora(settings.corpora)
    faults = list(found.faults)
    good = [corpus for key, corpus in found.corpora.items() if not names or key in names]
    for name in names:
        try:
            found.get(name)
        except ConfigError as error:
            faults = [error, *(fault for fault in faults if fault is not error)]
    if as_json:
        click.echo(
            json.dumps(
                {
                    "corpora": {
                        corpus.key: {
                            "name": corpus.config.name,
                            "files": len(discover(corpus)),
                            "combinations": [one.key for one in corpus.combinations()],
                        }
                        for corpus in good
                    },
                    "faults": [str(fault) for fault in faults],
                },
                indent=2,
                ensure_ascii=False,
            )
        )
    else:
        for corpus in good:
            files, scenarios = len(discover(corpus)), ", ".join(corpus.config.scenarios)
            click.echo(f"{corpus.key}: good, {files} files, scenarios {scenarios}")
    for fault in faults:
        click.echo(f"qagen: error: {fault}", err=True)
    return 2 if faults else 0
