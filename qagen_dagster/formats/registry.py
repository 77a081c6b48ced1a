"""The list of formats. This module chooses the format of a file, and parses the file to text or a named outcome."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import PurePosixPath

from qagen_dagster.errors import DocumentError, TooLargeError
from qagen_dagster.formats.base import Format, ParsedFile, ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.decoding import HEAD_BYTES, content_kind, looks_binary
from qagen_dagster.records.document import Outcome

_PLACES = (
    "plain_text:TextFormat", "markdown:MarkdownFormat", "pdf.reader:PdfFormat", "jats.reader:JatsFormat",
    "jsonl:JsonlFormat", "image:ImageFormat",
)  # fmt: skip


class _Formats(Iterable[Format]):
    """The formats in the order of VERSIONS. A module is imported when a search reaches its format; the PDF reader's import is slow."""

    def __iter__(self) -> Iterator[Format]:
        for place in _PLACES:
            module, _, name = place.partition(":")
            yield getattr(import_module(f"qagen_dagster.formats.{module}"), name)()


FORMATS = _Formats()
_PROMISE_TEXT = frozenset({"text", "markdown", "jsonl"})
_MEMORY_WORDS = ("malloc", "memory allocation", "cannot allocate", "out of memory")


def format_of(name: str, formats: Iterable[Format] = FORMATS) -> Format | None:
    """The format of files with the suffix of this name; None if no format has it. Raises ImportError if a module cannot be loaded."""
    suffix = PurePosixPath(name).suffix.lower()
    return next((one for one in formats if suffix in one.suffixes), None)


def choose(source: Source, formats: Iterable[Format] = FORMATS) -> Format:
    """The format of a file, by its suffix and its first bytes.

    Raises DocumentError: `unsupported` (no format has this suffix), `empty` (no bytes), `not_what_it_says` (the first
    bytes show another kind of file), `binary` (the suffix promises text, but the bytes are not text).
    """
    suffix, found = PurePosixPath(source.name).suffix.lower(), format_of(source.name, formats)
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


def parse_file(source: Source, options: ParseOptions, formats: Iterable[Format] = FORMATS) -> ParsedFile:
    """Parse one file. Every failure becomes a named outcome, so bad input never raises."""
    size, sha256 = len(source.data), hashlib.sha256(source.data).hexdigest()
    name = parser = ""
    entries: tuple[ParsedText | RowFailure, ...] = ()
    outcome, detail = Outcome.PARSED, ""
    try:
        if size > options.max_bytes:
            raise TooLargeError(size, options.max_bytes)
        chosen = choose(source, formats)
        name, parser = chosen.name, f"{chosen.name}-{chosen.version}"
        entries = tuple(_within_limits(one, options) for one in chosen.parse(source, options))
        outcome, detail = _combined_outcome(entries)
    except Exception as error:  # a parser's failure costs only this document
        outcome, detail = failure_of(error)
    return ParsedFile(source.name, outcome, detail, name, parser, size, sha256, entries)


def failure_of(error: BaseException) -> tuple[Outcome, str]:
    """The outcome and a one-line description of a parser's exception."""
    if isinstance(error, DocumentError):
        known = error.outcome in Outcome.__members__.values()
        return (Outcome(error.outcome) if known else Outcome.CORRUPT), one_line(error.detail)
    words = one_line(str(error))
    if isinstance(error, MemoryError) or any(word in words.lower() for word in _MEMORY_WORDS):
        return Outcome.OUT_OF_MEMORY, words or "the parser ran out of memory"
    return Outcome.CORRUPT, f"{type(error).__name__}: {words}" if words else type(error).__name__


def one_line(text: str, limit: int = 300) -> str:
    """A message on one line, shortened to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _combined_outcome(entries: Sequence[ParsedText | RowFailure]) -> tuple[Outcome, str]:
    if not entries:
        return Outcome.EMPTY, "the file holds no document"
    first = entries[0]
    return (first.outcome, first.detail) if first.row is None else (Outcome.PARSED, "")


def _within_limits(entry: ParsedText | RowFailure, options: ParseOptions) -> ParsedText | RowFailure:
    """The entry after a check against the limits, with its sections in line order."""
    if isinstance(entry, RowFailure):
        return entry
    if len(entry.text) > options.max_chars:
        detail = f"{len(entry.text):,} characters of text; the limit is {options.max_chars:,}"
    elif (entry.page_count or 0) > options.max_pages:
        detail = f"{entry.page_count:,} pages; the limit is {options.max_pages:,}"
    else:
        sections = tuple(sorted(entry.sections, key=lambda section: section.start_line))
        return entry if sections == entry.sections else replace(entry, sections=sections)
    if entry.row is None:
        raise DocumentError("too_large", detail)
    return RowFailure(entry.row, Outcome.TOO_LARGE, detail)
