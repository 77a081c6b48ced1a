"""The known data of a document (its outcome, positions, visuals and metadata), and the search index of a corpus.

The text is in a file beside the record. Positions in a document are 1-based line numbers of that text. Chunks have positions in
characters, too. `index/` cuts and searches chunks.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import store_key


class Outcome(StrEnum):
    """The outcomes of parsing a document. Only documents with `PARSED` or `NO_TEXT` can give questions."""

    PARSED = "parsed"
    NO_TEXT = "no_text"  # pages without a text layer, and no OCR; visual mode still works
    EMPTY = "empty"
    BINARY = "binary"
    GARBLED = "garbled"  # the text layer differs from what the pages show
    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    UNSUPPORTED = "unsupported"
    NOT_WHAT_IT_SAYS = "not_what_it_says"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"  # the parser's process died


class VisualType(StrEnum):
    TABLE = "table"
    FIGURE = "figure"
    IMAGE = "image"
    DIAGRAM = "diagram"
    FORMULA = "formula"
    PAGE = "page"


class Box(Record):
    """A rectangle in points on a page as it is displayed, after rotation. The origin is the top left corner; x0<=x1 and y0<=y1."""

    x0: float
    y0: float
    x1: float
    y1: float


class Visual(Record):
    """A part of a document that can be looked at, such as a table. Models see and use `label`, which is unique in the document."""

    label: str  # "Table 2", "Figure 1", or a generated label such as "image p3-1"
    type: VisualType
    page: int | None = None  # 1-based
    box: Box | None = None
    caption: str = ""
    reference: str | None = None  # href or file name, where the format has one
    start_line: int | None = None  # lines of the caption or the content in the text, 1-based inclusive
    end_line: int | None = None


class LineRange(Record):
    """Lines, 1-based and inclusive."""

    start_line: int
    end_line: int


def merged_lines(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of lines (first, last) in order. Ranges that overlap or touch are merged."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


class PageSpan(Record):
    """The lines of one page, 1-based and inclusive. For a page without text, `end_line` is `start_line` - 1."""

    page: int
    start_line: int
    end_line: int


class Section(Record):
    """A section that begins with a heading. `start_line` is the line of the heading, and level 1 is the top level."""

    title: str
    level: int
    start_line: int
    # for a box inside other text, its last line; None: the section ends at the next heading
    end_line: int | None = None


class Metadata(Record):
    """The metadata that a document states about itself. None means that the document does not state the value."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    # in ISO 8601 if it can be read, with the stated precision; otherwise as it is written
    date: str | None = None
    doi: str | None = None
    abstract: str | None = None
    language: str | None = None  # BCP 47
    url: str | None = None  # the stated address of the document or of its page


class Rights(Record):
    """The terms of use that a document states, or that its corpus states for the document. None means that neither states the value."""

    licence: str | None = None  # an SPDX identifier if it is known, else an address or the text
    attribution: str | None = None  # the name to credit


class Document(Record):
    """A document, parsed or not."""

    id: str
    source: str  # path under the corpus' documents/, with forward slashes
    row: str | None = None  # row id inside a JSONL file
    format: str
    outcome: Outcome
    detail: str = ""
    source_sha256: str
    text_sha256: str = ""
    parser: str = ""  # name and version of the parser
    bytes: int = 0
    line_count: int = 0
    char_count: int = 0
    page_count: int | None = None  # None where the format has no pages
    ocr: bool = False
    pages: tuple[PageSpan, ...] = ()
    sections: tuple[Section, ...] = ()
    wrapped: tuple[LineRange, ...] = ()  # the lines of each long line of the file that was split
    metadata: Metadata = Field(default_factory=Metadata)

    @property
    def version(self) -> str:
        """A hash that changes when the source or the parser changes."""
        return f"{self.source_sha256[:16]}+{self.parser}"

    def page_of(self, line: int) -> int | None:
        """The 1-based number of the page that has the line; None if no page has it, or the document has no pages."""
        for span in self.pages:
            if span.start_line <= line <= span.end_line:
                return span.page
        return None

    @staticmethod
    def key(corpus: str, document_id: str) -> str:
        return store_key("documents", corpus, document_id, "document.json")

    @staticmethod
    def text_key(corpus: str, document_id: str) -> str:
        return store_key("documents", corpus, document_id, "text.txt")

    @staticmethod
    def file_key(corpus: str, document_id: str, file: str) -> str:
        """The key of another file beside the text of the document."""
        return store_key("documents", corpus, document_id, file)


# no space follows these
TIGHT_STOPS = "[\u3002\uff01\uff1f\uff61][\"'\u201d\u2019)\\]\u300d\u300f\uff09\u3011]{0,3}"
_TIGHT_END = re.compile(f"{TIGHT_STOPS}$")


def joined(lines: Sequence[str], wrapped: Sequence[LineRange], first: int = 1) -> tuple[str, list[int]]:
    """The text of `lines`, in which the pieces of split lines are joined as in the file, and the offset of each line in that text.

    `first` is the number of the first line. `wrapped` says which lines are pieces of one line of the file.
    """
    inner = {number for one in wrapped for number in range(one.start_line, one.end_line)}
    parts: list[str] = []
    starts: list[int] = []
    size = 0
    for number, line in enumerate(lines, first):
        end = "\n" if number not in inner else "" if _TIGHT_END.search(line, max(0, len(line) - 4)) else " "
        parts += (line, end)
        starts.append(size)
        size += len(line) + len(end)
    return "".join(parts[:-1]), starts


class IndexEntry(Record):
    """One document in the index of its corpus."""

    id: str
    source: str
    row: str | None = None
    format: str
    outcome: Outcome
    detail: str = ""
    source_sha256: str  # of the whole file
    text_sha256: str = ""
    parser: str = ""
    options: str = ""  # fingerprint of the options and limits with which the document was parsed
    bytes: int = 0  # of the whole file
    line_count: int = 0
    char_count: int = 0
    page_count: int | None = None

    @property
    def version(self) -> str:
        """The hash that `Document.version` has."""
        return f"{self.source_sha256[:16]}+{self.parser}"


class CorpusIndex(Record):
    """All documents of a corpus, usable or not, in the order of source and row."""

    corpus: str
    documents: tuple[IndexEntry, ...] = ()

    @staticmethod
    def key(corpus: str) -> str:
        return store_key("documents", corpus, "index.json")


class DocumentChanges(Record):
    """The changes that parsing a corpus made to its index."""

    corpus: str
    run_id: str
    at: str  # ISO 8601, UTC
    changed: tuple[IndexEntry, ...]  # new or changed documents
    removed: tuple[IndexEntry, ...]  # removed documents, as the index had them

    @staticmethod
    def key(run_id: str, corpus: str) -> str:
        return store_key("runs", run_id, corpus, "documents.json")


class VisualManifest(Record):
    """The visuals of one version of a document, or in `failure` the reason why the visuals are unknown."""

    document_id: str
    document_version: str
    visuals: tuple[Visual, ...] = ()
    failure: str | None = None

    @staticmethod
    def key(corpus: str, document_id: str) -> str:
        return store_key("documents", corpus, document_id, "visuals.json")


class Ranking(StrEnum):
    """The score by which hits are ordered and cut off. The value is the name of the score's field in `ChunkHit`."""

    BOTH = "score"
    MEANING = "meaning"
    WORDS = "words"


class Chunk(Record):
    """A piece of a document: `text[start:end]`, on the lines from `start_line` to `end_line`."""

    number: int  # 1-based, in the order of the document
    start: int  # characters of text.txt
    end: int
    start_line: int  # 1-based and inclusive, as read_lines counts; blank lines at the end do not count
    end_line: int


class ChunkHit(Record):
    """A chunk that was found, and its scores."""

    document_id: str
    chunk: Chunk
    score: float  # the combined score of both methods, 0 to 1
    meaning: float  # cosine of the embeddings, -1 to 1
    words: float  # BM25 as a share of the largest value that the query allows, 0 to 1
    bm25: float  # BM25 itself


class IndexedDocument(Record):
    """One document of the search index. `failure` says why the document has no chunks; None if it was indexed."""

    id: str
    text_sha256: str
    chunks: int = 0
    failure: str | None = None


class SearchIndex(Record):
    """The documents and the embedder of the search index of a corpus. The record is written after all files that it names."""

    corpus: str
    fingerprint: str  # of the embedder, the chunking and their versions
    embedder: dict[str, Any]  # an EmbedderSpec
    documents: tuple[IndexedDocument, ...] = ()
    shards: tuple[int, ...] = ()  # numbers of the shards that have chunks

    @staticmethod
    def key(corpus: str) -> str:
        return store_key("search", corpus, "index.json")

    @property
    def texts(self) -> dict[str, str]:
        """The hash of the text of each document that is in the index, by document id."""
        return {one.id: one.text_sha256 for one in self.documents if one.failure is None}

    @staticmethod
    def shard_key(corpus: str, fingerprint: str, shard: int) -> str:
        return store_key("search", corpus, fingerprint, f"shard-{shard:02d}.parquet")

    @staticmethod
    def spending_folder(spending_id: str, corpus: str) -> str:
        return store_key("spending", spending_id, "indexes", corpus)
