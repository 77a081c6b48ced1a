"""The format of JATS XML articles (journal publishing and archiving tag sets), with or without their DTD.

The text holds, in this order: title, authors, abstracts, keywords, the body's sections, back matter, references, and
sub-articles (decision letters, replies) under their own headings. An accepted manuscript without body consists of its
abstract. There are no pages; `wrap.py` makes the lines.
"""

from __future__ import annotations

import re

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import (
    VERSIONS,
    PageImage,
    ParsedText,
    ParseOptions,
    RenderOptions,
    RowFailure,
    Source,
)
from qagen_dagster.formats.content import without_bom
from qagen_dagster.formats.jats.body import BodyWriter
from qagen_dagster.formats.jats.front import (
    abstract_heading,
    abstracts_of,
    authors_of,
    keywords_of,
    read_metadata,
    title_of,
)
from qagen_dagster.formats.jats.tree import Element, children, first, local, named, read_tree
from qagen_dagster.formats.jats.writer import Writer
from qagen_dagster.records.document import Metadata, Visual

_ROOT = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:article|pmc-articleset)[\s>]|<!DOCTYPE\s+article\b")
_KINDS = {
    "decision-letter": "Decision letter",
    "reply": "Author response",
    "article-commentary": "Commentary",
}
_OUTER = 3  # how many elements deep an article may be wrapped (article sets, OAI records)


class JatsFormat:
    """`.xml` and `.nxml` files whose root is an article."""

    name = "jats"
    version = VERSIONS["jats"]
    suffixes: tuple[str, ...] = (".xml", ".nxml", ".jats")

    def sniff(self, head: bytes) -> bool:
        """Whether it is XML with an `article` element near the start."""
        plain = without_bom(head.replace(b"\0", b"") if head[:2] in (b"\xff\xfe", b"\xfe\xff") else head)
        return plain.lstrip(b"\xff\xfe").startswith(b"<") and bool(_ROOT.search(plain))

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """One document. Raises DocumentError `corrupt`, `not_what_it_says` or `empty`."""
        writer, metadata = _written(source)
        return [
            ParsedText(
                text="\n".join(writer.lines),
                sections=tuple(writer.sections),
                metadata=metadata,
            )
        ]

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        """Tables, figures and display formulae in the order of the text. Raises DocumentError."""
        return tuple(_written(source)[0].visuals)

    def render(
        self, source: Source, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """Always None, because an article in XML has no pages."""
        return None


def _written(source: Source) -> tuple[Writer, Metadata]:
    article = _article(read_tree(source.data))
    writer = Writer()
    body = BodyWriter(writer)
    meta = first(article, "front", "article-meta")
    if meta is not None:
        _front(writer, body, meta)
    before = writer.blocks
    _parts(body, article)
    for number, part in enumerate(named(article, "sub-article", "response"), start=1):
        _sub_article(writer, body, part, number)
    if writer.blocks == before and not (meta is not None and abstracts_of(meta)):
        raise DocumentError("empty", "an article with neither abstract nor body")
    return writer, read_metadata(article)


def _article(root: Element) -> Element:
    level = [root]
    for _ in range(_OUTER):
        found = next((one for one in level if local(one) == "article"), None)
        if found is not None:
            if first(found, "front") is None and first(found, "body") is None:
                raise DocumentError("not_what_it_says", "an <article> with neither front nor body: not JATS")
            return found
        level = [child for one in level for child in children(one)]
    raise DocumentError("not_what_it_says", f"XML whose root is <{local(root)}>, not a JATS article")


def _front(writer: Writer, body: BodyWriter, meta: Element) -> None:
    writer.block([title_of(meta)] if title_of(meta) else [])
    writer.paragraph(", ".join(authors_of(meta)))
    for abstract in abstracts_of(meta):
        before = writer.mark()
        writer.heading(abstract_heading(abstract), 1)
        for child in children(abstract):
            body.write(child, 2)
        writer.close_headings(before)
    keywords = keywords_of(meta)
    if keywords:
        writer.paragraph(f"Keywords: {', '.join(keywords)}")


def _parts(body: BodyWriter, article: Element) -> None:
    """Body, floats collected at the end, and back matter with the references last."""
    for part in named(article, "body", "floats-group", "floats-wrap"):
        for child in children(part):
            body.write(child, 1)
    meta = first(article, "front", "article-meta")
    back = [child for part in named(article, "back") for child in children(part)]
    notes = named(meta, "author-notes") if meta is not None else []
    for child in (*back, *notes):
        if local(child) != "ref-list":
            body.write(child, 1)
    for child in back:
        if local(child) == "ref-list":
            body.write(child, 1)


def _sub_article(writer: Writer, body: BodyWriter, part: Element, number: int) -> None:
    stub = first(part, "front-stub")
    meta = stub if stub is not None else first(part, "front", "article-meta")
    kind = part.get("article-type", part.get("response-type", ""))
    title = title_of(meta) if meta is not None else ""
    writer.heading(title or _KINDS.get(kind, f"Part {number}"), 1)
    if meta is not None:
        writer.paragraph(", ".join(authors_of(meta)))
    _parts(body, part)
