"""Where sentences begin and end, in any text: an answer, a parsed document, a list.

Rules, one pass over the text, offsets kept. What does not belong here: what a sentence states (`facts.py`), whether it
claims anything (`generic.py`), and the pickier sentences the embedded generator asks about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from qagen_dagster.grounding.abbreviations import (
    AFTER_TIMES,
    ATTRIBUTION,
    BEFORE_NAMES,
    BEFORE_NUMBERS,
    MAY_END,
    OPENERS,
    TIMES,
)
from qagen_dagster.grounding.lines import LIST_MARKER, blocks

MIN_CHARACTERS = 3  # of a claim; shorter pieces are stray numbers and marks
_BRACKETED = 300  # characters: no sentence ends inside a shorter pair of brackets

_END = re.compile(r"[.!?…．]+|[。！？｡؟۔।॥]+")
_CLOSING = re.compile(r"(?:[\"'”’)\]}»›」』）】*_]|\[\d{1,3}(?:[,–-]\d{1,3})*\]){0,8}")
_NEXT = re.compile(r"\s*([\"'“‘«‹¿¡(\[{「『（【*_]*)(\S{0,24})(?:\s{1,3}(\w{1,12}))?(?:\s{1,3}(\w{1,12}))?")
_LAST = re.compile(r"[^\s(\[{\"'“‘«/—]*$")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}", re.ASCII)
_MARKER_ONLY = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})")
_MARKER_INLINE = re.compile(r"(?:[:,]\s+[1aiA]|;\s+(?:and\s+|or\s+)?(?:\d{1,2}|[a-z]))$")
_NUMERAL = re.compile(r"[IVXLC]+\b|[A-Z]\b|\w?\d|§|#")
_DASHES = "—–"


@dataclass(frozen=True)
class Sentence:
    """A piece of a source: `source[start:end] == text`, without white space around it."""

    text: str
    start: int
    end: int


def split(text: str) -> list[Sentence]:
    """The sentences of `text`, in order; between them, before and after is nothing but white space."""
    casual = _begins_small(text)
    found: list[Sentence] = []
    for start, end in blocks(text):
        for piece_start, piece_end in _pieces(text, start, end, casual):
            sentence = _stripped(text, piece_start, piece_end)
            if sentence is not None:
                found.append(sentence)
    return found


def claims(text: str) -> list[Sentence]:
    """The sentences that can be graded: list markers are left off, and so is what has less than three characters."""
    found: list[Sentence] = []
    for sentence in split(text):
        marker = LIST_MARKER.match(sentence.text)
        begin = sentence.start + (marker.end() if marker else 0)
        piece = _stripped(text, begin, sentence.end)
        if piece is not None and len(piece.text) >= MIN_CHARACTERS and any(map(str.isalnum, piece.text)):
            found.append(piece)
    return found


def _stripped(text: str, start: int, end: int) -> Sentence | None:
    piece = text[start:end]
    kept = piece.strip()
    if not kept:
        return None
    begin = start + len(piece) - len(piece.lstrip())
    return Sentence(kept, begin, begin + len(kept))


def _begins_small(text: str) -> bool:
    """Whether the text starts in a small letter: then its sentences may."""
    first = next((char for char in text if char.isalpha()), "")
    return first.islower()


def _pieces(text: str, start: int, end: int, casual: bool) -> Iterator[tuple[int, int]]:
    block = text[start:end]
    protected = _protected(block)
    begin = 0
    for match in _END.finditer(block):
        if match.start() < begin or protected[match.start()]:
            continue
        closing = _CLOSING.match(block, match.end())
        after = closing.end() if closing else match.end()
        if after < len(block) and _Stop(block, begin, match.start(), match.end(), after, casual).ends():
            yield start + begin, start + after
            begin = after
    yield start + begin, end


def _protected(block: str) -> list[int]:
    """Per character, in how many short pairs of brackets it stands."""
    change, opened = [0] * (len(block) + 1), list[int]()
    for position, char in enumerate(block):
        if char in "([（":
            opened.append(position)
        elif char in ")]）" and opened:
            begin = opened.pop()
            if position - begin <= _BRACKETED:
                change[begin] += 1
                change[position] -= 1
    return list(accumulate(change))


@dataclass(frozen=True)
class _Stop:
    """A run of marks in a block that may end the sentence which began at `begin`."""

    block: str
    begin: int
    at: int  # the first mark
    until: int  # behind the last mark
    after: int  # behind what closes with it
    casual: bool

    def ends(self) -> bool:
        """Whether the sentence is over."""
        block, mark = self.block, self.block[self.until - 1]
        if mark in "。！？｡؟۔।॥":
            return (
                not (self.after > self.until and block[self.after] in "とっ、，")
                and block[self.after] not in "、，"
            )
        if not block[self.after].isspace():
            return False
        following = _NEXT.match(block, self.after)
        if following is None or not following.group(2):
            return True
        word = following.group(2)
        if word[0] in _DASHES or _END.match(word):
            return False
        if word[0].islower() and not any(map(str.isupper, word[1:4])):
            return self.casual and self._plain_word()
        if mark != "." or self.until - self.at > 1:
            return not self._attributed(following)
        return self.after > self.until or self._full_stop(word)

    def _plain_word(self) -> bool:
        last = self._last()
        return len(last) >= 3 and last.lower() not in MAY_END | BEFORE_NAMES and "." not in last

    def _attributed(self, following: re.Match[str]) -> bool:
        """Whether a quotation is followed by who said it."""
        if self.after == self.until or following.group(1):
            return False
        return any(following.group(n) in ATTRIBUTION for n in (3, 4))

    def _last(self) -> str:
        found = _LAST.search(self.block, max(self.begin, self.at - 24), self.at)
        return found.group() if found else ""

    def _full_stop(self, following: str) -> bool:
        """Whether one full stop before a word that may begin a sentence does end one."""
        last = self._last()
        if self._is_marker(last):
            return False
        key, opener = last.lower(), following.rstrip(",;:") in OPENERS
        if key in TIMES:
            return following.rstrip(",.;:)") not in AFTER_TIMES
        if key in BEFORE_NAMES:
            return False
        if key in BEFORE_NUMBERS and (len(last) > 1 or last.islower()):
            return not _NUMERAL.match(following) or opener
        if key in MAY_END or _DOTTED.fullmatch(last):
            return opener
        if len(last) == 1 and last.isupper():
            return opener
        return True

    def _is_marker(self, last: str) -> bool:
        """Whether the stop belongs to a list number: `1. First`, `the steps: 1. First`."""
        if len(last) > 5 or not _MARKER_ONLY.fullmatch(last):
            return False
        so_far = self.block[self.begin : self.at] if self.at - self.begin < 16 else None
        if so_far is not None and so_far.strip() == last:
            return True
        return bool(_MARKER_INLINE.search(self.block, max(self.begin, self.at - 12), self.at))
