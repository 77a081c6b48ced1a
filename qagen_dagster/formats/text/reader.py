"""The plain-text format: the file's own lines, pages at form feeds, and metadata from a header.

Titles and sections are taken only where the text leaves little doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
from qagen_dagster.formats.content import content_kind, looks_binary
from qagen_dagster.formats.encoding import decode
from qagen_dagster.formats.lines import Lines, collapse, join_notes, split_lines
from qagen_dagster.formats.text.headings import MAX_TITLE, case_name, is_underlined, sections_of
from qagen_dagster.records.document import Metadata, Visual

_HEADER_LINES = 40
_FIELD = re.compile(
    r"(Title|Author|Authors|Language|Date|Release Date|DOI):[ \t]+(\S.{0,300})", re.IGNORECASE
)
_LANGUAGES = {"english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it"}


def read_text(source: Source) -> Lines:
    """The lines of a text file. Raises DocumentError `empty` or `binary`."""
    if looks_binary(source.data):
        raise DocumentError("binary", "too many control characters for a text")
    decoded = decode(source.data)
    found = split_lines(decoded.text)
    if not found.lines:
        raise DocumentError("empty", "the file holds nothing but white space")
    return Lines(found.lines, found.pages, join_notes(decoded.note, found.note))


def looks_like_text(head: bytes) -> bool:
    """Whether the first bytes are text and not the signature of another kind of file."""
    return not looks_binary(head) and content_kind(head) in ("", "an HTML page", "XML")


class TextFormat:
    """`.txt`, `.text` and `.log` files."""

    name = "text"
    version = VERSIONS["text"]
    suffixes: tuple[str, ...] = (".txt", ".text", ".log")

    def sniff(self, head: bytes) -> bool:
        """Whether it is text in any encoding; markup counts as text."""
        return looks_like_text(head)

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """One document. Raises DocumentError `empty` or `binary`."""
        found = read_text(source)
        return [
            ParsedText(
                text=found.text,
                detail=found.note,
                page_count=found.page_count,
                pages=found.pages,
                sections=sections_of(found.lines),
                metadata=_metadata(found.lines),
            )
        ]

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        """Always empty, because plain text holds only text."""
        return ()

    def render(
        self, source: Source, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """Always None, because a text file has no pages to render."""
        return None


def _metadata(lines: Sequence[str]) -> Metadata:
    fields: dict[str, str] = {}
    for line in lines[:_HEADER_LINES]:
        found = _FIELD.fullmatch(line.strip())
        if found:
            fields.setdefault(found[1].lower(), found[2].strip())
    # A single such line may be anything; two make a header.
    if len(fields) < 2:
        return Metadata(title=_first_line_title(lines) or case_name(lines))
    author = fields.get("author") or fields.get("authors")
    return Metadata(
        title=fields.get("title") or _first_line_title(lines),
        authors=(author,) if author else (),
        date=fields.get("date") or fields.get("release date"),
        doi=fields.get("doi"),
        language=_LANGUAGES.get(fields.get("language", "").lower()),
    )


def _first_line_title(lines: Sequence[str]) -> str | None:
    at = next((index for index, line in enumerate(lines) if line.strip()), None)
    if at is None or at > 5:
        return None
    line = re.sub(r"^#+ +", "", lines[at])
    alone = len(lines) > at + 2 and (not lines[at + 1].strip() or is_underlined(line, lines[at + 1]))
    letters = sum(char.isalpha() for char in line)
    if (
        not alone
        or not line[:1].isalnum()
        or line.casefold().startswith("copyright")
        or len(line) > MAX_TITLE
        or letters < 0.6 * len(line.rstrip())
        or line.rstrip()[-1] in ".,;:!?-_*"
    ):
        return None
    return collapse(line)
