r"""Extracts the commands, TikZ libraries and packages of TeX preambles, so that items compile in another document.

Only packages that add commands and symbols are included; layout, fonts and languages are the project's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qagen_dagster.publishing.problems.allowed import own_of
from qagen_dagster.publishing.problems.drawing import refused

_START = re.compile(
    r"(?m)^[ \t]*(?P<how>\\(?:newcommand|renewcommand|providecommand|DeclareMathOperator|usetikzlibrary|newenvironment|def|definecolor"
    r"|colorlet|tikzset|ctikzset|pgfplotsset|sisetup|DeclareSIUnit|NewDocumentCommand))(?![A-Za-z])\*?"
    r"[ \t]*\{?(?P<name>\\[A-Za-z@]{1,40}|[A-Za-z@][\w@.-]{0,39})?"
)
_SETTINGS = ("\\usetikzlibrary", "\\tikzset", "\\ctikzset", "\\pgfplotsset", "\\sisetup")  # define no name
_LOADED = re.compile(
    r"\\usepackage[ \t]*(?P<options>\[[\w=, .-]{0,200}\])?[ \t]*\{(?P<names>[\w, -]{1,300})\}"
)
_COMMENT = re.compile(r"(?<!\\)%.*")
_PACKAGES = (
    "amsfonts array bbm bm booktabs braket cancel chemfig circuitikz commath diagbox dsfont empheq esint esvect eurosym float gensymb "
    "longtable mathrsfs mathtools mhchem multirow nicefrac pgfplots physics relsize siunitx slashed soul tabularx tensor textcomp "
    "tikz-3dplot tikz-feynman ulem units upgreek wasysym wrapfig xcolor xfrac"
)
_HARMLESS = frozenset(_PACKAGES.split())
_OWN = frozenset({"\\ans", "solution", "\\maybe", "\\includegraphics"})  # the project's
_ROUNDS = 20  # definitions that need each other, one after the other
_MOST = 4_000  # characters in one definition


def definitions(preambles: Sequence[str]) -> tuple[str, ...]:
    """The definitions, in order; the first one of each name."""
    found: dict[str, str] = {}
    for preamble in preambles:
        for name, text in _of(preamble):
            found.setdefault(name, text)
    return tuple(found.values())


def allowed_definitions(preambles: Sequence[str]) -> tuple[str, ...]:
    """The definitions without those that use TeX that is not allowed, or a definition left out for this."""
    found = definitions(preambles)
    for _ in range(_ROUNDS):
        own = own_of(found)
        kept = tuple(one for one in found if not refused(one, own))
        if kept == found:
            return found
        found = kept
    return ()


def packages(preambles: Sequence[str]) -> dict[str, str]:
    """Each included package with its options in brackets, as the first source loads it."""
    found: dict[str, str] = {}
    for mark in (mark for preamble in preambles for mark in _LOADED.finditer(_COMMENT.sub("", preamble))):
        for name in (one.strip() for one in mark.group("names").split(",")):
            if name in _HARMLESS:
                found.setdefault(name, mark.group("options") or "")
    return found


def _of(preamble: str) -> Iterator[tuple[str, str]]:
    for mark in _START.finditer(preamble):
        how, name = mark.group("how"), mark.group("name") or ""
        text = _whole(preamble, mark.start())
        if name in _OWN or text is None:
            continue
        text = text.replace("\\newcommand", "\\providecommand")
        text = text.replace("\\NewDocumentCommand", "\\ProvideDocumentCommand")
        if how == "\\DeclareMathOperator":
            text = f"\\ifdefined{name}\\else{text}\\fi"
        yield (text if how in _SETTINGS else name), text


def _whole(text: str, start: int) -> str | None:
    """The text from `start` to the end of the first line where all braces are closed; None if they never are."""
    depth, opened = 0, False
    for place in range(start, min(len(text), start + _MOST)):
        char = text[place]
        if char in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if char == "{" else -1
            opened = True
        if char == "\n" and opened and depth == 0:
            return text[start:place].strip()
    return text[start:].strip() if opened and depth == 0 and len(text) - start <= _MOST else None
