"""Metadata of a JATS article: title, authors, date, DOI, abstract, language, keywords."""

from __future__ import annotations

from qagen_dagster.formats.jats.inline import inline, person, tidy
from qagen_dagster.formats.jats.tree import Element, below, first, line_of, local, named
from qagen_dagster.formats.lines import collapse
from qagen_dagster.records.document import Metadata

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Types of date elements, best first: the day of online publication, of print, of the volume.
_DATE_KINDS = ("epub", "pub", "publication", "epub-ppub", "ppub", "collection", "cover")
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_HREF = "{http://www.w3.org/1999/xlink}href"
_AUTHORS = ("author", "authors")  # kinds of groups whose contributors of the type "person" are authors


def read_metadata(article: Element) -> Metadata:
    """The metadata of an `article`, or of a part with its own front matter."""
    meta = first(article, "front", "article-meta")
    if meta is None:
        return Metadata()
    return Metadata(
        title=title_of(meta) or None,
        authors=authors_of(meta),
        date=_date(meta),
        doi=_doi(meta),
        abstract=_abstract(meta),
        language=article.get(_XML_LANG) or None,
        url=_url(meta),
    )


def title_of(meta: Element) -> str:
    """The title, with its subtitle after a colon; empty when there is none."""
    group = first(meta, "title-group")
    title, subtitle = inline(first(group, "article-title")), inline(first(group, "subtitle"))
    return f"{title}: {subtitle}" if title and subtitle else title or subtitle


def authors_of(meta: Element) -> tuple[str, ...]:
    """Names of the authors in order, given names first; groups by their own name."""
    names: list[str] = []
    for group in named(meta, "contrib-group"):
        kinds = ("author", "person") if group.get("content-type", "authors") in _AUTHORS else ("author",)
        names += [
            _contributor(one) for one in named(group, "contrib") if one.get("contrib-type", "author") in kinds
        ]
    return tuple(name for name in names if name)


def abstracts_of(meta: Element) -> list[Element]:
    """The main abstract, then digests, translations and other short forms; without graphical abstracts."""
    found = [
        one for one in named(meta, "abstract", "trans-abstract") if one.get("abstract-type") != "graphical"
    ]
    return sorted(found, key=lambda one: local(one) != "abstract" or bool(one.get("abstract-type")))


def abstract_heading(abstract: Element) -> str:
    """The abstract's own title, or one for its kind."""
    title = inline(first(abstract, "title"))
    if title:
        return title
    if local(abstract) == "trans-abstract":
        return f"Abstract ({abstract.get(_XML_LANG, 'translated')})"
    return {"toc": "In brief", "teaser": "In brief", "summary": "Author summary"}.get(
        abstract.get("abstract-type", ""), "Abstract"
    )


def keywords_of(meta: Element) -> tuple[str, ...]:
    """The authors' keywords in order, without duplicates."""
    words = (inline(word) for group in named(meta, "kwd-group") for word in below(group, "kwd"))
    return tuple(dict.fromkeys(word for word in words if word))


def _contributor(contrib: Element) -> str:
    for one in contrib:
        if local(one) in ("name", "string-name"):
            return person(one, given_first=True)
        if local(one) == "collab":
            own = (one.text or "") + "".join(
                ("" if local(child) == "contrib-group" else inline(child)) + (child.tail or "")
                for child in one
            )
            return collapse(own)
        if local(one) == "name-alternatives":
            name = first(one, "name")
            return "" if name is None else person(name, given_first=True)
    return ""


def _doi(meta: Element) -> str | None:
    ids = (one for one in named(meta, "article-id") if one.get("pub-id-type") == "doi")
    return line_of(next(ids, None)) or None


def _url(meta: Element) -> str | None:
    """The stated address of the article: its PDF, else its page."""
    stated = [
        one for one in named(meta, "self-uri") if (one.get(_HREF) or "").startswith(("http://", "https://"))
    ]
    best = min(stated, key=lambda one: "pdf" not in (one.get("content-type") or ""), default=None)
    return None if best is None else best.get(_HREF)


def _abstract(meta: Element) -> str | None:
    for one in abstracts_of(meta):
        paragraphs = (inline(part) for part in below(one, "p"))
        text = " ".join(part for part in paragraphs if part and not part.startswith("DOI: http"))
        return tidy(text) or None
    return None


def _date(meta: Element) -> str | None:
    stated = [(_rank(one), text) for one in named(meta, "pub-date") if (text := _iso(one))]
    return min(stated, key=lambda one: one[0])[1] if stated else None


def _rank(date: Element) -> int:
    kinds = (date.get("pub-type", ""), date.get("date-type", ""))
    return min((_DATE_KINDS.index(kind) for kind in kinds if kind in _DATE_KINDS), default=len(_DATE_KINDS))


def _iso(date: Element) -> str:
    """A date as precise as stated: "2026", "2026-07" or "2026-07-04"."""
    year = line_of(first(date, "year"))
    if not (year.isascii() and year.isdigit() and len(year) == 4):
        return ""
    month, day = _month(line_of(first(date, "month"))), line_of(first(date, "day"))
    if not month:
        return year
    if not (day.isascii() and day.isdigit() and 1 <= int(day) <= 31):
        return f"{year}-{month:02}"
    return f"{year}-{month:02}-{int(day):02}"


def _month(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 2 and 1 <= int(text) <= 12 else 0
    return _MONTHS.index(text[:3].lower()) + 1 if text[:3].lower() in _MONTHS else 0
