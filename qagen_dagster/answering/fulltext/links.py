"""Reads landing pages: links to the PDF, and whether the page is a login page. Untrusted bytes are read in linear time."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

# "<" also ends an unclosed tag, so that no text is read twice.
_TAG = re.compile(r"<(meta|link|base|input|form)\s([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z:_-]{1,40})\s{0,4}=\s{0,4}("[^"]*"|'[^']*'|[^\s"'<>]{1,2000})""")
_PDF_NAMES = ("citation_pdf_url", "bepress_citation_pdf_url", "eprints.document_url", "wkhealth_pdf_url")
_LOGIN_PATH = re.compile(
    r"(?:^|[/._-])(?:login|log-in|signin|sign-in|sso|wayf|saml2?|shibboleth|openathens|authenticate|idp)(?:$|[/._?-])",
    re.IGNORECASE,
)
MAX_LINKS = 5


def pdf_links(page: str, url: str) -> list[str]:
    """The absolute URLs of the PDF that the page names, best first, without duplicates."""
    base, named, linked = url, list[str](), list[str]()
    for tag, said in _tags(page):
        if tag == "base" and said.get("href"):
            base = _join(url, said["href"]) or url
        elif tag == "meta" and _name(said) in _PDF_NAMES:
            named.append(said.get("content", ""))
        elif tag == "link" and _is_pdf_link(said):
            linked.append(said.get("href", ""))
    found = [_join(base, one.strip()) for one in (*named, *linked) if one.strip()]
    return list(dict.fromkeys(one for one in found if one))[:MAX_LINKS]


def asks_for_login(page: str, url: str) -> bool:
    """Whether the page asks for a password or redirects to a login page."""
    if _LOGIN_PATH.search(urlsplit(url).path):
        return True
    for tag, said in _tags(page):
        if tag == "input" and said.get("type", "").lower() == "password":
            return True
        if tag == "form" and _LOGIN_PATH.search(said.get("action", "")):
            return True
    return False


def _tags(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    for match in _TAG.finditer(page):
        said = {
            name.lower(): html.unescape(value.strip("\"'"))
            for name, value in _ATTRIBUTE.findall(match.group(2))
        }
        yield match.group(1).lower(), said


def _name(said: dict[str, str]) -> str:
    return (said.get("name") or said.get("property") or "").lower()


def _is_pdf_link(said: dict[str, str]) -> bool:
    rel = said.get("rel", "").lower().split()
    return said.get("type", "").lower() == "application/pdf" and bool({"alternate", "item"} & set(rel))


def _join(base: str, link: str) -> str | None:
    try:
        return urljoin(base, link)
    except ValueError:
        return None
