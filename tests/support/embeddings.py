"""A server of embeddings, and embedders for tests: the vector of a text is made of its words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from qagen_dagster.errors import PermanentModelError
from qagen_dagster.models.embedders import EmbedderSpec, EmbeddingUse, Vectors
from tests.support.wire_server import Fault, Seen

SIZE = 8


def vector(text: str) -> Vectors:
    """Of unit length; texts that share words are alike."""
    total = np.full(SIZE, 1e-3, dtype=np.float64)
    for word in text.lower().replace(".", " ").replace("?", " ").split():
        total += np.random.default_rng(zlib.crc32(word.encode())).normal(size=SIZE)
    return (total / np.linalg.norm(total)).astype(np.float32)


def embeddings(seen: Seen, _number: int) -> Fault:
    """The answer to a request for embeddings, its items in another order: ten tokens a text."""
    texts = seen.body["input"]
    data = [{"index": n, "embedding": (3.0 * vector(text)).tolist()} for n, text in enumerate(texts)]
    return Fault(200, {"data": data[::-1], "usage": {"prompt_tokens": 10 * len(texts)}})


class WordEmbedder:
    """An `Embedder` without a model. Texts that hold `poison` cannot be embedded."""

    def __init__(self, poison: str | None = None, spec: EmbedderSpec | None = None) -> None:
        self._poison, self._spec = poison, spec or EmbedderSpec()
        self.asked: list[str] = []

    @property
    def spec(self) -> EmbedderSpec:
        return self._spec

    @property
    def use(self) -> EmbeddingUse:
        return EmbeddingUse(texts=len(self.asked))

    def passages(self, texts: Sequence[str]) -> Vectors:
        if self._poison is not None and any(self._poison in text for text in texts):
            raise PermanentModelError("this text is refused")
        self.asked += texts
        return np.stack([vector(text) for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return self.passages([text])[0]
