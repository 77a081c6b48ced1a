"""Opens a stored document for agents: its lines, its visuals, and images of its pages on demand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Event

from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParseOptions, RenderOptions
from qagen_dagster.formats.sandbox import FileSource, ParserPool
from qagen_dagster.ingest.files import CorpusFile, file_hash, parse_options, source_of
from qagen_dagster.ingest.parsing import stored_text
from qagen_dagster.records.document import Document, IndexEntry, VisualManifest
from qagen_dagster.records.questions.published import PublishedVisual
from qagen_dagster.store import Store
from qagen_dagster.toolkit.document_view import DocumentView


def open_view(
    corpus: Corpus, entry: IndexEntry, store: Store, pool: ParserPool, *, max_image_pixels: int
) -> DocumentView:
    """The document as tools see it. Raises StoreError when its record is missing, or a file of it is damaged."""
    document = store.read(Document.key(corpus.key, entry.id), Document)
    text = stored_text(store, corpus.key, entry)
    manifest = store.find(VisualManifest.key(corpus.key, entry.id), VisualManifest)
    current = manifest is not None and manifest.document_version == entry.version
    source = source_of(corpus, entry.source)
    return DocumentView(
        document=document,
        lines=tuple(text.split("\n")) if text else (),
        visuals=manifest.visuals if manifest is not None and current else (),
        render=partial(_render, pool, source, parse_options(corpus.config.documents)),
        max_image_pixels=max_image_pixels,
    )


def visual_image(
    corpus: Corpus,
    entry: IndexEntry,
    pool: ParserPool,
    visual: PublishedVisual,
    *,
    whole_page: bool = False,
) -> PageImage | None:
    """A picture of a visual, or with `whole_page` of its page with a frame around it; None if its document has no pages.

    Raises DocumentError when it cannot be rendered, and when the file has changed since it was parsed.
    """
    if visual.page is None:
        return None
    source, options = source_of(corpus, entry.source), parse_options(corpus.config.documents)
    try:
        known = file_hash(
            CorpusFile(source.name, Path(source.path), within=source.within), options.max_bytes, Event()
        )
    except OSError as error:
        raise DocumentError("corrupt", f"{source.name} cannot be read: {error.strerror}") from error
    if known != entry.source_sha256:
        raise DocumentError("corrupt", f"{source.name} has changed since it was parsed")
    how = RenderOptions(frame=visual.box) if whole_page else RenderOptions(crop=visual.box)
    return pool.render(source, visual.page, options, how)


def _render(
    pool: ParserPool, source: FileSource, options: ParseOptions, page: int, how: RenderOptions
) -> PageImage | None:
    if not Path(source.path).is_file():
        raise DocumentError("corrupt", f"{source.name} is no longer there")
    return pool.render(source, page, options, how)
