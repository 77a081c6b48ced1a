"""Blanking of comments and verbatim text in TeX; every other character keeps its position.

One pass from left to right, linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_VERBATIM_NAMES = (
    "verbatim*",
    "verbatim",
    "Verbatim*",
    "Verbatim",
    "BVerbatim",
    "lstlisting",
    "minted",
    "comment",
    "filecontents*",
    "filecontents",
)
_NAMES = "|".join(re.escape(name) for name in _VERBATIM_NAMES)
_SPECIAL = re.compile(
    rf"\\begin[ \t]*\{{(?P<name>{_NAMES})\}}|\\(?P<verb>verb\*?|lstinline)(?=[^A-Za-z\s*\[{{])"
    r"|(?P<off>\\iffalse)(?![A-Za-z@])|\\(?P<escaped>[^A-Za-z])|(?P<comment>%)",
    re.DOTALL,
)
_VISIBLE = re.compile(r"[^\n]")
_ESCAPED = re.compile(r"\\[^A-Za-z\n]")
_OFF = re.compile(r"\\fi(?![A-Za-z@])")


def code_of(latex: str) -> str:
    r"""The text with comments, verbatim text and everything after `\iffalse` blanked; positions stay."""
    return "".join(_pieces(latex))


def plain_of(latex: str) -> str:
    r"""The code with escaped characters such as `\{`, `\%` and `\\` blanked too; `\(` and `\[` stay."""
    return _ESCAPED.sub("  ", code_of(latex))


def blanked(text: str) -> str:
    """Spaces of the same length, with the line breaks of the text."""
    return _VISIBLE.sub(" ", text)


def _pieces(latex: str) -> Iterator[str]:
    place = 0
    while (found := _SPECIAL.search(latex, place)) is not None:
        if found.group("escaped"):
            yield latex[place : found.end()]
            place = found.end()
            continue
        stop = _stop(latex, found)
        yield latex[place : found.start()]
        yield blanked(latex[found.start() : stop])
        place = stop
    yield latex[place:]


def _stop(latex: str, found: re.Match[str]) -> int:
    """The end of the blanked part; one that is never closed extends to the end of the text."""
    if found.group("comment"):
        return _or_end(latex, latex.find("\n", found.end()))
    if found.group("verb"):
        line = _or_end(latex, latex.find("\n", found.end()))
        closing = latex.find(latex[found.end()], found.end() + 1, line)
        return found.end() if closing < 0 else closing + 1
    if found.group("off"):
        closing_fi = _OFF.search(latex, found.end())
        return closing_fi.end() if closing_fi else len(latex)
    closing = rf"\end{{{found.group('name')}}}"
    place = latex.find(closing, found.end())
    return len(latex) if place < 0 else place + len(closing)


def _or_end(latex: str, place: int) -> int:
    return len(latex) if place < 0 else place
