r"""The commands and TikZ libraries that preambles of TeX files define, so that their items can stand in another document.

Packages are not taken over: which ones a project loads is `tex_project.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_START = re.compile(
    r"(?m)^[ \t]*(?P<how>\\(?:newcommand|renewcommand|providecommand|DeclareMathOperator|usetikzlibrary|newenvironment|def))(?![A-Za-z])\*?"
    r"[ \t]*\{?(?P<name>\\?[A-Za-z@]{1,40})?"
)
_OWN = frozenset({"\\ans", "solution", "\\maybe", "\\includegraphics"})  # the project's
_MOST = 4_000  # characters of one definition


def definitions(preambles: Sequence[str]) -> tuple[str, ...]:
    """Every definition once, in order; of several with one name the first."""
    found: dict[str, str] = {}
    for preamble in preambles:
        for name, text in _of(preamble):
            found.setdefault(name, text)
    return tuple(found.values())


def _of(preamble: str) -> Iterator[tuple[str, str]]:
    for mark in _START.finditer(preamble):
        how, name = mark.group("how"), mark.group("name") or ""
        text = _whole(preamble, mark.start())
        if name in _OWN or text is None:
            continue
        if how == "\\newcommand":
            text = text.replace("\\newcommand", "\\providecommand", 1)
        if how == "\\DeclareMathOperator":
            text = f"\\ifdefined{name}\\else{text}\\fi"
        yield (text if how == "\\usetikzlibrary" else name), text


def _whole(text: str, start: int) -> str | None:
    """From `start` to the end of the first line at which all braces are closed; None when they never are."""
    depth, opened = 0, False
    for place in range(start, min(len(text), start + _MOST)):
        char = text[place]
        if char in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if char == "{" else -1
            opened = True
        if char == "\n" and opened and depth == 0:
            return text[start:place].strip()
    return text[start:].strip() if opened and depth == 0 and len(text) - start <= _MOST else None
