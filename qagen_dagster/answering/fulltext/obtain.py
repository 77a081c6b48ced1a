"""Gets a missing full text: from open sources first, through the proxy only with consent. Failures are values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qagen_dagster.answering.fulltext.pdf_search import Search, find_pdf
from qagen_dagster.answering.fulltext.resolvers import Paper
from qagen_dagster.answering.fulltext.storage import keep_found, stored_text
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.records.answer import ProxyCallbackResult, QAError
from qagen_dagster.records.corpus import FulltextOptions
from qagen_dagster.store import Store

ProxyCallback = Callable[[str, str | None], ProxyCallbackResult]  # document id, title


@dataclass(frozen=True)
class Wanted:
    """The document, and what its reader consents to."""

    corpus: str
    document_id: str
    title: str | None
    paper: Paper
    always_allow_proxy: bool = False
    callback: ProxyCallback | None = None


@dataclass(frozen=True)
class Obtained:
    """The result: the text is stored, or `error` says why not. `detail` is one line for a person."""

    error: QAError | None
    detail: str = ""


def obtain(wanted: Wanted, options: FulltextOptions, store: Store, pool: ParserPool) -> Obtained:
    """Look for the PDF of a document and store it. Raises StoreError or OSError when it cannot be stored."""
    opened = find_pdf(wanted.paper, options, pool) if wanted.paper.known else Search(None, ())
    if opened.found is not None:
        keep_found(store, wanted.corpus, wanted.document_id, opened.found)
        return Obtained(None)
    if wanted.always_allow_proxy:
        return _by_proxy(wanted, options, store, pool, opened)
    if wanted.callback is None:
        return _not_asked(wanted, opened)
    said = wanted.callback(wanted.document_id, wanted.title)
    if said.pdf_made_available and stored_text(store, wanted.corpus, wanted.document_id) is not None:
        return Obtained(None)
    if said.allow_proxy:
        return _by_proxy(wanted, options, store, pool, opened)
    if said.pdf_made_available:
        return Obtained(QAError.NO_FULLTEXT, "no PDF was put into the store")
    return Obtained(QAError.USER_CANCELLED, _told(opened))


def _by_proxy(
    wanted: Wanted, options: FulltextOptions, store: Store, pool: ParserPool, opened: Search
) -> Obtained:
    if not wanted.paper.known:
        return _not_asked(wanted, opened)
    if options.proxy_url is None:
        detail = "the proxy is allowed, but none is configured (answering.fulltext.proxy_url)"
        return Obtained(QAError.CONFIGURATION_ERROR, detail)
    search = find_pdf(wanted.paper, options, pool, proxy=True)
    if search.found is None:
        return Obtained(QAError.DOWNLOAD_FAILED, f"through the proxy: {_told(search)}")
    keep_found(store, wanted.corpus, wanted.document_id, search.found, proxy=True)
    return Obtained(None)


def _not_asked(wanted: Wanted, opened: Search) -> Obtained:
    if not wanted.paper.known:
        return Obtained(QAError.NO_FULLTEXT, "the document names neither a DOI nor an address")
    error = QAError.PROXY_REQUIRED if opened.walled else QAError.DOWNLOAD_FAILED
    return Obtained(error, _told(opened))


def _told(search: Search) -> str:
    return "; ".join(one.line for one in search.attempts) or "no source knows it"
