"""Finds the tables, figures and images of each document of a corpus, once per document version."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.sandbox import FileSource, ParserPool
from qagen_dagster.ingest.files import parse_options
from qagen_dagster.ingest.parsing import USABLE, Progress
from qagen_dagster.records.document import CorpusIndex, Document, IndexEntry, VisualManifest
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
    manifests: list[VisualManifest] = []
    with ThreadPoolExecutor(max(1, settings.parser_workers), thread_name_prefix="visuals") as threads:
        work = partial(_manifest, corpus, store, pool, options)
        for done, (entry, manifest) in enumerate(zip(usable, threads.map(work, usable), strict=True), 1):
            manifests.append(manifest)
            if progress is not None:
                progress(done, len(usable), entry.id)
    return manifests


def _manifest(
    corpus: Corpus, store: Store, pool: ParserPool, options: ParseOptions, entry: IndexEntry
) -> VisualManifest:
    key = VisualManifest.key(corpus.key, entry.id)
    known = store.find_valid(key, VisualManifest)
    if known is not None and known.document_version == entry.version and known.failure is None:
        return known
    source = FileSource(entry.source, corpus.documents_folder / entry.source)
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
