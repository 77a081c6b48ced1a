"""The plain-text format: the file's own lines with long lines split, pages at form feeds, headings, and metadata from a header.

Titles and sections are recognised only where the text leaves little doubt: underlined lines, chapters, numbered titles, lines in
capitals, the parties of a case.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats import decoding
from qagen_dagster.formats.base import VERSIONS, Format, ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.wrap import with_split_lines
from qagen_dagster.records.document import Metadata, Section

MAX_TITLE = 100
_UNDERLINE = re.compile(r"\s{0,3}(={4,}|-{4,})\s*")
_CHAPTER = re.compile(r"(?:CHAPTER|Chapter|BOOK|Book|PART|Part)[ \t]+(?:\d{1,3}|[IVXLC]{1,7})\b.{0,80}")
_ROMAN = re.compile(r"([IVX]{1,5})(?:\.(?: (\S.{0,80}))?)?")
_LETTER = re.compile(r"([A-Z])\. (\S.{0,80})")
_NUMBER = re.compile(r"(\d{1,2})((?:\.\d{1,2}){0,3})\.? ([^\W\d_].{0,80})")
# Words that titles do not capitalise.
_SMALL_WORDS = (
    "a an and as at but by de du for from if in into is its la le nor not of off on or over per the to "
    "under upon v v. vs. via with without"
)
_SMALL = frozenset(_SMALL_WORDS.split())
_ROMAN_NUMBERS = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV"
_ROMANS = {name: number for number, name in enumerate(_ROMAN_NUMBERS.split(), 1)}
_TEXT_CHARS = 40  # minimum length of a line of running text
_CENTRED = 15  # minimum indentation of a centred line
_CASE_LINES = 60  # lines from the start of a file in which the parties of a case are searched
_OVERPRINTED = re.compile("\x1b\\[[0-9;?]*[A-Za-z]|_\x08|\x08_|(.)\x08(?=\\1)")  # type of terminals
_HEADER_LINES = 40  # lines from the start of a file that may be a header
_FIELD = re.compile(
    r"(Title|Author|Authors|Language|Date|Release Date|DOI):[ \t]+(\S.{0,300})", re.IGNORECASE
)
_LANGUAGES = {"english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it"}


def is_underlined(title: str, line: str) -> bool:
    """Whether `line` is a rule of about the title's length."""
    return bool(_UNDERLINE.fullmatch(line)) and abs(len(line.strip()) - len(title.strip())) <= 4


def sections_of(lines: Sequence[str]) -> tuple[Section, ...]:
    """The headings in document order."""
    counting = _Counting()
    found: list[Section] = []
    for at, line in enumerate(lines):
        title = decoding.collapse(line)
        if not title or len(title) > MAX_TITLE or not title[0].isalnum() or (at and lines[at - 1].strip()):
            continue
        after = lines[at + 1] if at + 1 < len(lines) else ""
        repeated = bool(found) and found[-1].title.endswith(f" {title}")
        if is_underlined(line, after):
            found.append(Section(title=title, level=1 if "=" in after else 2, start_line=at + 1))
        elif after.strip():
            continue
        elif _CHAPTER.fullmatch(title):
            found.append(Section(title=title, level=1, start_line=at + 1))
        elif level := counting.level_of(title, len(line) - len(line.lstrip())):
            found.append(Section(title=_with_next(title, lines, at), level=level, start_line=at + 1))
        elif _is_capitals(title) and _stands_over_text(lines, at) and not repeated:
            found.append(Section(title=title, level=1, start_line=at + 1))
    return tuple(found)


@dataclass
class _Counting:
    """The last heading numbers. A new heading must continue them. Letters and numbers start again after a heading of a higher level."""

    roman: int = 0
    letter: int = 0
    number: int = 0

    def level_of(self, title: str, indent: int) -> int:
        """The heading's level; 0 if the line is no heading."""
        roman = _ROMAN.fullmatch(title)
        value = _ROMANS.get(roman[1], 0) if roman else 0
        shown = roman is not None and (_is_title(roman[2]) if roman[2] else indent >= _CENTRED)
        missed = 1 if roman and roman[2] else 0  # the heading before may have been missed
        if shown and self.roman < value <= self.roman + 1 + missed:
            self.roman, self.letter, self.number = value, 0, 0
            return 1
        letter = _LETTER.fullmatch(title)
        if letter and _is_title(letter[2]) and ord(letter[1]) - ord("A") == self.letter:
            self.letter, self.number = self.letter + 1, 0
            return 2 if self.roman else 1
        return self._numbered(title)

    def _numbered(self, title: str) -> int:
        match = _NUMBER.fullmatch(title)
        if match is None or not _is_title(match[3]):
            return 0
        if match[2]:
            return match[2].count(".") + 1 if int(match[1]) in (self.number, self.number + 1) else 0
        if int(match[1]) != self.number + 1:
            return 0
        self.number += 1
        return 1 + bool(self.roman) + bool(self.letter)


def _is_title(text: str) -> bool:
    """Whether all words except small ones are capitalised and the text is not part of a sentence."""
    words = text.split()
    large = [word.strip("\"'()\u201c\u201d\u2018\u2019") for word in words if word.casefold() not in _SMALL]
    return (
        bool(large)
        and text[-1] not in ",;:-"
        and all(word[:1].isupper() or word[:1].isdigit() for word in large)
        and any(len(word) > 3 for word in large)
    )


def _is_capitals(title: str) -> bool:
    words = title.split()
    return (
        title.isupper()
        and title[-1] not in ".,;:-_"
        and any(len(word) > 3 and word.isalpha() for word in words)
        and sum(map(str.isalpha, title)) >= 0.7 * len(title)
        and not any(map(str.isdigit, title))
    )


def _stands_over_text(lines: Sequence[str], at: int) -> bool:
    """Whether running text follows, and the text before the line ends like a sentence, a number or a numeral."""
    below = [line for line in lines[at + 1 : at + 8] if line.strip()][:2]
    above = next((line.strip() for line in reversed(lines[max(0, at - 6) : at]) if line.strip()), "")
    ended = bool(above) and (
        above[-1] in ".!?)\"'\u201d" or above[-1].isdigit() or bool(_ROMAN.fullmatch(above))
    )
    return ended and len(below) == 2 and all(map(_is_running, below))


def _is_running(line: str) -> bool:
    text = decoding.collapse(line)
    return len(text) >= _TEXT_CHARS and sum(map(str.islower, text)) > 0.6 * len(text)


def _with_next(title: str, lines: Sequence[str], at: int) -> str:
    """The heading without a footnote mark. A bare Roman numeral is joined with the line in capitals below it."""
    title = re.sub(r"(?<=[a-z])\d{1,2}$", "", title)
    if not _ROMAN.fullmatch(title) or " " in title:
        return title
    below = next((decoding.collapse(line) for line in lines[at + 1 : at + 4] if line.strip()), "")
    return f"{title} {below}" if len(below) <= MAX_TITLE and _is_capitals(below) else title


def case_name(lines: Sequence[str]) -> str | None:
    """The name of a case, "A v. B", if the names of the parties are in capitals around a line "v."; else None."""
    shown = [decoding.collapse(line) for line in lines[:_CASE_LINES]]
    versus = next((number for number, line in enumerate(shown) if line in ("v.", "vs.")), None)
    if versus is None:
        return None
    first = _party(shown, range(versus - 1, -1, -1))
    second = _party(shown, range(versus + 1, min(versus + 8, len(shown))))
    name = f"{_as_name(first)} v. {_as_name(second)}"
    return name if first and second and len(name) <= 2 * MAX_TITLE else None


def _party(shown: Sequence[str], numbers: Iterable[int]) -> str:
    """The lines in capitals that end at the first line among `numbers` that may name a party; empty if no line may."""
    names = (n for n in numbers if shown[n].isupper() and shown[n].endswith(",") and len(shown[n]) > 3)
    start = end = next(names, -1)
    while start > 0 and shown[start - 1].isupper():
        start -= 1
    return " ".join(shown[start : end + 1]).rstrip(",") if end >= 0 else ""


def _as_name(party: str) -> str:
    """The first party in name case: "UNITED STATES OF AMERICA; ..." becomes "United States of America"."""
    words = re.split(r";|, ?(?!JR|SR|II)|\bET AL\b", party)[0].split()
    cased = ["-".join(map(str.capitalize, word.split("-"))) for word in words]
    return " ".join(word.lower() if at and word.lower() in _SMALL else word for at, word in enumerate(cased))


def read_text(source: Source, options: ParseOptions) -> decoding.Lines:
    """The lines of a text file. Raises DocumentError `empty` or `binary`."""
    if decoding.looks_binary(source.data):
        raise DocumentError("binary", "too many control characters for a text")
    decoded = decoding.decode(source.data, options.encoding_of(source.name))
    found = decoding.split_lines(_OVERPRINTED.sub("", decoded.text))
    if not found.lines:
        raise DocumentError("empty", "the file holds nothing but white space")
    return decoding.Lines(found.lines, found.pages, decoding.join_notes(decoded.note, found.note))


def looks_like_text(head: bytes) -> bool:
    """Whether the first bytes are text and not the signature of another kind of file."""
    return not decoding.looks_binary(head) and decoding.content_kind(head) in ("", "an HTML page", "XML")


class TextFormat(Format):
    """`.txt`, `.text` and `.log` files."""

    name = "text"
    version = VERSIONS["text"]
    suffixes: tuple[str, ...] = (".txt", ".text", ".log")

    def sniff(self, head: bytes) -> bool:
        """Whether the file is text in any encoding; markup counts as text."""
        return looks_like_text(head)

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """One document. Raises DocumentError `empty` or `binary`."""
        found = read_text(source, options)
        entry = ParsedText(
            text=found.text,
            detail=found.note,
            page_count=found.page_count,
            pages=found.pages,
            sections=sections_of(found.lines),
            metadata=_metadata(found.lines),
        )
        return [with_split_lines(entry)]


def _metadata(lines: Sequence[str]) -> Metadata:
    fields: dict[str, str] = {}
    for line in lines[:_HEADER_LINES]:
        found = _FIELD.fullmatch(line.strip())
        if found:
            fields.setdefault(found[1].lower(), found[2].strip())
    # A single such line may be anything, and two such lines make a header.
    if len(fields) < 2:
        return Metadata(title=_first_line_title(lines) or case_name(lines))
    author = fields.get("author") or fields.get("authors")
    return Metadata(
        title=fields.get("title") or _first_line_title(lines),
        authors=(author,) if author else (),
        date=fields.get("date") or fields.get("release date"),
        doi=fields.get("doi"),
        language=_LANGUAGES.get(fields.get("language", "").lower()),
    )


def _first_line_title(lines: Sequence[str]) -> str | None:
    at = next((index for index, line in enumerate(lines) if line.strip()), None)
    if at is None or at > 5:
        return None
    line = re.sub(r"^#+ +", "", lines[at])
    alone = len(lines) > at + 2 and (not lines[at + 1].strip() or is_underlined(line, lines[at + 1]))
    letters = sum(char.isalpha() for char in line)
    if (
        not alone
        or not line[:1].isalnum()
        or line.casefold().startswith("copyright")
        or len(line) > MAX_TITLE
        or letters < 0.6 * len(line.rstrip())
        or line.rstrip()[-1] in ".,;:!?-_*"
    ):
        return None
    return decoding.collapse(line)
