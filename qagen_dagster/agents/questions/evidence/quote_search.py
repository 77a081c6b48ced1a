"""Finds quotes in the text of a document.

Matching ignores white space, hyphenation, case, typographic variants and Markdown emphasis. No match cuts a number or (in
cased scripts) a word. The evidence is the matched text of the document, not the model's copy.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.records.document import Document
from qagen_dagster.records.questions.results import Evidence
from qagen_dagster.records.questions.submissions import EvidenceQuote

_LINE_PREFIX = re.compile(r"(?m)^\s{0,8}\d{1,7}\|>? ?")
_PAGE_MARK = re.compile(r"(?m)^--- page \d+ ---$")
_DROPPED = frozenset("*_`|#\u00ad\u200b\ufeff")
_HYPHENS = frozenset("-\u2010\u2011\u2013\u2014\u2212")
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
_MIN_SKELETON = 8  # characters; a quote whose skeleton is shorter must match exactly
_MOST_PLACES = 200  # places of one quote that are compared, so that a repeated word costs little time
_JOINED = (
    re.compile(  # two characters, the position, two characters: decimals, contractions, compounds, signs
        "\\d\0[.,]\\d|\\d[.,]\0\\d"
        "|[^\\W\\d_]\0['\u2019\u2010\u2011-][^\\W\\d_]|[^\\W\\d_][\u2010\u2011-]\0[^\\W\\d_]"
        "|(?:^|[\\s(])[\u2212-]\0\\d"
    )
)

_FOOTNOTE = re.compile("(?:\\d{4}|[^\\W\\d_])[.]\0\\d{1,2}\\s")


@dataclass(frozen=True)
class Skeleton:
    """The characters of a text that must match, and their offsets in the original."""

    text: str
    offsets: tuple[int, ...]


def skeleton(text: str) -> Skeleton:
    """Reduce `text` to the characters that must match, in time linear in its length."""
    kept: list[str] = []
    offsets: list[int] = []
    for index, char in enumerate(text):
        if char.isspace() or char in _DROPPED:
            continue
        if char in _HYPHENS and _between_letters(text, index):
            continue
        plain = char if char.isascii() else unicodedata.normalize("NFKD", char).translate(_SAME)
        for piece in plain.casefold():
            kept.append(piece)
            offsets.append(index)
    return Skeleton("".join(kept), tuple(offsets))


def _between_letters(text: str, index: int) -> bool:
    """Whether a dash stands between two letters, skipping white space and markup. Such dashes depend on typesetting."""
    before = next((char for char in reversed(text[max(0, index - 40) : index]) if not _passed(char)), "")
    after = next((char for char in text[index + 1 : index + 41] if not _passed(char)), "")
    return before.isalpha() and after.isalpha()


def _passed(char: str) -> bool:
    return char.isspace() or char in _DROPPED or unicodedata.combining(char) > 0


def _inside_token(text: str, at: int) -> bool:
    """Whether the position before `text[at]` is inside a word or a number."""
    left, right = text[max(0, at - 2) : at], text[at : at + 2]
    if not left or not right:
        return False
    if unicodedata.combining(right[0]) or (_solid(left[-1]) and _solid(right[0])):
        return True
    return _JOINED.search(f"{left}\0{right}") is not None


def _solid(char: str) -> bool:
    """Whether a character is a digit, or a letter of a script with capitals. Scripts without capitals may have no spaces between words."""
    return char.isdigit() or (char.isalpha() and char.lower() != char.upper())


class QuoteFinder:
    """Finds quotes in the lines of one document."""

    def __init__(self, document: Document, lines: Sequence[str]) -> None:
        self._document = document
        self._text = "\n".join(lines)

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of the first character of each line."""
        return [0, *(index for index, char in enumerate(self._text, 1) if char == "\n")]

    @cached_property
    def _skeleton(self) -> Skeleton:
        return skeleton(self._text)

    def find(self, quote: EvidenceQuote, visual: str | None = None) -> Evidence | None:
        """The match of a quote that is nearest to its stated line; None when the quote is not in the document."""
        return next(iter(self.matches(quote, visual)), None)

    def matches(self, quote: EvidenceQuote, visual: str | None = None) -> list[Evidence]:
        """Matches of a quote, the nearest to its stated line first."""
        wanted = _PAGE_MARK.sub("", _LINE_PREFIX.sub("", quote.quote)).strip()
        spans = self._exact(wanted)
        near = quote.start_line or 1
        if not spans or (quote.start_line and all(self._line(start) != near for start, _ in spans)):
            spans += self._loose(wanted)
        spans.sort(key=lambda span: abs(self._line(span[0]) - near))
        return [self._evidence(start, end, visual) for start, end in spans]

    def _evidence(self, start: int, end: int, visual: str | None) -> Evidence:
        first, last = self._line(start), self._line(end - 1)
        return Evidence(
            quote=self._text[start:end],
            start_line=first,
            end_line=last,
            page=self._document.page_of(first),
            visual=visual,
        )

    def disagreement(self, quote: EvidenceQuote) -> str:
        """The point at which a quote that was not found departs from the document, in words for the model."""
        reduced = skeleton(_PAGE_MARK.sub("", _LINE_PREFIX.sub("", quote.quote)).strip()).text
        lengths = range(1, len(reduced) + 1)
        # The length of the longest beginning that occurs. If a beginning occurs, every shorter beginning occurs, too.
        agreeing = bisect_left(lengths, True, key=lambda size: reduced[:size] not in self._skeleton.text)
        if 0 < agreeing == len(reduced) < _MIN_SKELETON:
            return "it is too short to be found in other case or signs. Copy whole words, exactly as they are"
        if agreeing < _MIN_SKELETON:
            return f"its beginning {quote.quote[:60]!r} is nowhere. Search for a few of its words, then copy them"
        if agreeing == len(reduced):
            return "it begins or ends inside a word or number. Copy whole words"
        end = self._skeleton.offsets[self._skeleton.text.index(reduced[:agreeing]) + agreeing - 1] + 1
        agreed = " ".join(self._text[:end].split()[-8:])
        follows = " ".join(self._text[end : end + 200].split()[:8])
        return (
            f"it agrees up to {agreed!r} (line {self._line(end - 1)}), where the document goes on {follows!r}. "
            "If a page break, footnote or figure stands between, give the parts as two quotes"
        )

    def _exact(self, wanted: str) -> list[tuple[int, int]]:
        if len(wanted) < 2 or not any(char.isalnum() for char in wanted):
            return []
        return self._whole((at, at + len(wanted)) for at in _occurrences(self._text, wanted))

    def _loose(self, wanted: str) -> list[tuple[int, int]]:
        reduced = skeleton(wanted).text
        if len(reduced) < _MIN_SKELETON:
            return []
        places = _occurrences(self._skeleton.text, reduced)
        return self._whole(span for at in places if (span := self._span(at, at + len(reduced))))

    def _span(self, first: int, end: int) -> tuple[int, int] | None:
        """The span of the text for a span of the skeleton; None when it cuts a character (ligatures, accents)."""
        offsets = self._skeleton.offsets
        cut_before = first > 0 and offsets[first - 1] == offsets[first]
        cut_after = end < len(offsets) and offsets[end] == offsets[end - 1]
        return None if cut_before or cut_after else (offsets[first], offsets[end - 1] + 1)

    def _whole(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """The spans that begin and end between words, because a clipped number is another number."""
        text, found = self._text, list[tuple[int, int]]()
        for start, end in spans:
            # A sentence may end directly before the mark of a footnote: "in June 2003.2 He".
            footnote = _FOOTNOTE.search(f"{text[max(0, end - 5) : end]}\0{text[end : end + 3]}")
            if not _inside_token(text, start) and (footnote or not _inside_token(text, end)):
                found.append((start, end))
        return found

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)


def _occurrences(text: str, part: str) -> list[int]:
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < _MOST_PLACES:
        found.append(at)
        at = text.find(part, at + 1)
    return found
