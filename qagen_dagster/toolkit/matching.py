"""Patterns for untrusted text that match in linear time, and the lines of a document where they match.

A pattern that a model writes is compiled, or refused by a ToolError with the reason. google-re2 matches any expression in linear time.
"""

import importlib
import time
from dataclasses import dataclass
from typing import Protocol, cast

from qagen_dagster.errors import ToolError
from qagen_dagster.toolkit.document_view import DocumentView

MAX_PATTERN = 1_000  # characters
MAX_PROGRAM = 3_000  # instructions; one slice of text then takes seconds in the worst case
_MAX_MEMORY = 8 << 20  # bytes of one compiled expression with its state cache

_HYPHENS = "-\u2010\u2011\u2012\u2013\u2014\u2212\u00ad"
_QUOTES = {"'": "'\u2018\u2019\u02bc\u2032", '"': '"\u201c\u201d\u201e\u2033'}
_SPACE = r"[\s\pZ]+"
_BREAK = r"(?:[-\x{2010}\x{2011}\x{ad}][\s\pZ]*\n[\s\pZ]*|\x{ad})?"  # a word divided at a line's end
_re2 = importlib.import_module("re2")
# Quoted text, an escape, a class, spaces under a quantifier, spaces, any other character.
_PIECES = _re2.compile(r"(?s)\\Q.*?(?:\\E|\z)|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]| +[*+?{]| +|.")
MAX_MATCHES = 20_000
MAX_SECONDS = 5.0  # processor time of this thread; useful patterns take less
_SLICE = 50_000  # bytes per attempt, which limits the cost of an expensive pattern on a very long line
_OVERLAP = 2_000  # characters without white space in the longest match of a phrase, in which a hyphen follows each letter


class Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern(Protocol):
    """A compiled expression over UTF-8 bytes."""

    @property
    def programsize(self) -> int: ...
    def search(self, text: bytes, pos: int | None = None, endpos: int | None = None) -> Match | None: ...


def literal(text: str, *, ignore_case: bool) -> Pattern:
    """A phrase as printed: white space also matches a line break, a word may be divided by a hyphen at a line's end, and hyphens and
    quotation marks match their typographic variants. Raises ToolError for a phrase of white space alone."""
    if not text.strip():
        raise ToolError(
            "The pattern is only white space. Give a word or phrase that may stand in the document."
        )
    words = text.split()
    return _compile(_SPACE.join(_word(word) for word in words), ignore_case=ignore_case)


def regex(text: str, *, ignore_case: bool) -> Pattern:
    """A regular expression in RE2 syntax; `^` and `$` match the ends of a line, and a space matches any white space.
    Raises ToolError if the expression is invalid or too large, or matches the empty text."""
    printable = text.encode("utf-8", "replace").decode("utf-8")
    pattern = _compile(f"(?m){_wide_spaces(printable)}", ignore_case=ignore_case)
    if pattern.programsize > MAX_PROGRAM:
        raise ToolError(
            "The regular expression is too large once its repetitions are written out. "
            "Use smaller counts in {m,n}, or search for a plain word."
        )
    if pattern.search(b"") is not None:
        raise ToolError(
            "The regular expression also matches nothing at all, so it would match every line. "
            "Make it require at least one character, for example x+ instead of x*."
        )
    return pattern


def _wide_spaces(expression: str) -> str:
    """Plain spaces become any white space, because a pattern with spaces means the words, not their layout.
    Spaces that are escaped, in a class or repeated by a quantifier are kept."""
    return "".join(_SPACE if piece.isspace() else piece for piece in _PIECES.findall(expression))


def _word(word: str) -> str:
    """The expression for a word that may be divided between any two letters or digits."""
    parts: list[str] = []
    for before, char in zip(" " + word, word, strict=False):
        if before.isalnum() and char.isalnum():
            parts.append(_BREAK)
        parts.append(_char(char))
        if char in _HYPHENS:
            parts.append(r"(?:[\s\pZ]*\n[\s\pZ]*)?")
    return "".join(parts)


def _char(char: str) -> str:
    if char in _HYPHENS:
        return f"[{_HYPHENS[1:]}-]"
    for quotes in _QUOTES.values():
        if char in quotes:
            return f"[{quotes}]"
    return cast("str", _re2.escape(char))


def _compile(expression: str, *, ignore_case: bool) -> Pattern:
    options = _re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = not ignore_case
    options.max_mem = _MAX_MEMORY
    try:
        return cast("Pattern", _re2.compile(expression.encode("utf-8", "replace"), options))
    except _re2.error as error:
        raise ToolError(
            f"The regular expression cannot be used: {_reason(error)}. The syntax is RE2: it has no "
            "look-ahead, look-behind, back-references, atomic groups or possessive quantifiers. "
            "Write it without them, or set regex=false to search for the text as it stands."
        ) from None


def _reason(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    text = cause.decode("utf-8", "replace") if isinstance(cause, bytes) else str(cause)
    return text[:200]


@dataclass(frozen=True)
class Hit:
    """A place where a pattern matches: its lines (1-based, inclusive) and its byte offset in the text."""

    first: int
    last: int
    offset: int


@dataclass(frozen=True)
class Hits:
    """Matches in order of appearance, at most one for each line on which they start. `stopped_at` is the line before
    which the search stopped; None if it reached the end of the document."""

    hits: tuple[Hit, ...]
    stopped_at: int | None = None


def find_literal(
    view: DocumentView, pattern: Pattern, start_line: int, max_seconds: float = MAX_SECONDS
) -> Hits:
    """The first match of a phrase that starts on each line from `start_line` on. A match may extend over line breaks."""
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
    """The first match that starts on each line from `start_line` on. Each attempt sees a line and the next line, so that the search is
    linear in the text. Finding all matches of an expression would be quadratic if each attempt could run to the end of the text."""
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
    """The first match; None if there is none. If time runs out first, returns a byte offset before which no match begins."""
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
    """Offset of the first byte from which a match of a phrase may reach `stop`. White space of any length may divide the phrase."""
    place, solid = stop, 0
    while place > start and solid < _OVERLAP:
        before = max(start, place - _OVERLAP)
        solid += sum(map(len, data[before:place].decode("utf-8", "ignore").split()))
        place = before
    return place


def _first_in_line(pattern: Pattern, data: bytes, window: _Window, deadline: float) -> Match | None:
    """The first match that is not empty and starts in the window's line; None if there is none or time is up."""
    start = window.start
    while True:
        stop = min(window.end, start + _SLICE)
        match = pattern.search(data, start, stop)
        if match is not None and match.end() > match.start():
            return match if match.start() < window.line_end else None
        if stop >= window.line_end or time.thread_time() > deadline:
            return None
        start = stop - _OVERLAP
