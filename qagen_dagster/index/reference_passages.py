r"""Cuts a reference (a manual's TeX, a package, the text of a PDF) into passages of whole lines with their headings.

`references.py` reads the files and ranks the passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

PASSAGES_VERSION = "2"  # raise it when the same text gives other passages
MOST_CHARACTERS = 1_800  # in a passage
MOST_TITLE = 80
_ENOUGH = 700  # after so many characters, an empty line ends a passage
_MOST_OF_EXAMPLE = 3_600  # examples up to this length are not cut
_EXAMPLE = re.compile(
    r"\\(begin|end)\{(?:codeexample|ctikzExample|LTXexample|tikzpicture|circuitikz|lstlisting|verbatim)\}"
)
_DISUSED = re.compile(r"[ \t]*%[ \t%]*\\[A-Za-z]")  # code that is commented out
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_HEADING = re.compile(
    rf"[ \t]*\\(?P<level>{'|'.join(_LEVELS)})\*?[ \t]*(?:\[[^\]\n]{{0,200}}\])?\{{(?P<title>.*)"
)
_COMMAND = re.compile(r"\\(?:label|index|cite|footnote)\{[^{}]{0,200}\}|\\[A-Za-z@]+\*?|[{}$~|\\]")
_LICENCE = re.compile(r"copyright|licen[cs]e", re.IGNORECASE)
_PARTS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Passage:
    """Lines of a reference. `path` is the file's displayed path. Lines count from 1; those of a PDF are of its text."""

    path: str
    start_line: int
    end_line: int
    headings: tuple[str, ...]  # outermost first
    text: str

    @property
    def file_type(self) -> str:
        return PurePosixPath(self.path).suffix.lower().lstrip(".")


def passages_of(path: str, text: str, headings: Sequence[tuple[int, int, str]] = ()) -> tuple[Passage, ...]:
    """The passages of a text, in order, without licences and commented-out code.

    `headings` are the line, level and title of headings that the text itself does not mark, as in a PDF.
    """
    given = {line: (level, title) for line, level, title in headings}
    trail: dict[int, str] = {}
    found: list[Passage] = []
    for start, lines in _blocks(text.split("\n"), frozenset(given)):
        level, title = given.get(start) or _heading(lines[0]) or (0, "")
        if title:
            trail = {above: one for above, one in trail.items() if above < level} | {level: title}
        first, last = _filled(lines)
        kept = "\n".join(lines[first : last + 1])
        if kept and not _licence(kept) and not _disused(kept):
            titles = tuple(trail[one] for one in sorted(trail))
            found.append(Passage(path, start + first, start + last, titles, kept))
    return tuple(found)


def stem_words(path: str) -> str:
    """The words of a file's name: `pgfmanual en library 3d` for `pgfmanual-en-library-3d.tex`."""
    return " ".join(one for one in _PARTS.split(PurePosixPath(path).stem) if one)


def _blocks(lines: list[str], given: frozenset[int]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines, each with the number of its first line.

    A heading begins a run; an empty line ends one that is long enough; a run that is too long is cut. An example stays
    whole unless it is very long.
    """
    block: list[str] = []
    size = depth = 0
    for number, line in enumerate(lines, 1):
        heads = number in given or _heading(line) is not None
        most = _MOST_OF_EXAMPLE if depth else MOST_CHARACTERS
        full = size + len(line) > most or (size >= _ENOUGH and not depth and not line.strip())
        if block and (heads or full):
            yield number - len(block), block
            block, size = [], 0
        for mark in _EXAMPLE.finditer(line):
            depth = max(0, depth + (1 if mark.group(1) == "begin" else -1))
        depth = 0 if heads else depth
        block.append(line)
        size += len(line) + 1
    if block:
        yield len(lines) + 1 - len(block), block


def _heading(line: str) -> tuple[int, str] | None:
    found = _HEADING.match(line)
    if found is None:
        return None
    title = " ".join(_COMMAND.sub(" ", found.group("title")).split())[:MOST_TITLE]
    return (_LEVELS.index(found.group("level")), title) if title else None


def _filled(lines: list[str]) -> tuple[int, int]:
    """The first and last line with more than white space, comment signs and braces."""
    full = [place for place, line in enumerate(lines) if line.strip(" \t%{}")]
    return (full[0], full[-1]) if full else (0, -1)


def _disused(text: str) -> bool:
    """Whether most of the lines are commented-out code, which is no useful example."""
    lines = [line for line in text.split("\n") if line.strip()]
    return 2 * sum(_DISUSED.match(line) is not None for line in lines) > len(lines)


def _licence(text: str) -> bool:
    """Whether the lines are only a licence in comments."""
    return _LICENCE.search(text) is not None and all(
        line.lstrip()[:1] in ("%", "") for line in text.split("\n")
    )
