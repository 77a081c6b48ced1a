"""Where the pieces of a document that fit a question come from: an index, or a text that is embedded on the spot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from qagen_dagster.index.chunks import chunks_of
from qagen_dagster.models.minilm import Vectors
from qagen_dagster.records.corpus import IndexOptions
from qagen_dagster.records.ids import content_hash

Encode = Callable[[Sequence[str]], Vectors]
KEPT_TEXTS = 16


@dataclass(frozen=True)
class ChunkHit:
    """A chunk and its cosine to the question. `start` and `end` are characters of the text, lines are 1-based."""

    chunk_no: int
    start: int
    end: int
    start_line: int
    end_line: int
    score: float


class ChunkSource(Protocol):
    """Chunks of documents, searched one document at a time."""

    def has(self, document_id: str, text: str) -> bool:
        """Whether there are chunks of exactly this text."""
        ...

    def search(self, document_id: str, question: str, limit: int, threshold: float) -> Sequence[ChunkHit]:
        """At most `limit` chunks with a cosine of `threshold` or more, best first. Raises ModelError or StoreError."""
        ...


class TextChunks:
    """Chunks of texts that no index has: a file on the disk, a full text that was just fetched.

    The last few texts are kept for the next question.
    """

    def __init__(self, encode: Encode, options: IndexOptions | None = None) -> None:
        self._encode, self._options = encode, options or IndexOptions()
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, _Embedded] = OrderedDict()
        self._of: dict[str, str] = {}

    def has(self, document_id: str, text: str) -> bool:
        return self._of.get(document_id) == _key(text)

    def embed(self, document_id: str, text: str) -> None:
        """Cut and embed a text, unless it is known. Raises ModelError."""
        key = _key(text)
        if key not in self._texts:
            made = _embedded(text, self._options, self._encode)
            with self._lock:
                self._texts[key] = made
                while len(self._texts) > KEPT_TEXTS:
                    self._texts.popitem(last=False)
        self._of[document_id] = key

    def search(self, document_id: str, question: str, limit: int, threshold: float) -> list[ChunkHit]:
        """Raises KeyError for a text that was not embedded; else as the protocol."""
        found = self._texts[self._of[document_id]]
        if not found.hits:
            return []
        scores = (found.vectors @ self._encode([question])[0]).tolist()
        hits = [
            ChunkHit(one.chunk_no, one.start, one.end, one.start_line, one.end_line, float(score))
            for one, score in zip(found.hits, scores, strict=True)
            if score >= threshold
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_no))[:limit]


@dataclass(frozen=True)
class _Embedded:
    hits: tuple[ChunkHit, ...]  # scores are not yet known
    vectors: Vectors


def _embedded(text: str, options: IndexOptions, encode: Encode) -> _Embedded:
    chunks = chunks_of(text, options)
    hits = tuple(
        ChunkHit(one.number, one.start, one.end, one.start_line, one.end_line, 0.0) for one in chunks
    )
    return _Embedded(hits, encode([text[one.start : one.end].strip() for one in chunks]))


def _key(text: str) -> str:
    return content_hash(text.encode("utf-8", "surrogatepass"))
