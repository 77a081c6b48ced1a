"""Prepares a document for search: cuts it into chunks, counts their words and embeds them."""

from __future__ import annotations

import json

import numpy as np

from qagen_dagster.index.chunks import CHUNKING_VERSION, chunks_of
from qagen_dagster.index.store import SHARD_VERSION, EmbeddedDocument
from qagen_dagster.index.words import WORDS_VERSION, words_of
from qagen_dagster.models.vectors import MODEL_SHA256, TOKENIZER_SHA256, Embedder, EmbedderSpec
from qagen_dagster.records.corpus import IndexOptions
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
        versions += [MODEL_SHA256, TOKENIZER_SHA256]
    return fingerprint(
        [
            *versions,
            json.dumps(spec.identity(), sort_keys=True),
            json.dumps(options.model_dump(), sort_keys=True),
        ]
    )
