"""Finds the lines of a document where a pattern matches."""

from __future__ import annotations

import time
from dataclasses import dataclass

from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.patterns import Match, Pattern

MAX_MATCHES = 20_000
MAX_SECONDS = 5.0  # of this thread's processor time; useful patterns never take so long
_SLICE = 50_000  # bytes per attempt, which limits the cost of an expensive pattern on a very long line
_OVERLAP = 2_000


@dataclass(frozen=True)
class Hit:
    """A place where a pattern matches: its lines (1-based, inclusive) and its byte offset in the text."""

    first: int
    last: int
    offset: int


@dataclass(frozen=True)
class Hits:
    """Matches in order of appearance, at most one for each line they start on.

    `stopped_at` is the line the search stopped at before the end of the document, if it did.
    """

    hits: tuple[Hit, ...]
    stopped_at: int | None = None


def find_literal(view: DocumentView, pattern: Pattern, start_line: int) -> Hits:
    """All matches of a phrase from a line on, also over line breaks."""
    hits: list[Hit] = []
    following = start_line  # the next line to report: only the first match that starts on a line counts
    while following <= len(view.offsets):
        match = pattern.search(view.data, view.offsets[following - 1])
        if match is None:
            break
        hit = _hit(view, match)
        if len(hits) == MAX_MATCHES:
            return Hits(tuple(hits), stopped_at=hit.first)
        hits.append(hit)
        following = hit.first + 1
    return Hits(tuple(hits))


def find_regex(
    view: DocumentView, pattern: Pattern, start_line: int, max_seconds: float = MAX_SECONDS
) -> Hits:
    """The first match that starts on each line from `start_line` on.

    Each attempt sees one line and the next, so that the whole stays linear in the text: asking an
    expression for all its matches is quadratic when each attempt may run to the end of the text.
    """
    hits: list[Hit] = []
    deadline = time.thread_time() + max_seconds
    ends = (*(start - 1 for start in view.offsets[1:]), len(view.data))
    for index in range(start_line - 1, len(ends)):
        if len(hits) == MAX_MATCHES or (hits and time.thread_time() > deadline):
            return Hits(tuple(hits), stopped_at=index + 1)
        window = _Window(view.offsets[index], ends[index], ends[min(index + 1, len(ends) - 1)])
        match = _first_in_line(pattern, view.data, window, deadline)
        if match is not None:
            hits.append(_hit(view, match))
        elif time.thread_time() > deadline:
            return Hits(tuple(hits), stopped_at=index + 1)
    return Hits(tuple(hits))


@dataclass(frozen=True)
class _Window:
    """Byte offsets: a line, and the end of the line after it."""

    start: int
    line_end: int
    end: int


def _hit(view: DocumentView, match: Match) -> Hit:
    return Hit(view.line_at(match.start()), view.line_at(match.end() - 1), match.start())


def _first_in_line(pattern: Pattern, data: bytes, window: _Window, deadline: float) -> Match | None:
    """The first match that is not empty and starts in the window's line; None also when time is up."""
    start = window.start
    while True:
        stop = min(window.end, start + _SLICE)
        match = pattern.search(data, start, stop)
        if match is not None and match.end() > match.start():
            return match if match.start() < window.line_end else None
        if stop >= window.line_end or time.thread_time() > deadline:
            return None
        start = stop - _OVERLAP
