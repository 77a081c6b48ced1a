"""Text without markup that keeps the position of each character in the document, and its sentences.

Analysis needs clean, unwrapped sentences, while evidence must have the document's own characters. A passage holds both.
spaCy gets single sentences, because its own splitting fails on abbreviations and identifiers.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from qagen_dagster.english import sentences
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.records.text import TAG, shown_for

Place = tuple[int, int]  # line number, column

# Each pattern keeps group 1 and drops the rest of the match. The patterns are bounded to run in linear time.
_MARKUP = tuple(
    re.compile(pattern)
    for pattern in (
        r"!\[[^\[\]]{0,300}\]\([^()\s]{0,400}[^()]{0,100}\)()",
        r"\[([^\[\]]{1,300})\]\([^()\s]{0,400}(?: \"[^\"]{0,100}\")?\)(?:\{[^{}]{0,100}\})?",
        r"\[\^[^\[\]]{1,30}\]()",
        r"(?<!`)`([^`]{1,200})`(?!`)",
        r"(?<![\w*])\*\*\*(?=\S)([^*]{1,300})(?<=\S)\*\*\*",
        r"(?<![\w*])\*\*(?=\S)([^*]{1,300})(?<=\S)\*\*",
        r"(?<![\w_])__(?=\S)([^_]{1,300})(?<=\S)__(?!\w)",
        r"(?<![\w*])\*(?=\S)([^*]{1,300})(?<=\S)\*(?![\w*])",
        r"(?<![\w_])_(?=\S)([^_]{1,300})(?<=\S)_(?!\w)",
        r"\\(?=([\\`*_{}\[\]()#+.!|<>-]))",
    )
)
_DROPPED = "\0"  # does not occur in documents
_CODE = re.compile(r"(`[^`]{1,200}`)")
_WRAP_HYPHEN = re.compile(r"[A-Za-z]-$")
_MARKS = "*`_"  # around words in Markdown


@dataclass(frozen=True)
class Quote:
    """Characters copied from the document, with their first and last line."""

    text: str
    start_line: int
    end_line: int


@dataclass(frozen=True)
class Passage:
    """`text[i]` is at `places[i]` of the document; `lines` has the lines from which the text comes, by number."""

    text: str
    places: tuple[Place, ...]
    lines: dict[int, str]

    def part(self, start: int, end: int) -> "Passage":
        """The passage of `text[start:end]`."""
        return Passage(self.text[start:end], self.places[start:end], self.lines)

    def quote(self) -> Quote:
        """The document's own characters from the first to the last of `text`, with markup."""
        (first, left), (last, right) = self.places[0], self.places[-1]
        right += 1
        while left > 0 and self.lines[first][left - 1] in _MARKS:
            left -= 1
        while right < len(self.lines[last]) and self.lines[last][right] in _MARKS:
            right += 1
        if first == last:
            return Quote(self.lines[first][left:right], first, last)
        between = [self.lines[number] for number in range(first + 1, last)]
        text = "\n".join([self.lines[first][left:], *between, self.lines[last][:right]])
        return Quote(text, first, last)


def plain(text: str) -> tuple[str, list[int]]:
    """`text` without inline Markdown and HTML, and the column of each remaining character."""
    columns = list(range(len(text)))
    if "<" in text:
        parts = _CODE.split(text)  # every second part is code
        # The character that replaces a tag is padded to the tag's length, so that columns do not change.
        parts[::2] = [
            TAG.sub(lambda tag: shown_for(tag).ljust(len(tag[0]), _DROPPED), part) for part in parts[::2]
        ]
        padded = "".join(parts)
        columns = [column for column, char in enumerate(padded) if char != _DROPPED]
        text = padded.replace(_DROPPED, "")
    for pattern in _MARKUP:
        if not pattern.search(text):
            continue
        keep: list[tuple[int, int]] = []
        last = 0
        for match in pattern.finditer(text):
            keep.append((last, match.start()))
            if match.end(1) <= match.end():  # otherwise the group is a look-ahead, whose text is kept anyway
                keep.append(match.span(1))
            last = match.end()
        keep.append((last, len(text)))
        columns = [column for start, end in keep for column in columns[start:end]]
        text = "".join(text[start:end] for start, end in keep)
    return text, columns


def join_lines(lines: Iterable[Line], *, first_column: int = 0) -> Passage:
    """One passage of consecutive lines, without markup, without repeated spaces, and without hyphenation at line ends.
    The first line is read from `first_column` on, to leave out a list marker. `lines` must have all lines from the first
    to the last, also blank lines, so that quotes over several lines match the document."""
    text: list[str] = []
    places: list[Place] = []
    source: dict[int, str] = {}
    for line in lines:
        source[line.number] = line.text
        clean, columns = plain(line.text)
        start = first_column if len(source) == 1 else 0
        kept = [(char, column) for char, column in zip(clean, columns, strict=True) if column >= start]
        _append(text, places, kept, line.number)
    while text and text[-1] == " ":
        text.pop()
        places.pop()
    return Passage("".join(text), tuple(places), source)


def _append(text: list[str], places: list[Place], kept: list[tuple[str, int]], number: int) -> None:
    words = "".join(char for char, _ in kept)
    if not words.strip():
        return
    if text and text[-1] == " " and _WRAP_HYPHEN.search("".join(text[-3:-1])):
        text.pop()
        places.pop()
        if words.lstrip()[:1].islower():
            text.pop()
            places.pop()
    for char, column in kept:
        blank = char.isspace()
        if blank and (not text or text[-1] == " "):
            continue
        text.append(" " if blank else char)
        places.append((number, column))
    if text[-1] != " ":
        text.append(" ")
        places.append((number, kept[-1][1]))


_SEMICOLON = re.compile(r";(?=\s)")
_WORD = re.compile(r"[A-Za-zÀ-ÿ]+(?:['\u2019-][A-Za-zÀ-ÿ]+)*")
_CITATION = re.compile(
    r"\s?\((?:[^()]{0,80}\bet al\b|see\b|cf\b|e\.g\.|Figs?\.|Figures?\b|Tables?\b|Eqs?\.|[A-Z][\w'\u2019-]+(?: (?:and|&) [A-Z]\w+)?,? \d{4}[a-z]?)"
    r"[^()]{0,160}\)|\s?\[\d{1,3}(?:[,\u2013-] ?\d{1,3})*\]"
)
# Signs that a label, a list number, a heading, a formula or another sentence is joined to the sentence.
_JOINED = re.compile(
    r":\s|\$ ?\(|[\w)] (?:The|An?|This|These|For|In|On|If|When|Each|All|No|It|We|To|As|By|At|From|With|There)(?= [a-z])"
    r"|\b[A-Z]{4,} [A-Z]{4,} [A-Z]?[a-z]|^\d+, "
)
MAX_WORDS = 42  # maximum words of a sentence; parses of longer sentences are often wrong


@dataclass(frozen=True)
class Sentence:
    """A sentence: its passage, and the text to analyse (without citations)."""

    passage: Passage  # only of this sentence
    text: str


def split(passage: Passage) -> Iterator[Sentence]:
    """The sentences of a passage, in order. A semicolon outside brackets ends a sentence, because usually a clause follows."""
    for sentence in sentences.split(passage.text):
        depth_at, start = _depths(sentence.text), 0
        ends = [match.end() for match in _SEMICOLON.finditer(sentence.text) if not depth_at[match.start()]]
        for end in (*ends, len(sentence.text)):
            start += len(sentence.text[start:end]) - len(sentence.text[start:end].lstrip())
            piece = passage.part(sentence.start + start, sentence.start + end)
            yield Sentence(piece, _CITATION.sub("", piece.text))
            start = end


def _depths(text: str) -> list[int]:
    """The number of open brackets before each character."""
    return list(
        accumulate(text, lambda depth, char: max(0, depth + (char in "([") - (char in ")]")), initial=0)
    )


def is_prose(sentence: Sentence) -> bool:
    """Whether the sentence is complete and plain enough for a question."""
    text = sentence.text
    words = _WORD.findall(text)
    if not 4 <= len(words) <= MAX_WORDS or not (text[0].isupper() or text[0].isdigit()):
        return False
    if text[-1] not in '.;"”)' or text.rstrip('"”)').endswith("?"):
        return False
    return balanced(text) and not _JOINED.search(text)


def balanced(text: str) -> bool:
    """Whether quotes and brackets of `text` are balanced."""
    if text.count('"') % 2 or text.count("“") != text.count("”"):
        return False
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return False
    return depth == 0
