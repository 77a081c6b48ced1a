"""Compiles search patterns for untrusted text, which match in linear time. Only this module uses google-re2.

A model's search becomes a compiled expression, or an error message that says why it cannot.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from qagen_dagster.errors import ToolError

MAX_PATTERN = 1_000  # characters
MAX_PROGRAM = 3_000  # instructions; one slice of text then takes seconds in the worst case
_MAX_MEMORY = 8 << 20  # bytes of one compiled expression with its state cache

_HYPHENS = "-\u2010\u2011\u2012\u2013\u2014\u2212\u00ad"
_QUOTES = {"'": "'\u2018\u2019\u02bc\u2032", '"': '"\u201c\u201d\u201e\u2033'}
_SPACE = r"[\s\pZ]+"
_BREAK = r"(?:[-\x{2010}\x{2011}\x{ad}][\s\pZ]*\n[\s\pZ]*|\x{ad})?"  # a word divided at a line's end
_re2 = importlib.import_module("re2")


class Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern(Protocol):
    """A compiled expression over UTF-8 bytes."""

    @property
    def programsize(self) -> int: ...
    def search(self, text: bytes, pos: int | None = None, endpos: int | None = None) -> Match | None: ...


def literal(text: str, *, ignore_case: bool) -> Pattern:
    """A phrase as printed: white space also matches a line break, a word may be divided by a hyphen at
    a line's end, and hyphens and quotation marks match their typographic variants.

    Raises ToolError for a phrase of white space alone.
    """
    if not text.strip():
        raise ToolError(
            "The pattern is only white space. Give a word or phrase that may stand in the document."
        )
    words = text.split()
    return _compile(_SPACE.join(_word(word) for word in words), ignore_case=ignore_case)


def regex(text: str, *, ignore_case: bool) -> Pattern:
    """A regular expression in RE2 syntax; `^` and `$` are the ends of a line, a space is any white space.

    Raises ToolError.
    """
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
    """Plain spaces as one or more of any white space: whoever writes one means the words, not their setting.

    Spaces that are escaped, in a class or repeated by a quantifier stay as they are.
    """
    parts: list[str] = []
    at = 0
    while at < len(expression):
        found = _SPACES.match(expression, at)
        text = expression[at : found.end()] if found is not None else expression[at]
        parts.append(_SPACE if text.isspace() else text)
        at += len(text)
    return "".join(parts)


# Quoted text, an escape, a class, spaces under a quantifier, spaces.
_SPACES = _re2.compile(r"(?s)\\Q.*?(?:\\E|\z)|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]| +[*+?{]| +")


def _word(word: str) -> str:
    """One word, dividable between any two letters or digits."""
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
