"""Sources of a paper's PDF: each source gives URLs to try. Landing pages are read for links to the PDF and for marks of a login page.

Landing pages are untrusted bytes and are read in linear time. Requests go through `safe_http`.
"""

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from urllib.parse import quote, urljoin, urlsplit

from qagen_dagster.answering.safe_http import Fault, FetchError, Page, Web
from qagen_dagster.records.corpus_options import FulltextOptions

# "<" also ends an unclosed tag, so that no text is read twice.
_TAG = re.compile(r"<(meta|link|base|input|form)\s([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z:_-]{1,40})\s{0,4}=\s{0,4}("[^"]*"|'[^']*'|[^\s"'<>]{1,2000})""")
_PDF_NAMES = ("citation_pdf_url", "bepress_citation_pdf_url", "eprints.document_url", "wkhealth_pdf_url")
_LOGIN_PATH = re.compile(
    r"(?:^|[/._-])(?:login|log-in|signin|sign-in|sso|wayf|saml2?|shibboleth|openathens|authenticate|idp)(?:$|[/._?-])",
    re.IGNORECASE,
)
MAX_LINKS = 5
MAX_URLS = 4  # maximum from one source


def pdf_links(page: str, url: str) -> list[str]:
    """The absolute URLs of the PDF that the page names, best first, without duplicates."""
    base, named, linked = url, list[str](), list[str]()
    for tag, attributes in _tags(page):
        if tag == "base" and attributes.get("href"):
            base = _join(url, attributes["href"]) or url
        elif (
            tag == "meta"
            and (attributes.get("name") or attributes.get("property") or "").lower() in _PDF_NAMES
        ):
            named.append(attributes.get("content", ""))
        elif tag == "link" and _is_pdf_link(attributes):
            linked.append(attributes.get("href", ""))
    found = [_join(base, link.strip()) for link in (*named, *linked) if link.strip()]
    return list(dict.fromkeys(filter(None, found)))[:MAX_LINKS]


def asks_for_login(page: str, url: str) -> bool:
    """Whether the page has the address of a login page, a password field, or a form that leads to a login page."""
    if _LOGIN_PATH.search(urlsplit(url).path):
        return True
    for tag, attributes in _tags(page):
        if tag == "input" and attributes.get("type", "").lower() == "password":
            return True
        if tag == "form" and _LOGIN_PATH.search(attributes.get("action", "")):
            return True
    return False


def _tags(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    for match in _TAG.finditer(page):
        attributes = {
            name.lower(): html.unescape(value.strip("\"'"))
            for name, value in _ATTRIBUTE.findall(match.group(2))
        }
        yield match.group(1).lower(), attributes


def _is_pdf_link(attributes: dict[str, str]) -> bool:
    rel = attributes.get("rel", "").lower().split()
    return attributes.get("type", "").lower() == "application/pdf" and bool({"alternate", "item"} & set(rel))


def _join(base: str, link: str) -> str | None:
    try:
        return urljoin(base, link)
    except ValueError:
        return None


@dataclass(frozen=True)
class Paper:
    """The known data of the document whose full text is missing."""

    doi: str | None = None
    url: str | None = None

    @property
    def known(self) -> bool:
        """Whether there is a DOI or a URL for a search."""
        return self.doi is not None or self.url is not None


Resolver = Callable[[Paper, Web], list[str]]
"""A source: the URLs of the PDF, best first, none if it does not know the paper. Raises FetchError."""


def _from_metadata(paper: Paper, web: Web) -> list[str]:
    """The URL that the document's own metadata gives: a PDF, or a page that names one."""
    return [paper.url] if paper.url else []


def _from_doi(template: str, paper: Paper, web: Web) -> list[str]:
    """The page or the PDF that the DOI leads to."""
    return [_filled(template, paper.doi)] if paper.doi else []


def _from_unpaywall(template: str, paper: Paper, web: Web) -> list[str]:
    """Open copies from a service that lists them as Unpaywall does: `best_oa_location` and `oa_locations`."""
    if not paper.doi:
        return []
    reply = _object(web.get(_filled(template, paper.doi)))
    places = [reply.get("best_oa_location"), *_list(reply.get("oa_locations"))]
    found = [_text(_dict(place), name) for name in ("url_for_pdf", "url") for place in places]
    return list(dict.fromkeys(filter(None, found)))[:MAX_URLS]


def _from_europe_pmc(template: str, paper: Paper, web: Web) -> list[str]:
    """Open copies from a service that answers as Europe PMC does: `resultList.result[].fullTextUrlList.fullTextUrl[]`."""
    if not paper.doi:
        return []
    reply = _object(web.get(_filled(template, paper.doi)))
    found: list[str] = []
    for result in map(_dict, _list(_dict(reply.get("resultList")).get("result"))):
        if (_text(result, "doi") or "").casefold() not in ("", paper.doi.casefold()):
            continue  # the search may return other papers
        for link in map(_dict, _list(_dict(result.get("fullTextUrlList")).get("fullTextUrl"))):
            url, is_pdf = _text(link, "url"), _text(link, "documentStyle") == "pdf"
            access = (_text(link, "availability") or "Open access").casefold()
            if url and is_pdf and access in ("open access", "free"):
                found.append(url)
    return list(dict.fromkeys(found))[:MAX_URLS]


def resolvers(options: FulltextOptions) -> dict[str, Resolver]:
    """All sources that the configuration allows, by name, in the order in which they are tried."""
    found, email = through_proxy(options), options.email or ""
    if options.unpaywall_url and (email or "{email}" not in options.unpaywall_url):
        template = options.unpaywall_url.replace("{email}", quote(email))
        found["unpaywall"] = partial(_from_unpaywall, template)
    if options.europe_pmc_url:
        found["europe_pmc"] = partial(_from_europe_pmc, options.europe_pmc_url)
    return found


def through_proxy(options: FulltextOptions) -> dict[str, Resolver]:
    """The sources for which a proxy makes a difference."""
    found: dict[str, Resolver] = {"url": _from_metadata}
    return found | ({"doi": partial(_from_doi, options.doi_url)} if options.doi_url else {})


def named_pdfs(page: Page) -> list[str]:
    """The PDFs that a fetched page names. If it names none, raises FetchError: `login` for a login page, else `wrong_type`."""
    links = pdf_links(page.text, page.url)
    if links:
        return links
    if asks_for_login(page.text, page.url):
        raise FetchError(Fault.LOGIN, "a page that asks for a login")
    raise FetchError(
        Fault.WRONG_TYPE, f"{page.media_type or 'something'} that names no PDF, in place of a PDF"
    )


def _filled(template: str, doi: str | None) -> str:
    return template.replace("{doi}", quote(doi or "", safe="/"))


def _object(page: Page) -> dict[str, Any]:
    try:
        value: object = json.loads(page.body)
    except (ValueError, RecursionError):
        raise FetchError(Fault.WRONG_TYPE, "the reply is no JSON") from None
    return _dict(value)


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value)[:50] if isinstance(value, list) else []


def _text(value: dict[str, Any], name: str) -> str | None:
    found = value.get(name)
    return found if isinstance(found, str) and found else None
