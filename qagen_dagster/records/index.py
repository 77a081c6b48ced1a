"""The search index of a corpus as records: chunks of documents, what was found, what the index was built from.

Positions alone: the text itself is the document's text.txt. How chunks are cut and searched is `index/`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import store_key


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
