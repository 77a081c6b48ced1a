"""Gets a missing full text: from open sources first, through the proxy only with consent. Failures are values.

The sources are asked in order until one gives a PDF that opens, and every attempt is reported. The PDF, its text and a record are
stored beside their document. Without the record, PDF and text are ignored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from qagen_dagster.answering.pdf_sources import Paper, Resolver, named_pdfs, resolvers, through_proxy
from qagen_dagster.answering.safe_http import AddressPolicy, Fault, FetchError, Page, Web
from qagen_dagster.formats.base import ParsedFile, ParsedText, ParseOptions, Source
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.records.answer import FulltextRecord, ProxyCallbackResult, QAError
from qagen_dagster.records.corpus_options import FulltextOptions
from qagen_dagster.records.document import Document, Outcome
from qagen_dagster.records.ids import content_hash
from qagen_dagster.store import Store

Check = Callable[[bytes], "ParsedFile"]
PDF, TEXT, RECORD = "fulltext.pdf", "fulltext.txt", "fulltext.json"  # beside document.json
ProxyCallback = Callable[[str, str | None], ProxyCallbackResult]  # document id, title


@dataclass(frozen=True)
class Attempt:
    """A URL that gave no PDF, or a source that could not be asked. In the second case `url` is empty."""

    resolver: str
    url: str
    fault: Fault
    detail: str

    @property
    def line(self) -> str:
        return f"{self.resolver}: {self.fault.value}, {self.detail}"


@dataclass(frozen=True)
class FoundPdf:
    """A PDF that opens and has text. `resolver` and `url` are empty for a PDF that a person gave."""

    resolver: str
    url: str
    data: bytes = field(repr=False)
    parsed: ParsedFile = field(repr=False)


@dataclass(frozen=True)
class Search:
    """The result of a search: a PDF, or all attempts that gave no PDF."""

    found: FoundPdf | None
    attempts: tuple[Attempt, ...]

    @property
    def walled(self) -> bool:
        """Whether no PDF was found, and a source asked for a login."""
        return self.found is None and any(one.fault is Fault.LOGIN for one in self.attempts)


def find_pdf(paper: Paper, options: FulltextOptions, pool: ParserPool, *, proxy: bool = False) -> Search:
    """Look for the PDF of `paper`, with or without the proxy. Failures of servers are attempts, not exceptions."""
    web = Web(
        AddressPolicy(frozenset(one.lower() for one in options.allow_private)),
        seconds=options.seconds,
        max_bytes=int(options.max_megabytes * 1_000_000),
        proxy_url=options.proxy_url if proxy else None,
    )
    try:
        sources = through_proxy(options) if proxy else resolvers(options)
        return _Attempts(paper, web, lambda data: open_pdf(data, options, pool)).run(sources)
    finally:
        web.close()


def open_pdf(data: bytes, options: FulltextOptions, pool: ParserPool) -> ParsedFile:
    """The parsed PDF. Raises FetchError `unreadable` when it does not open or has no text."""
    if b"%PDF-" not in data[:1024]:
        raise FetchError(Fault.UNREADABLE, "it does not begin as a PDF")
    limits = ParseOptions(max_bytes=int(options.max_megabytes * 1_000_000), ocr=False)
    parsed = pool.parse(Source("fulltext.pdf", data), limits)
    texts = [one for one in parsed.entries if isinstance(one, ParsedText) and one.text.strip()]
    if parsed.outcome is not Outcome.PARSED or not texts:
        raise FetchError(Fault.UNREADABLE, f"the PDF is {parsed.outcome.value} {parsed.detail}".strip())
    return parsed


@dataclass
class _Attempts:
    """One pass over the sources, and the attempts that gave no PDF. Each URL is requested at most once."""

    paper: Paper
    web: Web
    check: Check
    asked: set[str] = field(default_factory=set[str])
    attempts: list[Attempt] = field(default_factory=list[Attempt])

    def run(self, sources: Mapping[str, Resolver]) -> Search:
        for name, urls_of in sources.items():
            try:
                urls = urls_of(self.paper, self.web)
            except FetchError as error:
                self._note(name, "", error)
                continue
            for found in self._try(name, urls):
                return Search(found, tuple(self.attempts))
        return Search(None, tuple(self.attempts))

    def _try(self, name: str, urls: Sequence[str]) -> Iterator[FoundPdf]:
        """Try the PDFs at `urls`, or, one step further, the PDFs that a page at these URLs names."""
        for url in urls:
            page = self._page(name, url)
            if page is None:
                continue
            if page.is_pdf:
                yield from self._checked(name, page)
                continue
            for link in self._links(name, page):
                linked = self._page(name, link)
                if linked is not None:
                    yield from self._checked(name, linked)

    def _page(self, name: str, url: str) -> Page | None:
        if url in self.asked:
            return None
        self.asked.add(url)
        try:
            return self.web.get(url, pdf=True)
        except FetchError as error:
            self._note(name, url, error)
            return None

    def _links(self, name: str, page: Page) -> list[str]:
        try:
            return named_pdfs(page)
        except FetchError as error:
            self._note(name, page.url, error)
            return []

    def _checked(self, name: str, page: Page) -> Iterator[FoundPdf]:
        try:
            if not page.is_pdf:
                named_pdfs(page)  # raises an error that distinguishes a login page from other pages
                raise FetchError(Fault.WRONG_TYPE, f"{page.media_type or 'something'} in place of a PDF")
            yield FoundPdf(name, page.url, page.body, self.check(page.body))
        except FetchError as error:
            self._note(name, page.url, error)

    def _note(self, name: str, url: str, error: FetchError) -> None:
        self.attempts.append(Attempt(name, url, error.fault, error.detail))


def add_fulltext(
    store: Store, corpus: str, document_id: str, data: bytes, options: FulltextOptions, pool: ParserPool
) -> FulltextRecord:
    """Store a PDF that a person has. Raises FetchError when it does not open, is too large or has no text."""
    if len(data) > options.max_megabytes * 1_000_000:
        raise FetchError(Fault.TOO_LARGE, f"{len(data):,} bytes")
    return _keep(store, corpus, document_id, FoundPdf("", "", data, open_pdf(data, options, pool)), "given")


def stored_text(store: Store, corpus: str, document_id: str) -> str | None:
    """The text of the stored full text; None when there is none, or when its record is damaged, so that the text is fetched again."""
    record = store.find_valid(Document.file_key(corpus, document_id, RECORD), FulltextRecord)
    data = store.get(Document.file_key(corpus, document_id, TEXT)) if record else None
    if record is None or data is None or content_hash(data) != record.text_sha256:
        return None
    return data.decode("utf-8")


def _keep(
    store: Store,
    corpus: str,
    document_id: str,
    found: FoundPdf,
    origin: Literal["download", "proxy", "given"],
) -> FulltextRecord:
    """Store the files, with the record last, because files without a record are ignored after a crash."""
    entry = next(one for one in found.parsed.entries if isinstance(one, ParsedText))
    text = entry.text.encode("utf-8", "replace")
    record = FulltextRecord(
        document_id=document_id, origin=origin, resolver=found.resolver, url=found.url, sha256=content_hash(found.data),
        bytes=len(found.data), parser=found.parsed.parser, page_count=entry.page_count, text_sha256=content_hash(text),
    )  # fmt: skip
    store.write_bytes(Document.file_key(corpus, document_id, PDF), found.data)
    store.write_bytes(Document.file_key(corpus, document_id, TEXT), text)
    store.write(Document.file_key(corpus, document_id, RECORD), record)
    return record


@dataclass(frozen=True)
class Wanted:
    """The document, and the function that asks for consent to the proxy."""

    corpus: str
    document_id: str
    title: str | None
    paper: Paper
    callback: ProxyCallback | None = None


@dataclass(frozen=True)
class Obtained:
    """The result: the text is stored, or `error` states why it is not. `detail` is one line for a person."""

    error: QAError | None
    detail: str = ""


def obtain(wanted: Wanted, options: FulltextOptions, store: Store, pool: ParserPool) -> Obtained:
    """Look for the PDF of a document and store it. Raises StoreError or OSError when it cannot be stored."""
    opened = find_pdf(wanted.paper, options, pool) if wanted.paper.known else Search(None, ())
    if opened.found is not None:
        _keep(store, wanted.corpus, wanted.document_id, opened.found, "download")
        return Obtained(None)
    if options.always_allow_proxy:
        return _by_proxy(wanted, options, store, pool, opened)
    if wanted.callback is None:
        return _not_asked(wanted, opened)
    consent = wanted.callback(wanted.document_id, wanted.title)
    if consent.pdf_made_available and stored_text(store, wanted.corpus, wanted.document_id) is not None:
        return Obtained(None)
    if consent.allow_proxy:
        return _by_proxy(wanted, options, store, pool, opened)
    if consent.pdf_made_available:
        return Obtained(QAError.NO_FULLTEXT, "no PDF was put into the store")
    return Obtained(QAError.USER_CANCELLED, _attempts_line(opened))


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
        return Obtained(QAError.DOWNLOAD_FAILED, f"through the proxy: {_attempts_line(search)}")
    _keep(store, wanted.corpus, wanted.document_id, search.found, "proxy")
    return Obtained(None)


def _not_asked(wanted: Wanted, opened: Search) -> Obtained:
    if not wanted.paper.known:
        return Obtained(QAError.NO_FULLTEXT, "the document names neither a DOI nor an address")
    error = QAError.PROXY_REQUIRED if opened.walled else QAError.DOWNLOAD_FAILED
    return Obtained(error, _attempts_line(opened))


def _attempts_line(search: Search) -> str:
    return "; ".join(one.line for one in search.attempts) or "no source knows it"
