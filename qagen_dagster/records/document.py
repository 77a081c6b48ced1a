"""What is known of a document (its outcome, positions, visuals and metadata), and the search index of a corpus. Not
the text.

The text itself is a file beside the record. Positions in a document are 1-based line numbers of that text; those of
chunks are characters, too. How chunks are cut and searched is `index/`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import store_key


class Outcome(StrEnum):
    """How parsing a document ended. Everything but `PARSED` and `NO_TEXT` yields no questions."""

    PARSED = "parsed"
    NO_TEXT = "no_text"  # pages but no text layer and no OCR: visual mode still works
    EMPTY = "empty"
    BINARY = "binary"
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
    """A rectangle on a page as displayed (rotation applied): points, origin top left, x0<=x1, y0<=y1."""

    x0: float
    y0: float
    x1: float
    y1: float


class Visual(Record):
    """One thing to look at. `label` is unique in its document and names it towards the model."""

    label: str  # "Table 2", "Figure 1", or made up: "image p3-1"
    type: VisualType
    page: int | None = None  # 1-based
    box: Box | None = None
    caption: str = ""
    reference: str | None = None  # href or file name, where the format has one
    start_line: int | None = None  # where caption or content stands in the text, 1-based inclusive
    end_line: int | None = None


class LineRange(Record):
    """Lines, 1-based inclusive."""

    start_line: int
    end_line: int


class PageSpan(Record):
    """Lines of one page, 1-based inclusive; a page without text has end_line = start_line - 1."""

    page: int
    start_line: int
    end_line: int


class Section(Record):
    """A heading: its title, depth (1 is the top) and the line it stands on. A box ends where the text around it goes on."""

    title: str
    level: int
    start_line: int
    end_line: int | None = None  # None: it ends with the next heading


class Metadata(Record):
    """What the document says of itself; `None` means it does not say."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    date: str | None = None  # as precise as stated, ISO 8601 where it can be read so
    doi: str | None = None
    abstract: str | None = None
    language: str | None = None  # BCP 47
    url: str | None = None  # of the document itself or of its page, as stated


class Document(Record):
    """A parsed document, or the named outcome of trying."""

    id: str
    source: str  # path under the corpus' documents/, with forward slashes
    row: str | None = None  # row id inside a JSONL file
    format: str
    outcome: Outcome
    detail: str = ""
    source_sha256: str
    text_sha256: str = ""
    parser: str = ""  # name and version: part of the document's version
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
        """Changes when the source or the parser does."""
        return f"{self.source_sha256[:16]}+{self.parser}"

    def page_of(self, line: int) -> int | None:
        """The 1-based page a line stands on; None where there are no pages."""
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
        """Another file beside its text."""
        return store_key("documents", corpus, document_id, file)


TIGHT_STOPS = (
    "[\u3002\uff01\uff1f\uff61][\"'\u201d\u2019)\\]\u300d\u300f\uff09\u3011]{0,3}"  # no space follows these
)
_TIGHT_END = re.compile(f"{TIGHT_STOPS}$")


def joined(lines: Sequence[str], wrapped: Sequence[LineRange], first: int = 1) -> tuple[str, list[int]]:
    """The text of lines, the first of which has the number `first`, as in the file: lines that were split are whole again.

    Also the offset of each line in that text.
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
    """One document of a corpus as its index lists it."""

    id: str
    source: str
    row: str | None = None
    format: str
    outcome: Outcome
    detail: str = ""
    source_sha256: str  # of the whole file
    text_sha256: str = ""
    parser: str = ""
    options: str = ""  # fingerprint of the reading options and limits it was parsed under
    bytes: int = 0  # of the whole file
    line_count: int = 0
    char_count: int = 0
    page_count: int | None = None

    @property
    def version(self) -> str:
        """As `Document.version`."""
        return f"{self.source_sha256[:16]}+{self.parser}"


class CorpusIndex(Record):
    """Every document of a corpus, usable or not, in order of source and row."""

    corpus: str
    documents: tuple[IndexEntry, ...] = ()

    @staticmethod
    def key(corpus: str) -> str:
        return store_key("documents", corpus, "index.json")


class DocumentChanges(Record):
    """What parsing a corpus changed in its index."""

    corpus: str
    run_id: str
    at: str  # ISO 8601, UTC
    changed: tuple[IndexEntry, ...]  # new, or not as before
    removed: tuple[IndexEntry, ...]  # as they were

    @staticmethod
    def key(run_id: str, corpus: str) -> str:
        return store_key("runs", run_id, corpus, "documents.json")


class VisualManifest(Record):
    """What there is to look at in one version of a document, or why that could not be found out."""

    document_id: str
    document_version: str
    visuals: tuple[Visual, ...] = ()
    failure: str | None = None

    @staticmethod
    def key(corpus: str, document_id: str) -> str:
        return store_key("documents", corpus, document_id, "visuals.json")


class Ranking(StrEnum):
    """By which score hits are ordered and cut; also the name of that score's field."""

    BOTH = "score"
    MEANING = "meaning"
    WORDS = "words"


class Chunk(Record):
    """A piece of a document: `text[start:end]`, on the lines from `start_line` to `end_line`."""

    number: int  # 1-based, in order of place
    start: int  # characters of text.txt
    end: int
    start_line: int  # 1-based inclusive, as read_lines counts; white space at the end is not counted
    end_line: int


class ChunkHit(Record):
    """A chunk that was found, and why."""

    document_id: str
    chunk: Chunk
    score: float  # 0-1, of both methods
    meaning: float  # cosine of the embeddings, -1 to 1
    words: float  # BM25 as a share of what the query could reach, 0-1
    bm25: float  # the same as it comes


class IndexedDocument(Record):
    """One document of the index; `failure` says why it has no chunks."""

    id: str
    text_sha256: str
    chunks: int = 0
    failure: str | None = None


class SearchIndex(Record):
    """What the search index of a corpus was built from. Written last: what it names is there."""

    corpus: str
    fingerprint: str  # of embedder, chunking and their versions: another one is another index
    embedder: dict[str, Any]  # an EmbedderSpec
    documents: tuple[IndexedDocument, ...] = ()
    shards: tuple[int, ...] = ()  # those that hold chunks

    @staticmethod
    def key(corpus: str) -> str:
        return store_key("search", corpus, "index.json")

    @staticmethod
    def shard_key(corpus: str, fingerprint: str, shard: int) -> str:
        return store_key("search", corpus, fingerprint, f"shard-{shard:02d}.parquet")

    @staticmethod
    def spending_folder(spending_id: str, corpus: str) -> str:
        return store_key("spending", spending_id, "indexes", corpus)
