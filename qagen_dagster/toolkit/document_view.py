"""One document as the tools see it: its lines, its visuals, pictures of its pages, and positions in its text."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.records.document import Document, PageSpan, Section, Visual
from qagen_dagster.toolkit.back_matter import BackMatter, all_back_matter, long_only
from qagen_dagster.toolkit.excerpt import one_line

MAX_VOCABULARY = 200_000
_WORD = re.compile(r"\w{3,}")


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
    def back_matter(self) -> tuple[BackMatter, ...]:
        """All back matter of the document, in order."""
        return all_back_matter(self.document, self.lines)

    @cached_property
    def long_back_matter(self) -> tuple[BackMatter, ...]:
        """The back matter that is left out of a document that is shown whole."""
        return long_only(self.back_matter, self.lines)

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
