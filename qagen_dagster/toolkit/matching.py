"""Finds the lines of a document where a pattern matches."""

from __future__ import annotations

import time
from dataclasses import dataclass

from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.patterns import Match, Pattern

MAX_MATCHES = 20_000
MAX_SECONDS = 5.0  # of this thread's processor time; useful patterns never take so long
_SLICE = 50_000  # bytes per attempt, which limits the cost of an expensive pattern on a very long line
_OVERLAP = 2_000  # characters without white space in the longest match of a phrase: a letter and a hyphen for each of its letters


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


def find_literal(
    view: DocumentView, pattern: Pattern, start_line: int, max_seconds: float = MAX_SECONDS
) -> Hits:
    """All matches of a phrase from a line on, also over line breaks."""
    hits: list[Hit] = []
    deadline = time.thread_time() + max_seconds
    following = start_line  # the next line to report: only the first match that starts on a line counts
    while following <= len(view.offsets):
        match = _first_phrase(pattern, view.data, view.offsets[following - 1], deadline)
        if match is None:
            break
        if isinstance(match, int):
            return Hits(tuple(hits), stopped_at=view.line_at(match))
        hit = _hit(view, match)
        if len(hits) == MAX_MATCHES or (hits and time.thread_time() > deadline):
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


def _first_phrase(pattern: Pattern, data: bytes, start: int, deadline: float) -> Match | int | None:
    """The first match; None if there is none; when time is up, the byte before which none begins."""
    size = _SLICE
    while True:
        stop = min(len(data), start + size)
        match = pattern.search(data, start, stop)
        searched = stop if stop == len(data) else _before_overlap(data, start, stop)
        if match is not None and match.start() < searched:
            return match
        if stop == len(data):
            return None
        if time.thread_time() > deadline:
            return searched
        start, size = (searched, _SLICE) if searched > start else (start, 2 * size)


def _before_overlap(data: bytes, start: int, stop: int) -> int:
    """The first byte from which a match of a phrase may reach `stop`. White space of any length may divide the phrase."""
    place, seen = stop, 0
    while place > start and seen < _OVERLAP:
        before = max(start, place - _OVERLAP)
        seen += sum(map(len, data[before:place].decode("utf-8", "ignore").split()))
        place = before
    return place


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
