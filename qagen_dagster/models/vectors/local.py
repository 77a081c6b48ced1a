"""The embedder that runs in this process: MiniLM, free and without a key."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from qagen_dagster.models.vectors import minilm
from qagen_dagster.models.vectors.base import EmbedderSpec, EmbeddingUse, Vectors


class LocalEmbedder:
    """An `Embedder` over the process's encoder, which loads at the first text and uses `threads` CPU threads."""

    def __init__(self, spec: EmbedderSpec, threads: int = 1) -> None:
        self._spec, self._threads, self._texts, self._guard = spec, threads, 0, threading.Lock()

    @property
    def spec(self) -> EmbedderSpec:
        return self._spec

    @property
    def use(self) -> EmbeddingUse:
        return EmbeddingUse(texts=self._texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._encode(f"{self._spec.passage_prefix}{text}" for text in texts)

    def query(self, text: str) -> Vectors:
        return self._encode([f"{self._spec.query_prefix}{text}"])[0]

    def _encode(self, texts: Iterable[str]) -> Vectors:
        wanted = list(texts)
        with self._guard:
            self._texts += len(wanted)
        return minilm.shared(self._threads).encode(wanted)
