"""Prepares documents for search, and searches their chunks by embeddings and by words at once.

`ranking.py` computes the scores, and `store.py` keeps the chunks.
"""

import json
from functools import lru_cache

import numpy as np

from qagen_dagster.index.chunks import CHUNKING_VERSION, chunks_of
from qagen_dagster.index.ranking import WORDS_VERSION, words_of
from qagen_dagster.index.store import SHARD_VERSION, ChunkTable, EmbeddedDocument
from qagen_dagster.models import embedders as minilm
from qagen_dagster.models.embedders import Embedder, EmbedderSpec
from qagen_dagster.records.corpus_config import IndexOptions
from qagen_dagster.records.document import Chunk, ChunkHit, Ranking
from qagen_dagster.records.ids import fingerprint


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


REMEMBERED_QUERIES = 256


class Searcher:
    """A search over chunks. Many threads may use it. `table` is None if there are no chunks."""

    def __init__(self, table: ChunkTable | None, embedder: Embedder) -> None:
        self._table = table
        self._vector = lru_cache(REMEMBERED_QUERIES)(embedder.query)

    def search(
        self,
        document_id: str | None,
        query: str,
        limit: int = 5,
        threshold: float = 0.0,
        ranking: Ranking = Ranking.BOTH,
    ) -> list[ChunkHit]:
        """The best chunks for `query`, best first, from one document, or from all documents if `document_id` is None.

        The score of a hit by `ranking` is at least `threshold`. A word weighs more the rarer it is in the searched chunks.
        Raises ModelError if the query cannot be embedded, and StoreError if the index cannot be read.
        """
        if self._table is None or not query.strip() or not self._table.holds(document_id):
            return []
        return self._table.search(
            document_id,
            words_of(query),
            self._vector(query),
            limit=limit,
            threshold=threshold,
            ranking=ranking,
        )

    def chunks(self, document_id: str) -> list[Chunk]:
        """The chunks of a document, in order. Raises StoreError."""
        return [] if self._table is None else self._table.chunks(document_id)

    def close(self) -> None:
        """Free the memory."""
        if self._table is not None:
            self._table.close()


def search_of_text(document_id: str, text: str, embedder: Embedder, options: IndexOptions) -> Searcher:
    """Embed the text of one document and return a search over it, which is kept in memory. Raises ModelError."""
    document = embed_document(document_id, text, "", options, embedder)
    return Searcher(ChunkTable.of_documents([document]) if document.chunks else None, embedder)
