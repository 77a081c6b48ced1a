"""The lines and pages of a document's text, with normalised line ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qagen_dagster.records.document import PageSpan

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Lines:
    """Lines without line ends, their pages (none without form feeds), and a note on repairs."""

    lines: tuple[str, ...]
    pages: tuple[PageSpan, ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        """The document's text, without a newline at the end."""
        return "\n".join(self.lines)

    @property
    def page_count(self) -> int | None:
        """Number of pages; None when the document has no page breaks."""
        return len(self.pages) or None


def split_lines(text: str) -> Lines:
    """Lines and pages of any text. CR LF, CR and LF end lines; a form feed ends a page (and a line).

    NUL and lone surrogates cannot be stored: NUL is removed, surrogates become U+FFFD, and the note says so. Blank
    lines at the end are dropped. Those at the start stay, so that line numbers match the file.
    """
    clean, note = _storable(text)
    clean = clean.replace("\r\n", "\n").replace("\r", "\n")
    if "\f" not in clean:
        return Lines(tuple(_without_blank_end(clean.split("\n"))), (), note)
    lines: list[str] = []
    ends: list[int] = []
    for page in _page_texts(clean):
        own = page.removesuffix("\n").split("\n") if page else []
        lines.extend(own)
        ends.append(len(lines))
    kept = _without_blank_end(lines)
    return Lines(tuple(kept), _spans(ends, len(kept)), note)


def join_notes(*notes: str) -> str:
    """The non-empty notes on one line."""
    return "; ".join(note for note in notes if note)


def collapse(text: str) -> str:
    """Text on one line with single spaces."""
    return " ".join(text.split())


def _storable(text: str) -> tuple[str, str]:
    notes: list[str] = []
    nuls = text.count("\0")
    if nuls:
        text = text.replace("\0", "")
        notes.append(f"{nuls:,} NUL character{'s' if nuls > 1 else ''} removed")
    text, surrogates = _SURROGATE.subn("\ufffd", text)
    if surrogates:
        notes.append(f"{surrogates:,} lone surrogate{'s' if surrogates > 1 else ''} shown as U+FFFD")
    return text, "; ".join(notes)


def _page_texts(text: str) -> list[str]:
    pages = text.split("\f")
    # A form feed after the last page does not begin another page.
    return pages[:-1] if not pages[-1].strip() else pages


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _spans(ends: list[int], count: int) -> tuple[PageSpan, ...]:
    spans: list[PageSpan] = []
    start = 1
    for number, end in enumerate(ends, start=1):
        spans.append(PageSpan(page=number, start_line=min(start, count + 1), end_line=min(end, count)))
        start = end + 1
    return tuple(spans)
