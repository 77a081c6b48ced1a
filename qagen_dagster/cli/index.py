"""`qagen index`: materializes the search index of corpora on the project's Dagster instance."""

from typing import Any

import click
from rich.table import Table

from qagen_dagster.cli.graph import Progress, open_quietly, unread
from qagen_dagster.cli.options import Models, json_option, model_options
from qagen_dagster.cli.output import Terminal, fail, print_json
from qagen_dagster.loop.product_table import Product
from qagen_dagster.loop.shared_budget import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import SearchIndex
from qagen_dagster.settings import Settings


@click.command()
@click.option("--corpus", help="Only this corpus. Default: all.")
@model_options
@json_option
@click.pass_obj
def index(settings: Settings, corpus: str | None, models: Models, as_json: bool) -> int:
    """Build or update the search index of corpora.

    The index finds parts of documents by meaning (embeddings) and by words. Only new and changed documents are
    embedded. A change of the embedder or of the chunk options builds the whole index again.
    """
    space = Workspace(settings)
    keys = [chosen.key for chosen in space.corpora.chosen(corpus)]
    effective_budget(space.profile(models.profile or settings.profile), models.budget)
    with Progress(Terminal(stderr=True), quiet=as_json) as progress:
        failures = _materialize(space, keys, models.fields, progress)
    _print([report(space, key) for key in keys], failures, as_json)
    return fail(failures)


def report(space: Workspace, corpus: str) -> dict[str, Any]:
    """The search index of one corpus, read from the store. `failed` has the reasons why documents have no chunks, by document id."""
    found = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    documents = () if found is None else found.documents
    return {
        "corpus": corpus,
        "documents": len(documents),
        "chunks": sum(entry.chunks for entry in documents),
        "failed": {entry.id: entry.failure for entry in documents if entry.failure is not None},
        "embedder": "" if found is None else f"{found.embedder['provider']}:{found.embedder['model']}",
    }


def _materialize(space: Workspace, keys: list[str], fields: dict[str, Any], progress: Progress) -> list[str]:
    failures: list[str] = []
    with open_quietly(space, progress) as graph:
        to_read = unread(space, keys)
        progress.begin(len(to_read) + len(keys))
        for key in to_read:
            failures += graph.documents(key)
        for key in keys:
            failures += graph.make(Product.INDEX, partition=key, fields=fields)
    return failures


def _print(reports: list[dict[str, Any]], failures: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"ok": not failures, "failures": failures, "corpora": reports})
        return
    table = Table(title="Search indexes")
    for name in ("corpus", "documents", "chunks", "failed documents", "embedder"):
        table.add_column(name)
    for row in reports:
        counts = (row["documents"], row["chunks"], len(row["failed"]))
        table.add_row(row["corpus"], *map(str, counts), row["embedder"] or "none")
    Terminal().print(table)
