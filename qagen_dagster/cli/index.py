"""`qagen index`: materialize the search index of corpora on the project's Dagster instance."""

from __future__ import annotations

import json
from typing import Any

import click
from pydantic import Field
from rich.console import Console
from rich.table import Table

from qagen_dagster.cli.graph import open_quietly, unread
from qagen_dagster.cli.options import budget_options, json_option, profile_option
from qagen_dagster.cli.progress import Progress
from qagen_dagster.loop.spending import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.base import Record
from qagen_dagster.records.index import SearchIndex
from qagen_dagster.settings import Settings


class IndexReport(Record):
    """The search index of one corpus, read from the store."""

    corpus: str
    documents: int = 0
    chunks: int = 0
    failed: dict[str, str] = Field(default_factory=dict)  # document id -> why it has no chunks
    embedder: str = ""


@click.command()
@click.option("--corpus", help="Only this corpus.")
@budget_options
@profile_option
@json_option
@click.pass_obj
def index(
    settings: Settings,
    corpus: str | None,
    max_usd: float | None,
    max_tokens: int | None,
    max_calls: int | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Make documents searchable, by meaning and by words.

    Brings the search index of every corpus, or of one, up to date. Documents that did not change are not
    embedded again; another embedder or another chunking builds it anew.
    """
    space = Workspace(settings)
    keys = [space.corpus(corpus).key] if corpus is not None else list(space.corpora.corpora)
    if not keys and space.corpora.faults:
        raise space.corpora.faults[0]
    wished = Allowance(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
    effective_budget(space.profile(profile or settings.profile), None if wished.unlimited else wished)
    given = ({} if profile is None else {"profile": profile}) | wished.model_dump(exclude_none=True)
    with Progress(Console(stderr=True), quiet=as_json) as progress:
        failures = _materialize(space, keys, given, progress)
    _print([report(space, key) for key in keys], failures, as_json)
    for failure in failures:
        click.echo(f"qagen: error: {failure}", err=True)
    return 1 if failures else 0


def report(space: Workspace, corpus: str) -> IndexReport:
    """Read what the store has of a corpus' index."""
    found = space.store.find(SearchIndex.key(corpus), SearchIndex)
    if found is None:
        return IndexReport(corpus=corpus)
    return IndexReport(
        corpus=corpus,
        documents=len(found.documents),
        chunks=sum(one.chunks for one in found.documents),
        failed={one.id: one.failure for one in found.documents if one.failure is not None},
        embedder=f"{found.embedder['provider']}:{found.embedder['model']}",
    )


def _materialize(space: Workspace, keys: list[str], given: dict[str, Any], progress: Progress) -> list[str]:
    config = {"ops": {"document_index": {"config": given}}} if given else None
    failures: list[str] = []
    with open_quietly(space, progress) as graph:
        to_read = unread(space, keys)
        progress.begin(len(to_read) + len(keys))
        for key in to_read:
            failures += graph.documents(key)
        for key in keys:
            failures += graph.materialize(f"index {key}", ("document_index",), key, config)
    return failures


def _print(reports: list[IndexReport], failures: list[str], as_json: bool) -> None:
    if as_json:
        told = {"ok": not failures, "failures": failures, "corpora": [one.model_dump() for one in reports]}
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    table = Table(title="Search indexes")
    for name in ("corpus", "documents", "chunks", "failed", "embedder"):
        table.add_column(name)
    for one in reports:
        table.add_row(
            one.corpus, str(one.documents), str(one.chunks), str(len(one.failed)), one.embedder or "none"
        )
    Console().print(table)
