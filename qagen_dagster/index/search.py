"""Prepares documents for search, and searches their chunks by embeddings and words together.

A document is searched in the corpus' index, or else in its text, which is embedded on demand. `ranking.py` computes the scores, and
`chunk_store.py` keeps the chunks.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from qagen_dagster.english.sentences import Sentence, split
from qagen_dagster.index.chunk_store import SHARD_VERSION, ChunkTable, EmbeddedDocument
from qagen_dagster.index.chunks import CHUNKING_VERSION, chunks_of
from qagen_dagster.index.ranking import WORDS_VERSION, words_of
from qagen_dagster.models import embedders as minilm
from qagen_dagster.models.embedders import Embedder, EmbedderSpec
from qagen_dagster.records.document import Chunk, ChunkHit, Ranking
from qagen_dagster.records.ids import content_hash, fingerprint
from qagen_dagster.records.index_options import IndexOptions

_KEPT_TEXTS = 16  # maximum number of texts outside the index whose chunks stay in memory
_WIDER = 4  # ranked chunks for each returned chunk, because ranking and threshold use different scores
_ANY = -1.0  # a threshold that every chunk reaches


def embed_document(
    document_id: str, text: str, text_sha256: str, options: IndexOptions, embedder: Embedder
) -> EmbeddedDocument:
    """Cut `text` and embed its chunks. Raises ModelError."""
    chunks = chunks_of(text, options)
    pieces = [text[chunk.start : chunk.end].strip() for chunk in chunks]
    vectors = embedder.passages(pieces) if pieces else np.zeros((0, 0), dtype=np.float32)
    return EmbeddedDocument(document_id, text_sha256, chunks, tuple(map(words_of, pieces)), vectors)


def index_fingerprint(spec: EmbedderSpec, options: IndexOptions) -> str:
    """A fingerprint of everything that embeddings, chunks and words depend on. When it changes, the index is rebuilt."""
    versions = [CHUNKING_VERSION, WORDS_VERSION, SHARD_VERSION]
    if spec.local:
        versions += [minilm.MODEL_SHA256, minilm.TOKENIZER_SHA256]
    return fingerprint(
        [
            *versions,
            json.dumps(spec.identity(), sort_keys=True),
            json.dumps(options.model_dump(), sort_keys=True),
        ]
    )


_REMEMBERED_QUERIES = 256


class Searcher:
    """A search over chunks. Many threads may use it. `table` is None if there are no chunks."""

    def __init__(self, table: ChunkTable | None, embedder: Embedder) -> None:
        self._table = table
        self._vector = lru_cache(_REMEMBERED_QUERIES)(embedder.query)

    def search(
        self,
        document_id: str | None,
        query: str,
        limit: int = 5,
        threshold: float = 0.0,
        ranking: Ranking = Ranking.BOTH,
    ) -> list[ChunkHit]:
        """The best chunks for `query`, best first, from one document, or from all documents if `document_id` is None.

        The score of a hit by `ranking` is at least `threshold`. Words that are rare in the searched chunks weigh more.
        Raises ModelError if the query cannot be embedded, and StoreError if the index cannot be read.
        """
        if self._table is None or not query.strip() or not self._table.holds(document_id):
            return []
        words, vector = words_of(query), self._vector(query)
        return self._table.search(
            document_id, words, vector, limit=limit, threshold=threshold, ranking=ranking
        )

    def chunks(self, document_id: str) -> list[Chunk]:
        """The chunks of a document, in order. Raises StoreError."""
        return [] if self._table is None else self._table.chunks(document_id)

    def close(self) -> None:
        """Free the memory."""
        if self._table is not None:
            self._table.close()


def search_of_text(document_id: str, text: str, embedder: Embedder, options: IndexOptions) -> Searcher:
    """Embed the text of one document in memory, and return a search over its chunks. Raises ModelError."""
    document = embed_document(document_id, text, "", options, embedder)
    return Searcher(ChunkTable.of_documents([document]) if document.chunks else None, embedder)


@dataclass(frozen=True)
class Indexed:
    """An index of a corpus, and by document id the hash of each text that the index has."""

    searcher: Searcher
    text_sha256: Mapping[str, str] = field(default_factory=dict[str, str])


class ChunkSource:
    """Chunks of documents, searched one document at a time. Safe for many threads. A text that the index does
    not have (a file on disk, a full text that was just fetched, a changed text) is embedded at the first
    question about it. The last few such texts are kept in memory."""

    def __init__(self, embedder: Embedder, options: IndexOptions, index: Indexed | None = None) -> None:
        self._embedder, self._options, self._index = embedder, options, index
        self._lock = threading.Lock()
        self._loose: OrderedDict[str, Searcher] = OrderedDict()

    def has(self, document_id: str, text: str) -> bool:
        """Whether exactly this text is already embedded."""
        key = _key(text)
        return self._in_index(document_id, key) or f"{document_id}#{key}" in self._loose

    def searcher(self, document_id: str, text: str) -> Searcher:
        """A search over exactly this text, which is embedded now if necessary. Raises ModelError."""
        key = _key(text)
        if self._index is not None and self._in_index(document_id, key):
            return self._index.searcher
        name = f"{document_id}#{key}"
        with self._lock:
            if name in self._loose:
                self._loose.move_to_end(name)
                return self._loose[name]
        made = search_of_text(document_id, text, self._embedder, self._options)
        with self._lock:
            self._loose[name] = made
            while len(self._loose) > _KEPT_TEXTS:
                self._loose.popitem(last=False)  # do not close it: another thread may be searching it
        return made

    def sentences(self, text: str, query: str) -> list[tuple[float, int, Sentence]]:
        """The sentences of a short text, the closest to the query first. Each has its cosine and its number from 1. Raises ModelError."""
        found = split(text)
        if not found or not query.strip():
            return []
        cosines = self._embedder.passages([one.text for one in found]) @ self._embedder.query(query)
        rows = zip(map(float, cosines), range(1, len(found) + 1), found, strict=True)
        return sorted(rows, key=lambda row: (-row[0], row[1]))

    def _in_index(self, document_id: str, key: str) -> bool:
        return self._index is not None and self._index.text_sha256.get(document_id) == key


def best_chunks(
    searcher: Searcher, document_id: str, question: str, limit: int, threshold: float
) -> tuple[list[ChunkHit], bool]:
    """Returns (chunks, close). `close` says whether some of the best chunks have a cosine of at least `threshold`. If so, only these are
    returned, at most `limit`. Otherwise the best `limit` chunks are returned. Raises ModelError and StoreError."""
    hits = searcher.search(document_id, question, limit * _WIDER, _ANY)
    close = [hit for hit in hits if hit.meaning >= threshold]
    return (close or hits)[:limit], bool(close)


def _key(text: str) -> str:
    return content_hash(text.encode("utf-8", "surrogatepass"))
