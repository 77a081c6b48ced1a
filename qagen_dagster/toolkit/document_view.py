"""One document as the tools see it: its lines, its visuals, pictures of its pages, and positions in its text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.records.document import (
    Document,
    PageSpan,
    Section,
    Visual,
)
from qagen_dagster.toolkit.back_matter import BackMatter, back_matter, is_reference_list, long_ones

MAX_VOCABULARY = 200_000
_WORD = re.compile(r"\w{3,}")
_DIGITS = re.compile(r"\d+")
_EDGE, _HEADS = 2, 3  # lines at each edge of a page that may be its head or foot; pages that must have it


@dataclass(frozen=True)
class DocumentView:
    """A document opened for an agent. Safe to share between threads.

    `lines` are exactly the lines of the stored text; line 1 is `lines[0]`. `render` gives a picture of
    a 1-based page, None where the format has none, and raises DocumentError. `max_image_pixels` and
    `max_image_side` are the model's limits for one picture.
    """

    document: Document
    lines: tuple[str, ...]
    visuals: tuple[Visual, ...] = ()
    render: Callable[[int, RenderOptions], PageImage | None] = lambda _page, _how: None
    max_image_pixels: int = 1_150_000
    max_image_side: int = 1_568

    @property
    def has_text(self) -> bool:
        """Whether any line holds anything but white space."""
        return any(line.strip() for line in self.lines)

    @cached_property
    def data(self) -> bytes:
        """The text as UTF-8, lines joined by newlines: what searches run over."""
        return "\n".join(self.lines).encode("utf-8", "replace")

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Byte offset in `data` at which each line starts."""
        starts: list[int] = []
        at = 0
        for line in self.lines:
            starts.append(at)
            at += len(line.encode("utf-8", "replace")) + 1
        return tuple(starts)

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Case-folded words of three letters or more, with the line each first stands on."""
        words: dict[str, int] = {}
        for number, line in enumerate(self.lines, 1):
            for word in _WORD.findall(line.casefold()):
                words.setdefault(word, number)
            if len(words) >= MAX_VOCABULARY:
                break
        return words

    @cached_property
    def reference_lines(self) -> tuple[tuple[int, int], ...]:
        """The lines of reference lists."""
        sections = self.document.sections
        ends = [*(section.start_line - 1 for section in sections[1:]), len(self.lines)]
        return tuple(
            (section.start_line, end)
            for section, end in zip(sections, ends, strict=False)
            if is_reference_list(section.title)
        )

    @cached_property
    def back_matter(self) -> tuple[BackMatter, ...]:
        """References, acknowledgements, letters of reviewers, in order."""
        return back_matter(self.document, self.lines)

    @cached_property
    def long_back_matter(self) -> tuple[BackMatter, ...]:
        """The back matter that is left out where a document is shown whole."""
        return long_ones(self.back_matter, self.lines)

    @cached_property
    def running_heads(self) -> frozenset[int]:
        """Lines at the edge of a page that say the same on several pages, but for numbers; the first of each is not among them."""
        found: dict[str, list[int]] = {}
        for page in self.document.pages:
            told = [n for n in range(page.start_line, page.end_line + 1) if self.lines[n - 1].strip()]
            for number in {*told[:_EDGE], *told[-_EDGE:]}:
                words = " ".join(_DIGITS.sub(" ", self.lines[number - 1]).split()).casefold()
                found.setdefault(words, []).append(number)
        return frozenset(
            number for words, at in found.items() if words and len(at) >= _HEADS for number in sorted(at)[1:]
        )

    def line_at(self, offset: int) -> int:
        """The 1-based line that a byte offset of `data` falls on."""
        return max(1, bisect_right(self.offsets, offset))

    def pages_starting(self, start_line: int, end_line: int) -> dict[int, list[int]]:
        """Pages that begin on a line of the range, by that line; pages without text come along."""
        found: dict[int, list[int]] = {}
        for span in self._spans(start_line, end_line):
            if start_line <= span.start_line:
                found.setdefault(span.start_line, []).append(span.page)
        return found

    def page_range(self, start_line: int, end_line: int) -> str:
        """`page 3` or `pages 3-4` for a range of lines; empty where there are no pages."""
        pages = [span.page for span in self._spans(start_line, end_line)]
        if not pages:
            return ""
        first, last = min(pages), max(pages)
        return f"page {first}" if first == last else f"pages {first}-{last}"

    def section_at(self, line: int) -> Section | None:
        """The nearest heading at or before a line that has not ended before it."""
        at = bisect_right(self.document.sections, line, key=lambda section: section.start_line)
        above = reversed(self.document.sections[:at])
        return next((one for one in above if one.end_line is None or line <= one.end_line), None)

    def _spans(self, start_line: int, end_line: int) -> list[PageSpan]:
        """Pages that touch the range. A page without text touches it at the line it would stand on."""
        return [
            span
            for span in self.document.pages
            if span.start_line <= end_line and max(span.end_line, span.start_line) >= start_line
        ]
