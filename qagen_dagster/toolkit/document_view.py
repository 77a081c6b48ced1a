"""One document as the tools see it: its lines, its visuals, pictures of its pages, positions in its text, and its back matter.

Back matter (references, acknowledgements, declarations, reviewers' letters) is a poor source of questions. A document that is shown whole
is shown without long back matter. If a prompt shows parts of a document that is too long for it, all back matter is left out first.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.records.document import Document, PageSpan, Section, Visual
from qagen_dagster.toolkit.excerpt import one_line

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
MAX_VOCABULARY = 200_000
_WORD = re.compile(r"\w{3,}")
_DIGITS = re.compile(r"\d+")
_EDGE_LINES = 2  # lines with text at the top, and at the bottom, of a page that may be its head or foot
# minimum occurrences of a line at page edges that make it a running head; two may be a coincidence
_REPEATED_ON = 3


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


@dataclass(frozen=True)
class DocumentView:
    """A document opened for an agent. Safe to share between threads.

    `lines` are exactly the lines of the stored text; line 1 is `lines[0]`. `render` returns a picture of a 1-based page, or None if the
    format has no pages. It raises DocumentError if it cannot show the page. `max_image_pixels` is the model's limit for one picture.
    """

    document: Document
    lines: tuple[str, ...]
    visuals: tuple[Visual, ...] = ()
    render: Callable[[int, RenderOptions], PageImage | None] = lambda _page, _how: None
    max_image_pixels: int = 1_150_000

    @property
    def has_text(self) -> bool:
        """Whether any line has more than white space."""
        return any(line.strip() for line in self.lines)

    @cached_property
    def data(self) -> bytes:
        """The text as UTF-8, with lines joined by newlines. Searches use it."""
        return "\n".join(self.lines).encode("utf-8", "replace")

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Byte offset in `data` at which each line starts."""
        sizes = (len(line.encode("utf-8", "replace")) + 1 for line in self.lines)
        return tuple(accumulate(sizes, initial=0))[:-1]

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Case-folded words of three or more letters or digits, each with the line of its first occurrence; about MAX_VOCABULARY at most."""
        words: dict[str, int] = {}
        for number, line in enumerate(self.lines, 1):
            for word in _WORD.findall(line.casefold()):
                words.setdefault(word, number)
            if len(words) >= MAX_VOCABULARY:
                break
        return words

    @cached_property
    def reference_lines(self) -> tuple[tuple[int, int], ...]:
        """First and last line of each section that is a reference list."""
        ranges = _section_ranges(self.document.sections, len(self.lines))
        return tuple((section.start_line, end) for section, end in ranges if is_reference_list(section.title))

    @cached_property
    def back_matter(self) -> tuple[BackMatter, ...]:
        """The back matter, in order: sections by their titles, and reference lists that the parser did not recognise."""
        found = list(_titled_back_matter(self.document))
        taken = {number for part in found for number in range(part.start, part.end + 1)}
        titles = {section.start_line for section in self.document.sections}
        found += (part for part in _untitled_reference_lists(self.lines, titles) if part.start not in taken)
        return tuple(sorted(found, key=lambda part: part.start))

    @cached_property
    def long_back_matter(self) -> tuple[BackMatter, ...]:
        """The back matter that is left out of a document that is shown whole; empty if too little text would be left."""
        sizes = {part: sum(map(len, self.lines[part.start - 1 : part.end])) for part in self.back_matter}
        long = tuple(part for part, size in sizes.items() if size >= _LONG)
        left_out = sum(sizes[part] for part in long)
        return long if left_out <= _MOST_LEFT_OUT * sum(map(len, self.lines)) else ()

    @cached_property
    def running_heads(self) -> frozenset[int]:
        """Numbers of the lines that recur at page edges, with the same or other digits. The first occurrence of a line is not included."""
        found: dict[str, list[int]] = {}
        for page in self.document.pages:
            filled = [n for n in range(page.start_line, page.end_line + 1) if self.lines[n - 1].strip()]
            for number in {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]}:
                words = " ".join(_DIGITS.sub(" ", self.lines[number - 1]).split()).casefold()
                found.setdefault(words, []).append(number)
        return frozenset(
            number
            for words, numbers in found.items()
            if words and len(numbers) >= _REPEATED_ON
            for number in sorted(numbers)[1:]
        )

    def line_at(self, offset: int) -> int:
        """The 1-based line that a byte offset of `data` falls on."""
        return max(1, bisect_right(self.offsets, offset))

    def pages_starting(self, start_line: int, end_line: int) -> dict[int, list[int]]:
        """The pages that begin on a line of the range, by line. Pages without text are included."""
        found: dict[int, list[int]] = {}
        for span in self._spans(start_line, end_line):
            if start_line <= span.start_line:
                found.setdefault(span.start_line, []).append(span.page)
        return found

    def page_range(self, start_line: int, end_line: int) -> str:
        """`page 3` or `pages 3-4` for a range of lines; empty if there are no pages."""
        pages = [span.page for span in self._spans(start_line, end_line)]
        if not pages:
            return ""
        first, last = min(pages), max(pages)
        return f"page {first}" if first == last else f"pages {first}-{last}"

    def place(self, start_line: int, end_line: int) -> str:
        """Pages of a range and the section in which it begins, in brackets: ` (page 3, in "Results")`; empty if unknown."""
        section = self.section_at(start_line)
        titled = f'in "{one_line(section.title, 60)}"' if section else ""
        place = ", ".join(filter(None, (self.page_range(start_line, end_line), titled)))
        return f" ({place})" if place else ""

    def section_at(self, line: int) -> Section | None:
        """The section of the nearest heading at or before a line, among sections that have not ended before that line; else None."""
        count = bisect_right(self.document.sections, line, key=lambda section: section.start_line)
        above = reversed(self.document.sections[:count])
        return next((each for each in above if each.end_line is None or line <= each.end_line), None)

    def _spans(self, start_line: int, end_line: int) -> list[PageSpan]:
        """Pages that touch the range. A page without text touches the range at the line where it would be."""
        return [
            span
            for span in self.document.pages
            if span.start_line <= end_line and max(span.end_line, span.start_line) >= start_line
        ]
