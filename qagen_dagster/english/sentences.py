"""Finds the sentences of any text (an answer, a parsed document, a list) by rules, in one pass, with their offsets.

The lines of a text are first grouped into blocks: wrapped prose is one block; each list item and each heading is a block. A full stop
after some abbreviations does not end a sentence. The abbreviations are grouped by what must follow. The embedded generator has
stricter rules for the sentences that it asks about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from qagen_dagster.english.dates import MONTHS, WEEKDAYS
from qagen_dagster.english.words import named_words, word_set

# After these abbreviations the sentence always continues, with a name or another word.
BEFORE_NAMES = frozenset(named_words("before_names"))
# After these abbreviations the sentence continues with a number, a numeral or a single letter, and ends before any other word.
BEFORE_NUMBERS = frozenset(named_words("before_numbers"))
# After these abbreviations the sentence ends if a word with a capital follows that is no day, month or time zone.
TIMES = frozenset(("a.m", "p.m"))
AFTER_TIMES = frozenset((*MONTHS, *WEEKDAYS)) | word_set(
    "Eastern Pacific Central Mountain EST EDT CST CDT PST PDT MST MDT GMT UTC CET CEST BST"
)
# After these abbreviations the sentence ends if one of OPENERS follows. OPENERS begin sentences, but hardly ever names.
MAY_END = frozenset(named_words("may_end"))
OPENERS = frozenset(named_words("openers"))
# A line that ends with one of these continues in the next line.
CONNECTIVES = frozenset(named_words("connectives"))
# A quotation followed by one of these does not end the sentence: `"Stop!" Mary said`.
ATTRIBUTION = word_set(
    "said says asked asks replied added cried shouted exclaimed wrote answered told whispered noted"
)


_NARROW = 45  # columns; the line breaks of a narrower paragraph do not show its width
_FILLED = 0.8  # minimum share of a paragraph's width that a wrapped line fills together with the first word of the next line
_WIDE = "\u2e80"  # from here on, characters are about two columns wide
LIST_MARKER = re.compile(
    r"(?:[-*+•‣▪●◦\u2043\u2013—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})\)|(?:\d{1,3}(?:\.\d{1,2}){0,3}|[a-z]|[ivxIVX]{2,5})\.)\s+(?=\S)"
)
_OWN_LINE = re.compile(r"\||#{1,6}\s|```|[-=_*~]{3,}\s*$")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_FIRST_WORD = re.compile(r"\S{1,24}")
_QUOTES = "\"'“\u2018«([*_"


@dataclass(frozen=True)
class _Line:
    text: str  # stripped
    start: int
    end: int

    @property
    def columns(self) -> int:
        return _columns(self.text)


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of every block; between blocks there is only white space."""
    for paragraph in _paragraphs(text):
        width = max(_NARROW, *(line.columns for line in paragraph), 0)
        begin, previous = paragraph[0].start, paragraph[0]
        for line in paragraph[1:]:
            if not _goes_on(previous, line, width):
                yield begin, previous.end
                begin = line.start
            previous = line
        yield begin, previous.end


def _paragraphs(text: str) -> Iterator[list[_Line]]:
    lines, position = list[_Line](), 0
    for raw in text.splitlines(keepends=True):
        stripped = raw.strip()
        if stripped:
            begin = position + len(raw) - len(raw.lstrip())
            lines.append(_Line(stripped, begin, begin + len(stripped)))
        elif lines:
            yield lines
            lines = []
        position += len(raw)
    if lines:
        yield lines


def _goes_on(line: _Line, following: _Line, width: int) -> bool:
    """Whether `following` continues the text of `line`."""
    if _OWN_LINE.match(line.text) or _OWN_LINE.match(following.text) or LIST_MARKER.match(following.text):
        return False
    first = following.text.lstrip(_QUOTES)[:1]
    if first.islower() or line.text[-1] in ",-\u2010":
        return True
    last = _LAST_WORD.search(line.text, max(0, len(line.text) - 24))
    if last and last.group() in CONNECTIVES:
        return True
    if line.text[-1] == ":":
        return False
    word = _FIRST_WORD.match(following.text)
    room = width * _FILLED - line.columns - 1
    wide = following.text[0] >= _WIDE
    return room < (2 if wide else len(word.group()) if word else 0)


def _columns(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char >= _WIDE for char in text)


MIN_CHARACTERS = 3  # minimum characters of a claim; shorter pieces are stray numbers and marks
_BRACKETED = 300  # characters; no sentence ends inside a shorter pair of brackets

_FULL = "。\uff01\uff1f｡؟\u06d4।॥"  # full stops of scripts that need no space after them
_END = re.compile(rf"[.!?…\uff0e]+|[{_FULL}]+")
_CLOSING = re.compile(r"(?:[\"'”\u2019)\]}»\u203a」』\uff09】*_]|\[\d{1,3}(?:[,\u2013-]\d{1,3})*\]){0,8}")
_QUOTED_ON = "とっ、\uff0c"  # characters that continue the sentence after a closed quotation
_NEXT = re.compile(
    r"\s*([\"'“\u2018«\u2039¿¡(\[{「『\uff08【*_]*)(\S{0,24})(?:\s{1,3}(\w{1,12}))?(?:\s{1,3}(\w{1,12}))?"
)
_OPENING = "([{\"'“\u2018«/"
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}", re.ASCII)
_MARKER_ONLY = re.compile(r"(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})")
_MARKER_INLINE = re.compile(r"(?:[:,]\s+[1aiA]|;\s+(?:and\s+|or\s+)?(?:\d{1,2}|[a-z]))$")
_GLUED = re.compile(r"([A-Z][a-z]*)(?:['\u2019]s)?,?\s")
_PLAIN = re.compile(r"[^\W_]{2,}|[^\W_]+%|[^\W_]*\)")
_NUMERAL = re.compile(r"[IVXLC]+\b|[A-Z]\b|\w?\d|§|#")
_BULLETS = " \t\n\r(-*+•\u2043‣▪●◦"
_DASHES = "—\u2013"


@dataclass(frozen=True)
class Sentence:
    """A sentence without white space around it. `text` is `source[start:end]`."""

    text: str
    start: int
    end: int


def split(text: str) -> list[Sentence]:
    """The sentences of `text`, in order. Only white space separates them."""
    # If the text begins with a small letter, its sentences may, too
    casual = next((char for char in text if char.isalpha()), "").islower()
    found: list[Sentence] = []
    for start, end in blocks(text):
        for piece_start, piece_end in _pieces(text, start, end, casual):
            sentence = _stripped(text, piece_start, piece_end)
            if sentence is not None:
                found.append(sentence)
    return found


def claims(text: str) -> list[Sentence]:
    """The sentences that can be graded, without their list markers. Sentences of less than three characters are
    left out. A text that consists only of such a short piece ("5", "UK") is one claim."""
    sentences = [_unmarked(text, one) for one in split(text)]
    found = [one for one in sentences if one is not None and len(one.text) >= MIN_CHARACTERS]
    whole = _stripped(text, 0, len(text))
    return [whole] if not found and whole is not None and _says(whole.text) else found


def _unmarked(text: str, sentence: Sentence) -> Sentence | None:
    """The sentence without its list marker; None if nothing is left."""
    marker = LIST_MARKER.match(sentence.text)
    piece = _stripped(text, sentence.start + (marker.end() if marker else 0), sentence.end)
    return piece if piece is not None and _says(piece.text) else None


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def _stripped(text: str, start: int, end: int) -> Sentence | None:
    piece = text[start:end]
    kept = piece.strip()
    if not kept:
        return None
    begin = start + len(piece) - len(piece.lstrip())
    return Sentence(kept, begin, begin + len(kept))


def _pieces(text: str, start: int, end: int, casual: bool) -> Iterator[tuple[int, int]]:
    block = text[start:end]
    protected = _protected(block)
    begin, number = 0, ""  # start of the sentence; number of the next item of a list within a line
    for match in _END.finditer(block):
        closing = _CLOSING.match(block, match.end())
        after = closing.end() if closing else match.end()
        if match.start() < begin or after >= len(block) or protected[after]:
            continue
        stop = _Stop(block, begin, match.start(), match.end(), after, casual)
        if not block[after].isspace() and match.group()[-1] not in _FULL:
            if block[after].isupper() and stop.glued:
                yield start + begin, start + after
                begin = after
            continue
        item = stop.last if stop.is_marker or stop.last == number else ""
        if item and item == number and match.start() - len(item) > begin:
            yield start + begin, start + match.start() - len(item)
            begin = match.start() - len(item)
        elif not item and stop.ends():
            yield start + begin, start + after
            begin = after
        number = str(int(item) + 1) if item.isdecimal() else number
    yield start + begin, end


def _protected(block: str) -> list[int]:
    """For each character, the number of short pairs of brackets around it."""
    change, opened = [0] * (len(block) + 1), list[int]()
    for position, char in enumerate(block):
        if char in "([\uff08":
            opened.append(position)
        elif char in ")]\uff09" and opened:
            begin = opened.pop()
            if position - begin <= _BRACKETED:
                change[begin] += 1
                change[position] -= 1
    return list(accumulate(change))


@dataclass(frozen=True)
class _Stop:
    """A run of punctuation marks that may end the sentence that begins at `begin`."""

    block: str
    begin: int
    at: int  # position of the first mark
    until: int  # position after the last mark
    after: int  # position after the quotation marks and brackets that close here
    casual: bool  # whether sentences may begin with a small letter

    def ends(self) -> bool:
        """Whether the sentence ends here."""
        block, mark = self.block, self.block[self.until - 1]
        if mark in _FULL:
            return block[self.after] not in (_QUOTED_ON if self.after > self.until else "、\uff0c")
        following = _NEXT.match(block, self.after)
        if following is None or not following.group(2):
            return True
        word = following.group(2)
        cited = following.group(1).startswith("(") and self.after > self.until
        if cited or word[0] in _DASHES or _END.match(word):
            return False
        if word[0].islower() and not any(map(str.isupper, word[1:4])):
            last = self.last
            plain = len(last) >= 3 and last.lower() not in MAY_END | BEFORE_NAMES and "." not in last
            return self.casual and plain
        if mark != "." or self.until - self.at > 1:
            return not self._attributed(following)
        return self._full_stop(word)

    @property
    def glued(self) -> bool:
        """Whether a new sentence follows without a space, as in `in 2020.The firm`. The name of a file or a site does not begin a
        sentence."""
        following = _GLUED.match(self.block, self.after)
        last = self.last
        if (
            following is None
            or not _PLAIN.fullmatch(last)
            or last.lower() in MAY_END | BEFORE_NAMES | BEFORE_NUMBERS
        ):
            return False
        return following.group(1) in OPENERS or (last.isalpha() and last.islower() and len(last) > 2)

    def _attributed(self, following: re.Match[str]) -> bool:
        """Whether the speaker of a quotation follows."""
        if self.after == self.until or following.group(1):
            return False
        return any(following.group(n) in ATTRIBUTION for n in (3, 4))

    @cached_property
    def last(self) -> str:
        """The word before the mark, at most its last 24 characters; empty if white space precedes the mark."""
        before = self.block[max(self.begin, self.at - 24) : self.at]
        return before.split()[-1].lstrip(_OPENING) if before and not before[-1].isspace() else ""

    def _full_stop(self, following: str) -> bool:
        """Whether a single full stop ends the sentence, if the next word may begin one."""
        last = self.last
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

    @property
    def is_marker(self) -> bool:
        """Whether the full stop belongs to a list number, as in `1. First` or `the steps: 1. First`."""
        last = self.last
        if self.until - self.at > 1 or len(last) > 5 or not _MARKER_ONLY.fullmatch(last):
            return False
        so_far = self.block[self.begin : self.at] if self.at - self.begin < 16 else None
        if so_far is not None and so_far.lstrip(_BULLETS) == last:
            return True
        return bool(_MARKER_INLINE.search(self.block, max(self.begin, self.at - 12), self.at))
