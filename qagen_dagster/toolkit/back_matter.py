"""Finds the back matter of a document: references, acknowledgements, declarations, reviewers' letters.

It is no good source of questions. Long back matter is not shown with the document, and all of it is left out first
where a document is too long to be shown whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qagen_dagster.records.document import Document

_TITLES = re.compile(
    r"acknowledge?ments?|(?:author|authors'|authors) (?:notes?|contributions?|information|details|statement)|"
    r"credit author(?:ship contribution)? statement|author response|decision letter|peer review(?: file| history| reports?)?|"
    r"(?:declarations? of |statement of )?(?:competing|conflicts? of|conflicting|financial) interests?(?: statement)?|"
    r"(?:funding|financial support)(?: (?:information|sources?|statement))?|additional (?:files|information)|"
    r"(?:data|code|software|data and code)(?: and materials?)? availability(?: statement)?|"
    r"availability of (?:data|code|data and materials)|ethics declarations|publisher's note|rights and permissions|"
    r"(?:supplementary|supplemental|supporting|electronic supplementary) (?:information|materials?|data|files?)|index"
)
_NUMBER = re.compile(r"^[\s.:0-9]+|[\s.:]+$")
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d[a-z]?\b")
_BLOCK = 40  # lines that are checked together
_REFERENCES = frozenset({"references", "bibliography", "works cited", "literature", "literature cited"})
_LONG = 2_000  # characters
_LISTING = 500  # a reference list has at least one year in so many characters


@dataclass(frozen=True)
class BackMatter:
    """Lines (1-based, inclusive) under one title of the document."""

    title: str
    start: int
    end: int


def is_reference_list(title: str) -> bool:
    """Whether a section of this title only lists what was read."""
    return title.strip(" .:0123456789").casefold() in _REFERENCES


def long_ones(found: Sequence[BackMatter], lines: Sequence[str]) -> tuple[BackMatter, ...]:
    """The back matter that is not worth showing; nothing if less than a quarter of the document would be left."""
    sizes = {one: sum(map(len, lines[one.start - 1 : one.end])) for one in found}
    kept = tuple(one for one in found if sizes[one] >= _LONG)
    return kept if 4 * sum(sizes[one] for one in kept) <= 3 * sum(map(len, lines)) else ()


def back_matter(document: Document, lines: Sequence[str]) -> tuple[BackMatter, ...]:
    """The back matter, in order: sections by their titles, and reference lists whose title the parser did not recognise."""
    found = list(_sections(document))
    taken = {number for one in found for number in range(one.start, one.end + 1)}
    titles = {section.start_line for section in document.sections}
    found += (one for one in _unmarked(lines, titles) if one.start not in taken)
    return tuple(sorted(found, key=lambda one: one.start))


def _sections(document: Document) -> Iterator[BackMatter]:
    ends = [*(section.start_line - 1 for section in document.sections[1:]), document.line_count]
    for section, end in zip(document.sections, ends, strict=False):
        title = _NUMBER.sub("", section.title).replace("\u2019", "'").casefold()
        if is_reference_list(section.title) or _TITLES.fullmatch(title):
            yield BackMatter(title, section.start_line, end)


def _unmarked(lines: Sequence[str], titles: set[int]) -> Iterator[BackMatter]:
    """Reference lists outside of sections: a line such as "References", and the lines after it as long as they have years."""
    for number in range(2, len(lines)):
        line = lines[number - 1].strip()
        alone = not lines[number - 2].strip() and not lines[number].strip()
        if not alone or number in titles or not line[:1].isupper() or not is_reference_list(line):
            continue
        if (end := _end_of_listing(lines, number, titles)) > number:
            yield BackMatter(_NUMBER.sub("", line).casefold(), number, end)


def _end_of_listing(lines: Sequence[str], start: int, titles: set[int]) -> int:
    last = min((title - 1 for title in titles if title > start), default=len(lines))
    end = start
    while end < last:
        block = "\n".join(lines[end : min(end + _BLOCK, last)])
        if len(_YEAR.findall(block)) * _LISTING < len(block):
            break
        end = min(end + _BLOCK, last)
    while start < end < last and not lines[end].strip():
        end += 1
    return end
