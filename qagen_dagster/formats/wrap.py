"""Splits long lines into lines that a reader can point at. The parsers use it, so that every long paragraph has line numbers.

A long line of a file is split into sentences. A paragraph of JATS is split into lines of whole sentences up to 200 characters. A sentence
longer than 300 is broken after a comma, semicolon or colon, or else at a space. A break never falls inside a word, between digits of a
number, or after an abbreviation ("et al.", "Fig. 2"). A line has more than 300 characters only if it has no place for a break.

A break replaces one space, so that offsets do not change. After a full stop of a script without spaces, a break is added.
`records.document.joined` undoes both kinds of breaks.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from qagen_dagster.formats.base import ParsedText
from qagen_dagster.records.document import TIGHT_STOPS, LineRange

TARGET = 200
LIMIT = 300
_LABEL = 40  # a line shorter than this ("Figure 1.") takes the next sentence up to the limit
_SHORTEST = 100  # minimum length of the first part of a broken sentence, where possible
_LONGEST_ROW = 2_000  # characters; a longer row of a table is split like text
_PER_CELL = 150  # a row of a table has at least one separator of cells per this many characters
_CELL = re.compile(r" \| |\t")

_OPENING = "[\"'\u201c\u2018(\\[]{0,3}"
_BEGINS = "A-Z0-9À-ÖØ-ÞΑ-ΩА-Я$\u0590-\u109f\u1200-\u13ff\u1700-\u18af\u3040-\ud7a3"  # capitals, digits, and letters of scripts without capitals
_END = re.compile(
    f"[.!?\u061f\u06d4\u0964\u104b\u1362\u17d4][\"'\u201d\u2019)\\]]{{0,3}} +(?={_OPENING}[{_BEGINS}])|{TIGHT_STOPS}(?=.)"
)
_LAST_WORD = re.compile(r"[^\s(\[\"'\u201c\u2018]{1,30}$")
_ABBREVIATED = (
    "al approx art assoc ave ca cf ch chap co corp dept dr ed eds e.g eq eqn eqns eqs et etc ex fig figs "
    "gen gov i.e inc jr lt ltd max min mr mrs ms mt no nos op p par pp prof proc pt ref refs resp rev "
    "sec sect sp spp sr st subsp suppl tab univ var viz vol vols vs"
)
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")

Span = tuple[int, int]  # the offset of the first character, and the offset after the last character


@dataclass(frozen=True)
class SplitLines:
    """The lines of a text after its long lines are split, and the new lines of each original line."""

    lines: tuple[str, ...]
    _ends: tuple[int, ...]  # 0, and then the last new line of each original line

    def first(self, line: int) -> int:
        """The first new line of an original line (1-based). `line` may be the number after the last line."""
        return self._ends[line - 1] + 1

    def last(self, line: int) -> int:
        """The last new line of an original line (1-based). `line` may be 0, which gives 0."""
        return self._ends[line]

    @property
    def wrapped(self) -> tuple[LineRange, ...]:
        """The new lines of each line that was split."""
        pairs = zip(self._ends, self._ends[1:], strict=False)
        return tuple(
            LineRange(start_line=before + 1, end_line=end) for before, end in pairs if end > before + 1
        )


def split_long_lines(lines: Sequence[str]) -> SplitLines:
    """Split the lines of more than 300 characters. Rows of tables are split only if they are much longer."""
    parts = [[line[start:end] for start, end in _line_pieces(line)] for line in lines]
    ends = accumulate(map(len, parts), initial=0)
    return SplitLines(tuple(piece for part in parts for piece in part), tuple(ends))


def with_split_lines(entry: ParsedText) -> ParsedText:
    """The text with its long lines split, and its pages and sections with the new line numbers."""
    found = split_long_lines(entry.text.split("\n"))
    if not found.wrapped:
        return entry
    pages = tuple(
        page.model_copy(
            update={"start_line": found.first(page.start_line), "end_line": found.last(page.end_line)}
        )
        for page in entry.pages
    )
    sections = tuple(
        one.model_copy(update={"start_line": found.first(one.start_line)}) for one in entry.sections
    )
    text = "\n".join(found.lines)
    return replace(entry, text=text, pages=pages, sections=sections, wrapped=found.wrapped)


def wrap(paragraph: str) -> list[str]:
    """The lines of one paragraph, in order, with single spaces."""
    text = " ".join(paragraph.split())
    return [text[start:end] for start, end in _pieces(text, TARGET)]


def _line_pieces(line: str) -> list[Span]:
    is_row = line.lstrip().startswith("|") or len(_CELL.findall(line)) * _PER_CELL >= len(line)
    return [(0, len(line))] if len(line) <= (_LONGEST_ROW if is_row else LIMIT) else _pieces(line, 0)


def _pieces(text: str, target: int) -> list[Span]:
    """The lines of `text`. A line has whole sentences of up to `target` characters together, one sentence that is longer, or a part of a
    sentence of more than LIMIT characters."""
    found: list[Span] = []
    for start, end in sentences(text):
        before = found[-1][0] if found else 0
        room = LIMIT if found and found[-1][1] - before < _LABEL else target
        if found and end - before <= room:
            found[-1] = (before, end)
        else:
            found.extend(_broken(text, start, end))
    return found


def sentences(text: str) -> Iterator[Span]:
    """The sentences of a line; a doubtful boundary does not split. One space or nothing separates two sentences."""
    start = 0
    for end in _END.finditer(text):
        spaced = text[end.end() - 1] == " "
        bare = text.startswith(". ", end.start())  # a bare dot may belong to an abbreviation
        if bare and _is_abbreviation(text, start, end.start()):
            continue
        yield start, end.end() - spaced
        start = end.end()
    if start < len(text):
        yield start, len(text)


def _is_abbreviation(text: str, start: int, dot: int) -> bool:
    word = _LAST_WORD.search(text, max(start, dot - 30), dot)
    if word is None:
        return False
    return word[0].lower() in _ABBREVIATIONS or bool(_INITIALS.fullmatch(word[0]))


def _broken(text: str, start: int, end: int) -> Iterator[Span]:
    while end - start > LIMIT:
        at = _break(text, start, end)
        if at is None:
            break
        yield start, at
        start = at + 1
    yield start, end


def _break(text: str, start: int, end: int) -> int | None:
    """The space at which to break a sentence: the last one that fits, after a clause mark if possible; else the next space; else None."""
    spaces = [at for at in range(start + 1, start + LIMIT + 1) if _breakable(text, start, at)]
    clause = [at for at in spaces if at - start >= _SHORTEST and text[start:at].rstrip(" ")[-1:] in ",;:.!?"]
    if clause or spaces:
        return (clause or spaces)[-1]
    return next((at for at in range(start + LIMIT + 1, end) if _breakable(text, start, at)), None)


def _breakable(text: str, start: int, at: int) -> bool:
    """Whether a break may replace the character at `at`: the last of several spaces, which divides no number and no abbreviation."""
    before, after = text[at - 1], text[at + 1 : at + 2]
    if text[at] != " " or not after or after == " ":
        return False
    if before.isdigit() and (after.isdigit() or after in ("%", "°", "\u00d7", "\u00b1")):
        return False
    return not (before == "." and _is_abbreviation(text, start, at - 1))
