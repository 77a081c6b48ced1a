"""Embeddings over HTTP: `POST /embeddings` of OpenAI, vLLM, llama.cpp, Ollama and many more.

Each batch of texts is one paid call. As for calls of language models, the ledger stores the response before it is read
and replays it for free, all users of the model share its limits, and failures of the transport are retried.
"""

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models import rate_limits
from qagen_dagster.models.budget import Meter, Spent
from qagen_dagster.models.embedders import EmbedderSpec, EmbeddingUse, Vectors
from qagen_dagster.models.ledger import Entry, Ledger
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.tokens import TOKEN_CHARACTERS
from qagen_dagster.models.wires import sdk_client
from qagen_dagster.models.wires.openai import OpenAIClient
from qagen_dagster.records.ids import digest


class _Item(sdk_client.Shape):
    index: int
    embedding: tuple[float, ...]


class _Reply(sdk_client.Shape):
    data: tuple[_Item, ...]


class PaidEmbedder:
    """An `Embedder` that pays for each batch of texts once, within the budget of `meter`. Processes share rate limits through `state`."""

    def __init__(
        self,
        spec: EmbedderSpec,
        api_key: str | None,
        key_variable: str | None,
        ledger: Ledger,
        state: Path,
        meter: Meter | None = None,
    ) -> None:
        self._spec, self._ledger, self._meter = spec, ledger, meter
        call = ModelSpec(**spec.shared(ModelSpec))
        self._server = OpenAIClient(call, api_key)
        limits = rate_limits.RateLimits.of(call)
        self._limiter = rate_limits.shared_limiter(call, key_variable, state, limits, of="embeddings")
        self._use, self._guard = EmbeddingUse(), threading.Lock()

    @property
    def spec(self) -> EmbedderSpec:
        return self._spec

    @property
    def use(self) -> EmbeddingUse:
        return self._use

    def passages(self, texts: Sequence[str]) -> Vectors:
        wanted = [f"{self._spec.passage_prefix}{text}" for text in texts]
        size = self._spec.batch_size
        batches = [self._batch(wanted[start : start + size]) for start in range(0, len(wanted), size)]
        return np.concatenate(batches) if batches else np.zeros((0, 0), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return self._batch([f"{self._spec.query_prefix}{text}"])[0]

    def _batch(self, texts: list[str]) -> Vectors:
        """The vectors of texts that fit into one request, from the ledger or paid for. Raises ModelError."""
        identity = json.dumps(self._spec.identity(), sort_keys=True)
        key = digest("embeddings", identity, "0", *texts)
        estimated = sum(len(text.encode()) for text in texts) // TOKEN_CHARACTERS
        vectors, entry, replayed = self._ledger.obtain(
            key,
            lambda: self._limiter.call(
                lambda: self._send(texts), estimated, lambda body: tokens_of(body) or None
            ),
            lambda body: read_embeddings(body, len(texts)),
            self._spec,
            lambda entry: self._cost(entry, estimated),
            lambda: self._price(2 * estimated),
            self._meter,
            time.sleep,
        )
        use = EmbeddingUse(texts=len(texts), replayed=1)
        if not replayed:
            spent, price = self._cost(entry, estimated), self._spec.usd_per_million_input
            known = price is not None and (price == 0 or tokens_of(entry.body) > 0)
            usd = spent.usd if known else None
            use = EmbeddingUse(texts=len(texts), calls=1, tokens=spent.tokens, usd=usd)
        with self._guard:
            self._use = self._use.plus(use)
        return vectors

    def _cost(self, entry: Entry, estimated: int) -> Spent:
        """The charge for a response. If the server did not count the tokens, the charge is everything that was reserved."""
        return self._price(tokens_of(entry.body) or 2 * estimated)

    def _price(self, tokens: int) -> Spent:
        return Spent(
            usd=(self._spec.usd_per_million_input or 0.0) * tokens / 1_000_000, tokens=tokens, calls=1
        )

    def _send(self, texts: list[str]) -> dict[str, Any]:
        size = {} if self._spec.dimensions is None else {"dimensions": self._spec.dimensions}
        embeddings = self._server.client.embeddings.with_raw_response
        answer = self._server.call(
            lambda: (
                embeddings.create(
                    input=texts,
                    model=self._spec.model,
                    encoding_format="float",  # every server knows this format
                    extra_body={**size, **self._spec.options},
                ).text
            )
        )
        if answer.get("error") and not answer.get("data"):
            raise self._server.failure(answer["error"])
        return answer


def read_embeddings(body: dict[str, Any], count: int) -> Vectors:
    """The vectors of a response, of unit length, in the order of the texts. Raises MalformedResponseError."""
    items = sorted(sdk_client.shaped(_Reply, body).data, key=lambda item: item.index)
    if [item.index for item in items] != list(range(count)):
        raise MalformedResponseError(f"the response has {len(items)} embeddings for {count} texts")
    if len({len(item.embedding) for item in items}) > 1 or not items[0].embedding:
        raise MalformedResponseError("the response has embeddings of different sizes, or empty ones")
    vectors = np.array([item.embedding for item in items], dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise MalformedResponseError("the response has embeddings of length zero or without a finite length")
    return (vectors / norms).astype(np.float32)


def tokens_of(body: dict[str, Any]) -> int:
    """The tokens that the server counted, or 0 if it does not state them."""
    return sdk_client.count(body, "usage", "prompt_tokens") or sdk_client.count(body, "usage", "total_tokens")
