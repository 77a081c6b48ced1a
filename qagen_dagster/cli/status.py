"""`qagen status`: an overview of the catalog."""

from __future__ import annotations

import click
from rich.table import Table

from qagen_dagster.catalog import stats as queries
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option
from qagen_dagster.cli.output import Terminal
from qagen_dagster.loop.catalog.source import catalog_file
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


@click.command()
@json_option
@click.pass_obj
def status(settings: Settings, as_json: bool) -> None:
    """Show the state of corpora and combinations."""
    with catalog_file(Store(settings.assets)) as file:
        found = queries.status(file)
    if as_json:
        echo(found.model_dump_json(indent=2))
        return
    console = Terminal()
    documents = Table(title="Documents", caption=f"catalog built at {found.built_at:%Y-%m-%d %H:%M:%S} UTC")
    for name in ("corpus", "documents", "documents by outcome", "pages", "visuals"):
        documents.add_column(name)
    for corpus in found.corpora:
        outcomes = ", ".join(f"{name} {count}" for name, count in corpus.outcomes.items())
        documents.add_row(
            corpus.corpus, str(corpus.documents), outcomes, str(corpus.pages), str(corpus.visuals)
        )
    console.print(documents)
    sets = Table(title=f"Question sets: {found.questions} accepted questions")
    for name in ("combination", "accepted", "rejected", "documents finished", "profile", "last run (UTC)"):
        sets.add_column(name)
    for one in found.combinations:
        ended = f"{one.run_ended:%Y-%m-%d %H:%M}" if one.run_ended else "never"
        done = f"{one.documents_done} of {one.documents}"
        sets.add_row(one.combination, str(one.accepted), str(one.rejected), done, one.profile or "-", ended)
    console.print(sets)
