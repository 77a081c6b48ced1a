"""Finds the tables, figures and images of each document of a corpus, once per document version."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.ingest.files import parse_options, source_of
from qagen_dagster.ingest.parallel import Progress, apply_to_all
from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.records.document import (
    CorpusIndex,
    Document,
    IndexEntry,
    VisualManifest,
)
from qagen_dagster.settings import Settings
from qagen_dagster.store import Store


def build_manifests(
    corpus: Corpus,
    index: CorpusIndex,
    store: Store,
    pool: ParserPool,
    settings: Settings,
    progress: Progress | None = None,
) -> list[VisualManifest]:
    """The manifest of every usable document, in index order. A failure is recorded in the manifest."""
    options = parse_options(corpus.config.documents)
    usable = [entry for entry in index.documents if entry.outcome in USABLE]
    work = partial(_manifest, corpus, store, pool, options)
    return apply_to_all(work, usable, [entry.id for entry in usable], settings.parser_workers, progress)


def _manifest(
    corpus: Corpus, store: Store, pool: ParserPool, options: ParseOptions, entry: IndexEntry
) -> VisualManifest:
    key = VisualManifest.key(corpus.key, entry.id)
    known = store.find_valid(key, VisualManifest)
    if known is not None and known.document_version == entry.version and known.failure is None:
        return known
    source = source_of(corpus, entry.source)
    document = store.find(Document.key(corpus.key, entry.id), Document)
    options = replace(options, known_pages=document.pages if document else ())
    try:
        visuals, failure = pool.visuals(source, entry.row, options), None
    except DocumentError as error:
        visuals, failure = (), str(error)
    manifest = VisualManifest(
        document_id=entry.id, document_version=entry.version, visuals=visuals, failure=failure
    )
    store.write(key, manifest)
    return manifest
