"""The format of JATS XML articles (journal publishing and archiving tag sets), with or without a DTD: text, metadata, visuals and rights.

The text holds, in this order: title, authors, abstracts, keywords, the body's sections, back matter, references, and
sub-articles (decision letters, replies) under their own headings. Any of them may be missing: an accepted manuscript
may have no body. There are no pages. `wrap.py` breaks the text into lines.
"""

import re
from collections.abc import Sequence

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import VERSIONS, Format, ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.decoding import collapse, without_bom
from qagen_dagster.formats.jats.body import BodyWriter, Writer
from qagen_dagster.formats.jats.inline import (
    HREF,
    UNREADABLE,
    Element,
    below,
    children,
    first,
    inline,
    is_struck,
    line_of,
    local,
    named,
    person,
    read_tree,
    tidy,
)
from qagen_dagster.formats.rights import rights_in
from qagen_dagster.records.document import Metadata, Outcome, Rights, Visual
from qagen_dagster.records.text import counted

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Types of date elements, best first: the date of online publication, of print, of the volume.
_DATE_KINDS = ("epub", "pub", "publication", "epub-ppub", "ppub", "collection", "cover")
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_AUTHORS = ("author", "authors")  # kinds of groups whose contributors of the type "person" are authors
_ROOT = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:article|pmc-articleset)[\s>]|<!DOCTYPE\s+article\b")
_KINDS = {
    "decision-letter": "Decision letter",
    "reply": "Author response",
    "article-commentary": "Commentary",
}


def _metadata(article: Element) -> Metadata:
    """The metadata of an `article`."""
    meta = first(article, "front", "article-meta")
    if meta is None:
        return Metadata()
    dois = (each for each in named(meta, "article-id") if each.get("pub-id-type") == "doi")
    return Metadata(
        title=_title_of(meta) or None,
        authors=_authors_of(meta),
        date=_date(meta),
        doi=line_of(next(dois, None)) or None,
        abstract=_abstract(meta),
        language=article.get(_XML_LANG) or None,
        url=_url(meta),
    )


def _title_of(meta: Element) -> str:
    """The title, with its subtitle after a colon; empty when there is none."""
    group = first(meta, "title-group")
    title, subtitle = inline(first(group, "article-title")), inline(first(group, "subtitle"))
    return f"{title}: {subtitle}" if title and subtitle else title or subtitle


def _authors_of(meta: Element) -> tuple[str, ...]:
    """The names of the authors in order, given names first. A collaboration is one author, with its own name."""
    names: list[str] = []
    for group in named(meta, "contrib-group"):
        kinds = ("author", "person") if group.get("content-type", "authors") in _AUTHORS else ("author",)
        names += [
            _contributor(one) for one in named(group, "contrib") if one.get("contrib-type", "author") in kinds
        ]
    return tuple(name for name in names if name)


def _abstracts_of(meta: Element) -> list[Element]:
    """The main abstract, then the others, such as digests and translations. Graphical abstracts are left out."""
    found = [
        one for one in named(meta, "abstract", "trans-abstract") if one.get("abstract-type") != "graphical"
    ]
    return sorted(found, key=lambda one: local(one) != "abstract" or bool(one.get("abstract-type")))


def _abstract_heading(abstract: Element) -> str:
    """The abstract's own title, or else a title for its kind."""
    title = inline(first(abstract, "title"))
    if title:
        return title
    if local(abstract) == "trans-abstract":
        return f"Abstract ({abstract.get(_XML_LANG, 'translated')})"
    return {"toc": "In brief", "teaser": "In brief", "summary": "Author summary"}.get(
        abstract.get("abstract-type", ""), "Abstract"
    )


def _keywords_of(meta: Element) -> tuple[str, ...]:
    """The keywords of all groups in order, without duplicates."""
    words = (inline(word) for group in named(meta, "kwd-group") for word in below(group, "kwd"))
    return tuple(dict.fromkeys(word for word in words if word))


def _contributor(contrib: Element) -> str:
    for child_element in contrib:
        if local(child_element) in ("name", "string-name"):
            return person(child_element, given_first=True)
        if local(child_element) == "collab":
            own = (child_element.text or "") + "".join(
                ("" if local(child) == "contrib-group" else inline(child)) + (child.tail or "")
                for child in child_element
            )
            return collapse(own)
        if local(child_element) == "name-alternatives":
            name = first(child_element, "name")
            return "" if name is None else person(name, given_first=True)
    return ""


def _url(meta: Element) -> str | None:
    """The address that the article states: the address of its PDF, or else of its page."""
    stated = [
        one for one in named(meta, "self-uri") if (one.get(HREF) or "").startswith(("http://", "https://"))
    ]
    best = min(stated, key=lambda one: "pdf" not in (one.get("content-type") or ""), default=None)
    return None if best is None else best.get(HREF)


def _abstract(meta: Element) -> str | None:
    parts = [inline(part) for abstract in _abstracts_of(meta)[:1] for part in below(abstract, "p")]
    return tidy(" ".join(part for part in parts if part and not part.startswith("DOI: http"))) or None


def _date(meta: Element) -> str | None:
    dates = [(_iso(one), one.get("pub-type"), one.get("date-type")) for one in named(meta, "pub-date")]
    ranked = [(kinds, kind) for kind in (*_DATE_KINDS, None) for kinds in dates if kinds[0]]
    return next((found[0] for found, kind in ranked if kind is None or kind in found), None)


def _iso(date: Element) -> str:
    """A date as precise as stated: "2026", "2026-07" or "2026-07-04"."""
    year, month, day = (line_of(first(date, name)) for name in ("year", "month", "day"))
    if not (year.isascii() and year.isdigit() and len(year) == 4):
        return ""
    is_day = day.isascii() and day.isdigit() and 1 <= int(day) <= 31
    number = _month(month)
    return year + (f"-{number:02}" + (f"-{int(day):02}" if is_day else "") if number else "")


def _month(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 2 and 1 <= int(text) <= 12 else 0
    return _MONTHS.index(text[:3].lower()) + 1 if text[:3].lower() in _MONTHS else 0


class JatsFormat(Format):
    """`.xml`, `.nxml` and `.jats` files with an `article` at or near the root."""

    name = "jats"
    version = VERSIONS["jats"]
    suffixes: tuple[str, ...] = (".xml", ".nxml", ".jats")

    def sniff(self, head: bytes) -> bool:
        """Whether the bytes are XML with an `article` element near the start."""
        plain = without_bom(head.replace(b"\0", b"") if head[:2] in (b"\xff\xfe", b"\xfe\xff") else head)
        return plain.lstrip(b"\xff\xfe").startswith(b"<") and bool(_ROOT.search(plain))

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """The text of each article. Raises DocumentError `corrupt`, `not_what_it_says` or `empty`.

        If there are several articles, each is named by its id, or else by its number, and a fault of one article becomes a RowFailure.
        `detail` reports signs without a text and unknown entities.
        """
        articles, unknown = _articles(source)
        if len(articles) == 1:
            return [_parsed(articles[0], None, unknown)]
        found: list[ParsedText | RowFailure] = []
        for row, article in _rows(articles).items():
            try:
                found.append(_parsed(article, row, unknown))
            except DocumentError as error:
                found.append(RowFailure(row, Outcome(error.outcome), error.detail))
        return found

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        """Tables, figures and display formulae in the order of the text. Raises DocumentError."""
        articles, _ = _articles(source)
        article = articles[0] if row is None else _rows(articles)[row]
        return tuple(_written(article).visuals)

    def rights(self, source: Source, options: ParseOptions) -> dict[str | None, Rights]:
        """By row, the rights that the front matter of each article states. Raises DocumentError."""
        articles, _ = _articles(source)
        rows = _rows(articles) if len(articles) > 1 else {None: articles[0]}
        metas = {row: first(article, "front", "article-meta") for row, article in rows.items()}
        return {row: rights_in(meta) for row, meta in metas.items() if meta is not None}


def _parsed(article: Element, row: str | None, unknown: list[str]) -> ParsedText:
    writer = _written(article)
    text = "\n".join(writer.lines)
    signs = text.count(UNREADABLE)
    notes = [f"{signs:,} sign{'s' if signs > 1 else ''} without a text, shown as U+FFFD"] if signs else []
    notes += counted("parts struck out and left out", map(line_of, filter(is_struck, article.iter())))
    notes += counted("unknown entities", [f"&{name};" for name in unknown])
    return ParsedText(
        text=text,
        row=row,
        detail="; ".join(notes),
        sections=tuple(writer.sections),
        metadata=_metadata(article),
    )


def _written(article: Element) -> Writer:
    if first(article, "front") is None and first(article, "body") is None:
        raise DocumentError("not_what_it_says", "an <article> with neither front nor body: not JATS")
    writer = Writer()
    body = BodyWriter(writer)
    meta = first(article, "front", "article-meta")
    if meta is not None:
        writer.block([_title_of(meta)] if _title_of(meta) else [])
        _beginning(writer, body, meta, 1)
    before = writer.blocks
    _parts(writer, body, article)
    if writer.blocks == before and not (meta is not None and _abstracts_of(meta)):
        raise DocumentError("empty", "an article with neither abstract nor body")
    return writer


def _articles(source: Source) -> tuple[list[Element], list[str]]:
    """The articles of a file, and the names of its unknown entities. Raises DocumentError."""
    root, unknown = read_tree(source.data)
    named_so = (one for one in root.iter() if local(one) == "article")
    found = [one for one in named_so if all(local(outer) != "article" for outer in one.iterancestors())]
    if not found:
        raise DocumentError("not_what_it_says", f"XML whose root is <{local(root)}>, not a JATS article")
    return found, unknown


def _rows(articles: Sequence[Element]) -> dict[str, Element]:
    """The articles of a file with several articles, by name."""
    rows: dict[str, Element] = {}
    for number, article in enumerate(articles, start=1):
        meta = first(article, "front", "article-meta")
        ids = named(meta, "article-id") if meta is not None else []
        name = next((text for one in ids if (text := line_of(one))), "") or f"article-{number}"
        rows[name if name not in rows else f"{name}-{number}"] = article
    return rows


def _beginning(writer: Writer, body: BodyWriter, meta: Element, level: int) -> None:
    """Write the authors, the abstracts and the keywords of an article or a sub-article."""
    writer.paragraph(", ".join(_authors_of(meta)))
    for abstract in _abstracts_of(meta):
        before = writer.mark()
        writer.heading(_abstract_heading(abstract), level)
        for child in children(abstract):
            body.write(child, level + 1)
        writer.close_headings(before)
    if keywords := _keywords_of(meta):
        writer.paragraph(f"Keywords: {', '.join(keywords)}")


def _parts(writer: Writer, body: BodyWriter, article: Element) -> None:
    """Write the body, the article's collected floats, the back matter, the authors' notes, the references, and last the sub-articles."""
    for part in named(article, "body", "floats-group", "floats-wrap"):
        for child in children(part):
            body.write(child, 1)
    back = [child for part in named(article, "back") for child in children(part)]
    fronts = named(article, "front", "front-stub")
    notes = [one for part in fronts for one in below(part, "notes", "author-notes")]
    notes = [one for one in notes if next(one.iterancestors("{*}notes"), None) is None]
    for child in (*back, *notes):
        if local(child) != "ref-list":
            body.write(child, 1)
    for child in back:
        if local(child) == "ref-list":
            body.write(child, 1)
    for number, part in enumerate(named(article, "sub-article", "response"), start=1):
        _sub_article(writer, body, part, number)


def _sub_article(writer: Writer, body: BodyWriter, part: Element, number: int) -> None:
    stub = first(part, "front-stub")
    meta = stub if stub is not None else first(part, "front", "article-meta")
    kind = part.get("article-type", part.get("response-type", ""))
    title = _title_of(meta) if meta is not None else ""
    writer.heading(title or _KINDS.get(kind, f"Part {number}"), 1)
    if meta is not None:
        _beginning(writer, body, meta, 2)
    _parts(writer, body, part)
