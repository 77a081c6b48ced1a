"""Finds the two names that a text gives to one thing: an abbreviation beside its long form, or another name."""

import re
from collections.abc import Iterator

from qagen_dagster.english.words import word_set

SHORT = re.compile(r"\(([A-Z][A-Za-z]?[A-Z0-9&-]{1,6}s?)\)(?=[\s.,;:'\u2019)\]]|$)")
_LONG = re.compile(r"\b([A-Z][A-Za-z]?[A-Z0-9&-]{1,6}) \(([A-Za-z][\w' -]{3,80})\)")
_NAME = r"[A-Z][\w'\u2019-]*(?: (?:of |the |and |de |von )?[A-Z][\w'\u2019-]*){0,4}"
_OTHER = re.compile(
    rf"\b({_NAME}),? \(?(?:also|formerly|commonly|previously|sometimes|better) (?:known as|called|named) (?:the )?({_NAME})"
)
_SMALL = word_set("of the and for in on to a an by with or")


def aliases(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of names of one thing: "World Health Organization (WHO)", "WHO (World Health Organization)", "Ceylon, formerly known as X"."""
    for found in SHORT.finditer(text):
        long_form = expansion(text[: found.start()], found[1])
        if long_form:
            yield re.sub(r"^(?:the|an?) ", "", long_form, flags=re.IGNORECASE), found[1]
    for found in _LONG.finditer(text):
        if expansion(found[2], found[1]) == found[2]:
            yield found[2], found[1]
    for found in _OTHER.finditer(text):
        yield found[1], found[2]


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
