"""Asks the sources in order until one gives a PDF that opens, and reports every attempt. `keep` stores the PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from qagen_dagster.answering.fulltext.addresses import AddressPolicy
from qagen_dagster.answering.fulltext.resolvers import (
    FulltextResolver,
    Paper,
    named_pdfs,
    resolvers,
    through_proxy,
)
from qagen_dagster.answering.fulltext.safe_http import Fault, FetchError, Page, Web
from qagen_dagster.formats.base import ParsedFile, ParsedText, ParseOptions, Source
from qagen_dagster.formats.sandbox import ParserPool
from qagen_dagster.records.corpus import FulltextOptions
from qagen_dagster.records.document import Outcome

Check = Callable[[bytes], "ParsedFile"]


@dataclass(frozen=True)
class Attempt:
    """A URL that gave no PDF, or a source that could not be asked (then `url` is empty)."""

    resolver: str
    url: str
    fault: Fault
    detail: str

    @property
    def line(self) -> str:
        return f"{self.resolver}: {self.fault.value}, {self.detail}"


@dataclass(frozen=True)
class FoundPdf:
    """A PDF that opens and has text."""

    resolver: str
    url: str
    data: bytes = field(repr=False)
    parsed: ParsedFile = field(repr=False)


@dataclass(frozen=True)
class Search:
    """How a search ended: with a PDF, or with all attempts that gave none."""

    found: FoundPdf | None
    attempts: tuple[Attempt, ...]

    @property
    def walled(self) -> bool:
        """Whether a source has the PDF but requires a login."""
        return self.found is None and any(one.fault is Fault.LOGIN for one in self.attempts)


def find_pdf(
    paper: Paper,
    options: FulltextOptions,
    pool: ParserPool,
    *,
    proxy: bool = False,
) -> Search:
    """Look for the PDF of `paper`, with or without the proxy. Failures of servers are attempts, not exceptions."""
    web = Web(
        AddressPolicy(frozenset(one.lower() for one in options.allow_private)),
        seconds=options.seconds,
        max_bytes=int(options.max_megabytes * 1_000_000),
        proxy_url=options.proxy_url if proxy else None,
    )
    try:
        sources = through_proxy(options) if proxy else resolvers(options)
        return _Round(paper, web, lambda data: open_pdf(data, options, pool)).run(sources)
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
class _Round:
    """One pass over the sources. Each URL is requested once."""

    paper: Paper
    web: Web
    check: Check
    asked: set[str] = field(default_factory=set[str])
    attempts: list[Attempt] = field(default_factory=list[Attempt])

    def run(self, sources: Sequence[FulltextResolver]) -> Search:
        for source in sources:
            try:
                urls = source.urls(self.paper, self.web)
            except FetchError as error:
                self._note(source.name, "", error)
                continue
            for found in self._try(source.name, urls):
                return Search(found, tuple(self.attempts))
        return Search(None, tuple(self.attempts))

    def _try(self, name: str, urls: Sequence[str]) -> Iterator[FoundPdf]:
        """Try the PDFs at `urls`, or one step further the PDFs that a page there names."""
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
                named_pdfs(page)  # raises an error that tells a login page from other pages
                raise FetchError(Fault.WRONG_TYPE, f"{page.media_type or 'something'} in place of a PDF")
            yield FoundPdf(name, page.url, page.body, self.check(page.body))
        except FetchError as error:
            self._note(name, page.url, error)

    def _note(self, name: str, url: str, error: FetchError) -> None:
        self.attempts.append(Attempt(name, url, error.fault, error.detail))
