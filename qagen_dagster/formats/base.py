"""The protocol that every format implements, the values it exchanges, and the labels of visuals.

Formats know nothing of corpora, stores or models. They raise DocumentError with a named outcome.
"""

import re
from dataclasses import dataclass, field
from typing import Protocol

from qagen_dagster.records import document

# The version of each format, in the order of the registry. It is part of document versions: raise it whenever the same bytes
# give another text.
VERSIONS = {"text": "8", "markdown": "10", "pdf": "22", "jats": "8", "jsonl": "6", "image": "1"}
_CAPTION = re.compile(
    r"\W{0,6}(?P<word>Table|Figure|Fig\.?|Box|Scheme|Chart|Exhibit|Plate|Video|Equation|Diagram)"
    r"[ \u00a0]{1,3}(?P<number>[A-Z]?\d{1,4}(?:[.\u2013-]\d{1,3}){0,3}[A-Za-z]?|[IVXLC]{1,6})(?![\w])",
    re.IGNORECASE,
)
_WORDS = {"fig": "Figure", "fig.": "Figure"}


@dataclass(frozen=True)
class Source:
    """One file's content. `name` is its path under the corpus' documents folder."""

    name: str
    data: bytes


@dataclass(frozen=True)
class ParseOptions:
    """Limits and secrets of parsing. `passwords` maps a file name (or `*`) to its password, `encodings` to its encoding."""

    passwords: dict[str, str] = field(default_factory=dict)
    encodings: dict[str, str] = field(default_factory=dict)
    max_bytes: int = 200_000_000
    max_pages: int = 5_000
    max_chars: int = 50_000_000
    max_rows: int = 100_000  # maximum of a JSONL file
    max_pixels: int = 40_000_000  # of one decoded image
    ocr: bool = True  # use tesseract if it is installed
    ocr_languages: str = "eng"
    # Pages of the stored text: visuals refer to its lines, and OCR does not run again
    known_pages: tuple[document.PageSpan, ...] = ()

    def encoding_of(self, name: str) -> str:
        """The configured encoding of a file; empty if the encoding is to be detected."""
        return self.encodings.get(name) or self.encodings.get("*", "")


@dataclass(frozen=True)
class ParsedText:
    """One document's text and positions. Lines are `text.split("\\n")`; positions are 1-based.

    `text` has no carriage returns, form feeds or NUL, and no newline at its end.
    """

    text: str
    row: str | None = None
    outcome: document.Outcome = document.Outcome.PARSED
    detail: str = ""
    page_count: int | None = None
    pages: tuple[document.PageSpan, ...] = ()
    sections: tuple[document.Section, ...] = ()
    wrapped: tuple[document.LineRange, ...] = ()  # the lines of each long line of the file that was split
    metadata: document.Metadata = field(default_factory=document.Metadata)
    ocr: bool = False


@dataclass(frozen=True)
class RowFailure:
    """A part of a file that gave no document, such as a broken JSONL row. The other parts are still read."""

    row: str
    outcome: document.Outcome
    detail: str
    metadata: document.Metadata = field(default_factory=document.Metadata)


@dataclass(frozen=True)
class ParsedFile:
    """The documents of a file, or the outcome that states why there are none.

    A file that is one document has one entry, whose outcome and detail this record repeats. A file of rows is PARSED as
    a whole; each entry has its own outcome. Without entries, `outcome` is the failure. `format` and `parser` (name
    and version) are empty when no format took the file.
    """

    name: str
    outcome: document.Outcome
    detail: str = ""
    format: str = ""
    parser: str = ""
    bytes: int = 0
    sha256: str = ""
    entries: tuple[ParsedText | RowFailure, ...] = ()


@dataclass(frozen=True)
class RenderOptions:
    """The options for rendering a page as a picture. `crop` and `frame` are in page points as displayed, see `Box`. `frame` is the place
    of a frame that is drawn on the page; it needs a picture of the whole page."""

    max_pixels: int = 1_150_000
    max_side: int = 1_568
    max_bytes: int = 3_500_000
    crop: document.Box | None = None
    frame: document.Box | None = None


@dataclass(frozen=True)
class PageImage:
    """A rendered page or crop."""

    media_type: str  # image/png or image/jpeg
    data: bytes
    width: int
    height: int


class Format(Protocol):
    """One document format. Methods are pure: the same bytes give the same result. By default a format has neither visuals nor pages, and
    states no licence."""

    name: str
    version: str  # one of VERSIONS
    suffixes: tuple[str, ...]  # lower case, with the dot

    def sniff(self, head: bytes) -> bool:
        """Whether the first 4,096 bytes look like this format."""
        ...

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        """Text with positions: one entry, or one per row. Raises DocumentError."""
        ...

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[document.Visual, ...]:
        """The visuals in document order, with unique labels. Raises DocumentError."""
        return ()

    def rights(self, source: Source, options: ParseOptions) -> dict[str | None, document.Rights]:
        """The terms of use that the file states, by row; the key is None for a file that is one document. Raises DocumentError."""
        return {}

    def render(
        self, source: Source, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        """A picture of a 1-based page; None if the format has no pages. Raises DocumentError when the page does not exist or cannot be
        rendered within the limits."""
        return None


def caption_label(caption: str) -> str:
    """The name that a caption gives its visual ("Table 2", "Figure 1"); empty when the caption gives none."""
    found = _CAPTION.match(caption)
    if found is None:
        return ""
    word = found["word"].lower()
    return f"{_WORDS.get(word, word.capitalize())} {found['number']}"


class Labels:
    """Gives each visual of one document a unique label."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, wanted: str) -> str:
        """`wanted`, or `wanted (2)`, `wanted (3)`, ... if an earlier visual has that label."""
        label, number = wanted, 1
        while label.casefold() in self._taken:
            number += 1
            label = f"{wanted} ({number})"
        self._taken.add(label.casefold())
        return label
