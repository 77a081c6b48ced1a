"""Questions from spelled-out abbreviations: "temperature correction factor (TCF)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.questions.candidate import Candidate
from qagen_dagster.models.embedded.text.blocks import Block, Kind
from qagen_dagster.models.embedded.text.sentences import split

_VENUE = re.compile(
    r"\b(?:Proceedings|Conference on|Workshop on|Transactions|Symposium|Association for|In Advances)\b"
)
_SHORT = re.compile(r"\(([A-Z][A-Za-z]?[A-Z0-9&-]{1,6}s?)\)(?=[\s.,;:'\u2019)\]]|$)")
_COMMON = word_set(
    "USA US UK EU UN FBI CIA PDF HTML XML JSON API CPU GPU RAM DNA RNA USB LED TV ID AI IT HTTP URL CEO NASA GPS"
)
_SMALL = word_set("of the and for in on to a an by with or")


def acronyms(blocks: Sequence[Block]) -> Iterator[Candidate]:
    """One question for each abbreviation whose letters begin the words before it."""
    for block in blocks:
        for sentence in split(block.passage) if block.kind in (Kind.TEXT, Kind.ITEM) else ():
            text = sentence.passage.text
            for match in _SHORT.finditer(text) if not _VENUE.search(text) else ():
                name = match.group(1)
                long_form = expansion(text[: match.start()], name)
                if long_form and name not in _COMMON:
                    asked = f"what does {'the abbreviation ' if name.endswith('s') else ''}{name} stand for?"
                    yield Candidate(asked, long_form, (sentence.passage.quote(),), "acronym", "definition")


def expansion(before: str, short: str) -> str:
    """The words at the end of `before` whose initials spell `short`; empty if there are none."""
    letters = [char.lower() for char in short.rstrip("s") if char.isalpha()]
    words = list(re.finditer(r"[A-Za-z][A-Za-z\u2019']*", before))
    index = len(words) - 1
    for letter in reversed(letters):
        while (
            index >= 0
            and words[index].group().lower() in _SMALL - {letter}
            and words[index].group()[0].lower() != letter
        ):
            index -= 1
        if index < 0 or words[index].group()[0].lower() != letter:
            return ""
        index -= 1
    found = re.sub(r"['\u2019]s?$", "", before[words[index + 1].start() :].strip())
    return found if len(letters) >= 2 and len(found.split()) <= 9 and not re.search(r"[.;:()]", found) else ""
