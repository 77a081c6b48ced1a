"""The names by which a question refers to the document and its parts, so that it stands on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.conversation import Card, Line
from qagen_dagster.models.embedded.text.frame import quoted

_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,4}\.|[A-Z]\.)\s+(?=\w)")
_SMALL = word_set("a an the of and or in on at to for from by with v. vs.")
_DATED = re.compile(
    r"\b(?:minutes|report|letter|notice|order|newsletter|memorandum|meeting)\b", re.IGNORECASE
)
_DAY = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b"
)
LONG = 1_500  # lines; a document of more has many subjects
LONGEST_TITLE = 120  # characters; a longer title loses its subtitle, or its end


@dataclass(frozen=True)
class Context:
    """The document's names."""

    title: str = ""
    plain: frozenset[str] = frozenset()  # words that occur in lower case
    names: frozenset[str] = frozenset()  # words with a capital inside a sentence, in lower case
    headings: tuple[tuple[int, str], ...] = ()  # lines and titles
    long: bool = False  # a question must then hold a name or a number of its own

    def inner(self, section: tuple[str, ...]) -> str:
        """The innermost heading that differs from the title."""
        names = (_SECTION_NUMBER.sub("", name) for name in reversed(section))
        return next((name for name in names if name.lower() not in self.title.lower()), "")

    def frame(self, section: tuple[str, ...] = (), *, table: str = "") -> str:
        """The phrase in front of a question."""
        inner = cased(self.inner(section))
        part = table or (f"the {quoted(inner)} section" if inner else "")
        return f"According to {part}{' of ' if part else ''}{quoted(self.title)}, "


def cased(title: str) -> str:
    """A title in capitals converted to title case."""
    if not title.isupper():
        return title
    words = [word if any(char.isdigit() for char in word) else word.capitalize() for word in title.split()]
    return " ".join(
        word.lower() if index and word.lower() in _SMALL else word for index, word in enumerate(words)
    )


def _file_title(file: str) -> str:
    """A title from the file's name: "195251-united-states-v-brandon.txt" gives "United States v. Brandon"."""
    parts = file.rsplit("/", 2)[-2:]
    stem = re.sub(r"\.\w{1,5}$", "", parts[-1])
    if stem.lower() in ("index", "readme") and len(parts) > 1:
        stem = parts[0]
    words = re.sub(r"[-_\s]+", " ", re.sub(r"^\d{3,}[-_]", "", stem)).strip()
    return re.sub(r" V\.? ", " v. ", cased(words.upper())) if words else file


def _head_title(title: str, head: Sequence[Line]) -> str:
    """A title in capitals with the further lines in capitals below it: a letterhead is only half of a title."""
    if not title.isupper():
        return title
    lines = [line.text.strip() for line in head if line.text.strip()][:4]
    if not lines or lines[0] != title:
        return title
    below = [line for line in lines[1:] if len(line.split()) > 1]
    more = next((at for at, line in enumerate(below) if not line.isupper()), len(below))
    return ": ".join([title, *below[:more]])


def read_context(about: Card, head: Sequence[Line]) -> Context:
    """The names of a document by its card and its first lines; the name of its file where it has no title."""
    title = cased(_head_title(about.title, head)) or _file_title(about.file)
    title = re.sub(r"\s+", " ", title).strip(" .#")
    if len(title) > LONGEST_TITLE:
        short = title.split(": ")[0]
        title = short if 15 < len(short) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE].rsplit(' ', 1)[0]} …"
    if _DATED.search(title) and not any(char.isdigit() for char in title):
        day = next((found.group() for line in head[:8] if (found := _DAY.search(line.text))), "")
        title = f"{title} of {day}" if day else title  # minutes and letters share one title in a series
    return Context(title, headings=tuple(about.headings.items()), long=about.lines > LONG)


def plain_words(lines: Sequence[Line]) -> frozenset[str]:
    """Words written in lower case somewhere, which therefore are not names."""
    return frozenset(word for line in lines for word in re.findall(r"\b[a-z][a-z-]+\b", line.text))


def name_words(lines: Sequence[Line]) -> frozenset[str]:
    """Words with a capital inside a sentence, in lower case."""
    return frozenset(
        word.lower() for line in lines for word in re.findall(r"[a-z,]\s+([A-Z][a-z]+)\b", line.text)
    )
