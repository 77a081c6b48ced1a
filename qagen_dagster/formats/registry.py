"""The list of formats and the one entry to them: which format a file has, and its text or its outcome.

What belongs here: choosing by suffix and content, limits that hold for every format, and turning every
failure into a named outcome. What does not: reading any format (one file each), processes (sandbox).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import Format, ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.content import HEAD_BYTES, content_kind, looks_binary
from qagen_dagster.formats.image import ImageFormat
from qagen_dagster.formats.jats.reader import JatsFormat
from qagen_dagster.formats.jsonl import JsonlFormat
from qagen_dagster.formats.markdown import MarkdownFormat
from qagen_dagster.formats.pdf.reader import PdfFormat
from qagen_dagster.formats.text.reader import TextFormat
from qagen_dagster.records.document import Outcome

FORMATS: tuple[Format, ...] = (
    TextFormat(),
    MarkdownFormat(),
    PdfFormat(),
    JatsFormat(),
    JsonlFormat(),
    ImageFormat(),
)

_PROMISE_TEXT = frozenset({"text", "markdown", "jsonl"})
_MEMORY_WORDS = ("malloc", "memory allocation", "cannot allocate", "out of memory")


@dataclass(frozen=True)
class ParsedFile:
    """What a file gave: its documents, or the one outcome that says why there is none.

    A file that is one document has one entry, whose outcome and detail are repeated here. A file of rows
    is PARSED as a whole; each entry has its own outcome. Without entries, `outcome` is the failure.
    `format` and `parser` (name and version) are empty when no format took the file.
    """

    name: str
    outcome: Outcome
    detail: str = ""
    format: str = ""
    parser: str = ""
    bytes: int = 0
    sha256: str = ""
    entries: tuple[ParsedText | RowFailure, ...] = ()


def suffixes(formats: Sequence[Format] = FORMATS) -> frozenset[str]:
    """All suffixes that some format takes, lower case, with the dot."""
    return frozenset(suffix for one in formats for suffix in one.suffixes)


def choose(source: Source, formats: Sequence[Format] = FORMATS) -> Format:
    """The format of a file, by its suffix and its first bytes.

    Raises DocumentError: `unsupported` (no format has this suffix), `empty` (no bytes),
    `not_what_it_says` (the first bytes are those of something else), `binary` (bytes that are no text in
    a file whose suffix promises text).
    """
    suffix = PurePosixPath(source.name).suffix.lower()
    found = next((one for one in formats if suffix in one.suffixes), None)
    if found is None:
        raise DocumentError("unsupported", f"no format for files named {suffix or 'without a suffix'}")
    if not source.data:
        raise DocumentError("empty", "the file has no bytes")
    head = source.data[:HEAD_BYTES]
    if found.sniff(head):
        return found
    raise _contradiction(found.name, suffix, head)


def _contradiction(name: str, suffix: str, head: bytes) -> DocumentError:
    kind = content_kind(head)
    if name in _PROMISE_TEXT and looks_binary(head):
        return DocumentError("binary", f"named {suffix}, but the content is {kind or 'not text'}")
    words = kind or ("binary data" if looks_binary(head) else "something else")
    return DocumentError("not_what_it_says", f"named {suffix}, but the content is {words}, not {name}")


def parse_file(source: Source, options: ParseOptions, formats: Sequence[Format] = FORMATS) -> ParsedFile:
    """Parse one file; every failure becomes a named outcome, so this never raises for bad input."""
    size, sha256 = len(source.data), hashlib.sha256(source.data).hexdigest()
    name = parser = ""
    entries: tuple[ParsedText | RowFailure, ...] = ()
    outcome, detail = Outcome.PARSED, ""
    try:
        if size > options.max_bytes:
            raise DocumentError("too_large", f"{size:,} bytes; the limit is {options.max_bytes:,}")
        chosen = choose(source, formats)
        name, parser = chosen.name, f"{chosen.name}-{chosen.version}"
        entries = tuple(_settled(one, options) for one in chosen.parse(source, options))
        outcome, detail = _of_entries(entries)
    except Exception as error:  # the stage boundary: a parser's failure costs one document
        outcome, detail = failure_of(error)
    return ParsedFile(source.name, outcome, detail, name, parser, size, sha256, entries)


def failure_of(error: BaseException) -> tuple[Outcome, str]:
    """The outcome and the one line that say what a parser's exception means."""
    if isinstance(error, DocumentError):
        known = error.outcome in Outcome.__members__.values()
        return (Outcome(error.outcome) if known else Outcome.CORRUPT), one_line(error.detail)
    words = one_line(str(error))
    if isinstance(error, MemoryError) or any(word in words.lower() for word in _MEMORY_WORDS):
        return Outcome.OUT_OF_MEMORY, words or "the parser ran out of memory"
    return Outcome.CORRUPT, f"{type(error).__name__}: {words}" if words else type(error).__name__


def one_line(text: str, limit: int = 300) -> str:
    """Text of a message on one line, cut at `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _of_entries(entries: Sequence[ParsedText | RowFailure]) -> tuple[Outcome, str]:
    if not entries:
        return Outcome.EMPTY, "the file holds no document"
    first = entries[0]
    return (first.outcome, first.detail) if first.row is None else (Outcome.PARSED, "")


def _settled(entry: ParsedText | RowFailure, options: ParseOptions) -> ParsedText | RowFailure:
    """The entry within the limits, its sections in the order of their lines."""
    if isinstance(entry, RowFailure):
        return entry
    if len(entry.text) > options.max_chars:
        detail = f"{len(entry.text):,} characters of text; the limit is {options.max_chars:,}"
    elif (entry.page_count or 0) > options.max_pages:
        detail = f"{entry.page_count:,} pages; the limit is {options.max_pages:,}"
    else:
        sections = tuple(sorted(entry.sections, key=lambda one: one.start_line))
        return entry if sections == entry.sections else replace(entry, sections=sections)
    if entry.row is None:
        raise DocumentError("too_large", detail)
    return RowFailure(entry.row, Outcome.TOO_LARGE, detail)
