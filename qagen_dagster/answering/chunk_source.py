"""Where the pieces of a document that fit a question come from: the corpus' index, or a text that is embedded on the spot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from qagen_dagster.index.search import Searcher, search_of_text
from qagen_dagster.models.vectors.base import Embedder
from qagen_dagster.records.corpus import IndexOptions
from qagen_dagster.records.ids import content_hash
from qagen_dagster.records.index import ChunkHit

KEPT_TEXTS = 16
WIDER = 4  # times as many chunks are looked at as are used, since ranking and threshold are different scores
_ANY = -1.0


@dataclass(frozen=True)
class Indexed:
    """An index of a corpus, with the hash of the text it knows of each document."""

    searcher: Searcher
    text_sha256: Mapping[str, str] = field(default_factory=dict[str, str])


class ChunkSource:
    """Chunks of documents, searched one document at a time. Safe for many threads.

    What the index does not have (a file on the disk, a full text that was just fetched, a text that changed) is cut and
    embedded when it is first asked about; the last few such texts are kept for the next question.
    """

    def __init__(self, embedder: Embedder, options: IndexOptions, index: Indexed | None = None) -> None:
        self._embedder, self._options, self._index = embedder, options, index
        self._lock = threading.Lock()
        self._loose: OrderedDict[str, Searcher] = OrderedDict()

    def has(self, document_id: str, text: str) -> bool:
        """Whether there are chunks of exactly this text already."""
        key = _key(text)
        return self._in_index(document_id, key) or f"{document_id}#{key}" in self._loose

    def searcher(self, document_id: str, text: str) -> Searcher:
        """A search over exactly this text, embedded now if need be. Raises ModelError."""
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
            while len(self._loose) > KEPT_TEXTS:
                self._loose.popitem(last=False)  # not closed: another thread may be searching it
        return made

    def _in_index(self, document_id: str, key: str) -> bool:
        return self._index is not None and self._index.text_sha256.get(document_id) == key


def best_chunks(
    searcher: Searcher, document_id: str, question: str, limit: int, threshold: float
) -> tuple[list[ChunkHit], bool]:
    """The best `limit` chunks by words and meaning among those with a cosine of `threshold`, and whether there were any.

    When no chunk reaches it, the best ones all the same. Raises ModelError.
    """
    hits = searcher.search(document_id, question, limit * WIDER, _ANY)
    close = [hit for hit in hits if hit.meaning >= threshold]
    return (close or hits)[:limit], bool(close)


def _key(text: str) -> str:
    return content_hash(text.encode("utf-8", "surrogatepass"))
