"""Finds the back matter of a document: references, acknowledgements, declarations, reviewers' letters.
It is a poor source of questions. A document that is shown whole is shown without long back matter. If a prompt shows parts of a
document that is too long for it, all back matter is left out first."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qagen_dagster.records.document import Document, Section

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
_BLOCK = 40  # lines of a possible reference list that are checked together
_REFERENCES = frozenset({"references", "bibliography", "works cited", "literature", "literature cited"})
_LONG = 2_000  # minimum characters of back matter that is left out, as shorter passages cost little
_MOST_LEFT_OUT = 0.75  # share of the document's characters that may be left out as back matter
_LISTING = 500  # a reference list has at least one year in this many characters


@dataclass(frozen=True)
class BackMatter:
    """Lines (1-based, inclusive) under one title of the document."""

    title: str
    start: int
    end: int


def is_reference_list(title: str) -> bool:
    """Whether `title` is the title of a reference list."""
    return title.strip(" .:0123456789").casefold() in _REFERENCES


def _section_ranges(sections: Sequence[Section], last_line: int) -> Iterator[tuple[Section, int]]:
    """Each section with its last line: the line before the next heading, or `last_line`."""
    ends = [*(section.start_line - 1 for section in sections[1:]), last_line]
    return zip(sections, ends, strict=False)


def _titled_back_matter(document: Document) -> Iterator[BackMatter]:
    for section, end in _section_ranges(document.sections, document.line_count):
        title = _NUMBER.sub("", section.title).replace("\u2019", "'").casefold()
        if is_reference_list(section.title) or _TITLES.fullmatch(title):
            yield BackMatter(title, section.start_line, end)


def _untitled_reference_lists(lines: Sequence[str], titles: set[int]) -> Iterator[BackMatter]:
    """Reference lists whose title is not a heading: a line such as "References", and the following lines that name years."""
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


def reference_lines(document: Document, last_line: int) -> tuple[tuple[int, int], ...]:
    """First and last line of each section that is a reference list."""
    ranges = _section_ranges(document.sections, last_line)
    return tuple((section.start_line, end) for section, end in ranges if is_reference_list(section.title))


def all_back_matter(document: Document, lines: Sequence[str]) -> tuple[BackMatter, ...]:
    """The back matter, in order: sections by their titles, and reference lists that the parser did not recognise."""
    found = list(_titled_back_matter(document))
    taken = {number for part in found for number in range(part.start, part.end + 1)}
    titles = {section.start_line for section in document.sections}
    found += (part for part in _untitled_reference_lists(lines, titles) if part.start not in taken)
    return tuple(sorted(found, key=lambda part: part.start))


def long_only(back_matter: Sequence[BackMatter], lines: Sequence[str]) -> tuple[BackMatter, ...]:
    """The back matter that is left out of a document that is shown whole; empty if too little text would be left."""
    sizes = {part: sum(map(len, lines[part.start - 1 : part.end])) for part in back_matter}
    long = tuple(part for part, size in sizes.items() if size >= _LONG)
    left_out = sum(sizes[part] for part in long)
    return long if left_out <= _MOST_LEFT_OUT * sum(map(len, lines)) else ()
