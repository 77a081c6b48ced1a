"""Opening a PDF: signature, passwords and limits; every fault becomes a named outcome."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions, Source
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.records.document import Outcome

HEAD = 1_024  # readers accept junk before the signature up to here
_END, _TAIL = b"%%EOF", 4_096  # junk after the end is accepted, too


def looks_like_pdf(head: bytes) -> bool:
    """Whether the signature stands within the range in which readers look for it."""
    return b"%PDF-" in head[:HEAD]


@contextmanager
def opened(source: Source, options: ParseOptions) -> Generator[Pdf]:
    """The document, unlocked and checked against the limits; it is closed at the end.

    Raises:
        DocumentError: `empty`, `too_large`, `not_what_it_says`, `corrupt` or `encrypted`.
    """
    data = source.data
    if not data:
        raise DocumentError(Outcome.EMPTY, "the file has no bytes")
    if len(data) > options.max_bytes:
        raise DocumentError(Outcome.TOO_LARGE, f"{len(data):,} bytes; the limit is {options.max_bytes:,}")
    if not looks_like_pdf(data):
        raise DocumentError(Outcome.NOT_WHAT_IT_SAYS, "there is no PDF signature in the file")
    with _as_corrupt("the file cannot be opened as PDF"):
        pdf = Pdf(data)
    try:
        _unlock(pdf, source.name, options.passwords)
        _check(pdf, options)
        if pdf.is_repaired and _END not in data[-_TAIL:]:
            raise DocumentError(Outcome.CORRUPT, f"the file is cut off: {len(data):,} bytes without an end")
        yield pdf
    finally:
        pdf.close()


def _unlock(pdf: Pdf, name: str, passwords: dict[str, str]) -> None:
    if not pdf.is_locked:
        return
    keys = (name, name.rsplit("/", 1)[-1], "*")
    password = next((passwords[key] for key in keys if key in passwords), None)
    if password is None:
        raise DocumentError(Outcome.ENCRYPTED, "a password is needed and none is configured for this file")
    with _as_corrupt("the encryption is broken"):
        fits = pdf.unlock(password)
    if not fits:
        raise DocumentError(Outcome.ENCRYPTED, "the configured password does not open the file")


def _check(pdf: Pdf, options: ParseOptions) -> None:
    if not pdf.is_pdf:
        raise DocumentError(Outcome.NOT_WHAT_IT_SAYS, "the content is not PDF")
    with _as_corrupt("the list of pages is broken"):
        count = pdf.count
    if count < 1:
        raise DocumentError(Outcome.EMPTY, "the document has no pages")
    if count > options.max_pages:
        raise DocumentError(Outcome.TOO_LARGE, f"{count:,} pages; the limit is {options.max_pages:,}")


@contextmanager
def _as_corrupt(detail: str) -> Generator[None]:
    """Turn every library error into `corrupt`; the library raises many kinds, some through its own bugs."""
    try:
        yield
    except (DocumentError, MemoryError):
        raise
    except Exception as error:
        raise DocumentError(Outcome.CORRUPT, f"{detail} ({_short(error)})") from error


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 and "proxy of" not in text else type(error).__name__
