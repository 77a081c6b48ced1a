"""Stores a full text beside its document: the PDF, its parsed text, and the record without which both are ignored."""

from __future__ import annotations

from typing import Literal

from qagen_dagster.answering.fulltext.pdf_search import FoundPdf, open_pdf
from qagen_dagster.answering.fulltext.safe_http import Fault, FetchError
from qagen_dagster.formats.base import ParsedFile, ParsedText
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.records.answer import FulltextRecord
from qagen_dagster.records.corpus import FulltextOptions
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import content_hash
from qagen_dagster.store import Store

PDF, TEXT, RECORD = "fulltext.pdf", "fulltext.txt", "fulltext.json"  # beside document.json


def keep_found(
    store: Store, corpus: str, document_id: str, found: FoundPdf, *, proxy: bool = False
) -> FulltextRecord:
    """Store a PDF that a search found."""
    origin = "proxy" if proxy else "download"
    return _keep(store, corpus, document_id, found.data, found.parsed, (origin, found.resolver, found.url))


def add_fulltext(
    store: Store, corpus: str, document_id: str, data: bytes, options: FulltextOptions, pool: ParserPool
) -> FulltextRecord:
    """Store a PDF that a person has. Raises FetchError when it does not open, is too large or has no text."""
    if len(data) > options.max_megabytes * 1_000_000:
        raise FetchError(Fault.TOO_LARGE, f"{len(data):,} bytes")
    return _keep(store, corpus, document_id, data, open_pdf(data, options, pool), ("given", "", ""))


def stored_text(store: Store, corpus: str, document_id: str) -> str | None:
    """The text of the stored full text; None when there is none, or its record is damaged: it is fetched again then."""
    record = store.find_valid(Document.file_key(corpus, document_id, RECORD), FulltextRecord)
    data = store.get(Document.file_key(corpus, document_id, TEXT)) if record else None
    if record is None or data is None or content_hash(data) != record.text_sha256:
        return None
    return data.decode("utf-8")


def _keep(
    store: Store,
    corpus: str,
    document_id: str,
    data: bytes,
    parsed: ParsedFile,
    source: tuple[Literal["download", "proxy", "given"], str, str],
) -> FulltextRecord:
    """Store the files, the record last: after a crash, files without a record are ignored."""
    entry = next(one for one in parsed.entries if isinstance(one, ParsedText))
    text = entry.text.encode("utf-8", "replace")
    origin, resolver, url = source
    record = FulltextRecord(
        document_id=document_id, origin=origin, resolver=resolver, url=url, sha256=content_hash(data),
        bytes=len(data), parser=parsed.parser, page_count=entry.page_count, text_sha256=content_hash(text),
    )  # fmt: skip
    store.write_bytes(Document.file_key(corpus, document_id, PDF), data)
    store.write_bytes(Document.file_key(corpus, document_id, TEXT), text)
    store.write(Document.file_key(corpus, document_id, RECORD), record)
    return record
