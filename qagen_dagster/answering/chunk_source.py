"""Finds the chunks of a document that fit a question, in the corpus' index or in a text that is embedded on demand."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from qagen_dagster.english.sentences import Sentence, split
from qagen_dagster.index.search import Searcher, search_of_text
from qagen_dagster.models.embedders import Embedder
from qagen_dagster.records.corpus_config import IndexOptions
from qagen_dagster.records.document import ChunkHit
from qagen_dagster.records.ids import content_hash

KEPT_TEXTS = 16
WIDER = 4  # how many times more chunks are ranked than used, since ranking and threshold use different scores
_ANY = -1.0


@dataclass(frozen=True)
class Indexed:
    """An index of a corpus, with the hash of each document's text in it."""

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
            while len(self._loose) > KEPT_TEXTS:
                self._loose.popitem(last=False)  # do not close it: another thread may be searching it
        return made

    def sentences(self, text: str, query: str) -> list[tuple[float, int, Sentence]]:
        """The sentences of a short text, the closest to the query first: each with its cosine and its number from 1. Raises ModelError."""
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
    """The best `limit` chunks among those with a cosine of at least `threshold`, and whether there are any. If
    no chunk reaches the threshold, the best of all chunks. Raises ModelError."""
    hits = searcher.search(document_id, question, limit * WIDER, _ANY)
    close = [hit for hit in hits if hit.meaning >= threshold]
    return (close or hits)[:limit], bool(close)


def _key(text: str) -> str:
    return content_hash(text.encode("utf-8", "surrogatepass"))
