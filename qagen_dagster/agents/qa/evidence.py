"""Prove by code that quotes stand in the document and carry the answer.

Matching ignores white space, line-end hyphenation, case, typographic variants and Markdown emphasis;
what is kept as evidence is always the document's own text of the matched place, never the model's copy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.records.document import Document
from qagen_dagster.records.question import Evidence
from qagen_dagster.records.verdict import EvidenceQuote

_LINE_PREFIX = re.compile(r"(?m)^\s{0,8}\d{1,7}\|>? ?")
_PAGE_MARK = re.compile(r"(?m)^--- page \d+ ---$")
_DROPPED = frozenset("*_`|#\u00ad\u200b\ufeff")
_HYPHENS = frozenset("-\u2010\u2011")
_SAME = str.maketrans(  # quotation marks, dashes, minus and ellipsis
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u2026": "...",
    }
)
_MIN_SKELETON = 8


@dataclass(frozen=True)
class Skeleton:
    """Text reduced to what must agree, and where each kept character stands in the original."""

    text: str
    offsets: tuple[int, ...]


def skeleton(text: str) -> Skeleton:
    """Reduce `text`; linear in its length."""
    kept: list[str] = []
    offsets: list[int] = []
    length = len(text)
    for index, char in enumerate(text):
        if char.isspace() or char in _DROPPED:
            continue
        if char in _HYPHENS and _between_letters(text, index, length):
            continue
        plain = char if char.isascii() else unicodedata.normalize("NFKC", char).translate(_SAME)
        for piece in plain.casefold():
            kept.append(piece)
            offsets.append(index)
    return Skeleton("".join(kept), tuple(offsets))


def _between_letters(text: str, index: int, length: int) -> bool:
    """A hyphen that may be a line-end break: letters on both sides, white space aside."""
    if index == 0 or not text[index - 1].isalpha():
        return False
    after = index + 1
    while after < length and after < index + 40 and text[after].isspace():
        after += 1
    return after < length and text[after].isalpha()


class EvidenceIndex:
    """Finds quotes in one document's lines."""

    def __init__(self, document: Document, lines: Sequence[str]) -> None:
        self._document = document
        self._text = "\n".join(lines)

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for index, char in enumerate(self._text):
            if char == "\n":
                starts.append(index + 1)
        return starts

    @cached_property
    def _skeleton(self) -> Skeleton:
        return skeleton(self._text)

    def find(self, quote: EvidenceQuote, visual: str | None = None) -> Evidence | None:
        """The place of a quote, nearest to its stated line; None when it is not in the document."""
        wanted = _PAGE_MARK.sub("", _LINE_PREFIX.sub("", quote.quote)).strip()
        spans = self._exact(wanted) or self._loose(wanted)
        if not spans:
            return None
        near = quote.start_line or 1
        start, end = min(spans, key=lambda span: abs(self._line(span[0]) - near))
        first, last = self._line(start), self._line(end - 1)
        return Evidence(
            quote=self._text[start:end],
            start_line=first,
            end_line=last,
            page=self._document.page_of(first),
            visual=visual,
        )

    def _exact(self, wanted: str) -> list[tuple[int, int]]:
        if len(wanted) < 2 or not any(char.isalnum() for char in wanted):
            return []
        return [(at, at + len(wanted)) for at in _occurrences(self._text, wanted)]

    def _loose(self, wanted: str) -> list[tuple[int, int]]:
        reduced = skeleton(wanted).text
        if len(reduced) < _MIN_SKELETON:
            return []
        offsets = self._skeleton.offsets
        return [
            (offsets[at], offsets[at + len(reduced) - 1] + 1)
            for at in _occurrences(self._skeleton.text, reduced)
        ]

    def _line(self, offset: int) -> int:
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._starts[middle] <= offset else (low, middle)
        return low


def _occurrences(text: str, part: str, most: int = 200) -> list[int]:
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < most:
        found.append(at)
        at = text.find(part, at + 1)
    return found
