"""Embeddings over HTTP: `POST /embeddings` as OpenAI has it, and vLLM, llama.cpp, Ollama and many more.

Each batch of texts goes by the three things every paid call goes by: the ledger, which stores what the server sent
before it is read and replays it for nothing; the limits, shared by all who use the model; the transport retries.
"""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qagen_dagster.errors import MalformedResponseError, TransientModelError
from qagen_dagster.models import deadline
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import Meter, Spent
from qagen_dagster.models.ledger import Entry, Ledger
from qagen_dagster.models.limits import permits, rate
from qagen_dagster.models.retry import call_with_retry
from qagen_dagster.models.vectors.base import EmbedderSpec, EmbeddingUse, Vectors
from qagen_dagster.models.wires import faults, openai_client
from qagen_dagster.records.ids import digest

_DRAWS = 2  # a stored response that cannot be read stays; it is asked for once more


class _Item(faults.Shape):
    index: int
    embedding: tuple[float, ...]


class _Reply(faults.Shape):
    data: tuple[_Item, ...]


class PaidEmbedder:
    """An `Embedder` that pays for each batch once, and only if its meter lets it. `state` is where processes share limits."""

    def __init__(
        self,
        spec: EmbedderSpec,
        api_key: str | None,
        key_variable: str | None,
        ledger: Ledger,
        state: Path,
        sleep: Callable[[float], None] = time.sleep,
        meter: Meter | None = None,
    ) -> None:
        self._spec, self._key, self._ledger, self._sleep = spec, api_key, ledger, sleep
        self._meter = meter
        self._call = ModelSpec(
            provider=spec.provider,
            model=spec.model,
            base_url=spec.base_url,
            timeout_seconds=spec.timeout_seconds,
        )
        self._client = openai_client.make_client(self._call, api_key)
        weakref.finalize(self, self._client.close)
        shared = rate.Limits(
            requests=spec.requests_per_minute, tokens=spec.tokens_per_minute, concurrency=spec.concurrency
        )
        self._limiter = permits.limiter(self._call, key_variable, state, shared, of="embeddings")
        self._use, self._guard = EmbeddingUse(), threading.Lock()

    @property
    def spec(self) -> EmbedderSpec:
        return self._spec

    @property
    def use(self) -> EmbeddingUse:
        return self._use

    def passages(self, texts: Sequence[str]) -> Vectors:
        wanted = [f"{self._spec.passage_prefix}{text}" for text in texts]
        found = [self._batch(part) for part in _batches(wanted, self._spec.batch_size)]
        return np.concatenate(found) if found else np.zeros((0, 0), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return self._batch([f"{self._spec.query_prefix}{text}"])[0]

    def _batch(self, texts: list[str]) -> Vectors:
        """Vectors of the texts of one request. Raises ModelError."""
        for draw in range(_DRAWS):
            entry = self._entry(texts, draw)
            try:
                return read(entry.body, len(texts))
            except MalformedResponseError:
                if draw + 1 == _DRAWS:
                    raise
        raise AssertionError("there is at least one draw")

    def _entry(self, texts: list[str], draw: int) -> Entry:
        """The stored response, or a paid one."""
        identity = json.dumps(self._spec.identity(), sort_keys=True)
        key = digest("embeddings", identity, str(draw), *texts)
        entry = self._ledger.get(key)
        if entry is None:
            with self._ledger.only_one(key):
                entry = self._ledger.get(key)  # by now another one may have paid
                if entry is None:
                    return self._charged(key, texts)
        self._count(EmbeddingUse(texts=len(texts), replayed=1))
        return entry

    def _charged(self, key: str, texts: list[str]) -> Entry:
        if self._meter is not None:
            self._meter.check()
        entry = self._pay(key, texts)
        use = EmbeddingUse(texts=len(texts), calls=1, **self._cost(entry.body))
        self._count(use)
        if self._meter is not None:
            self._meter.record(Spent(usd=use.usd or 0.0, tokens=use.tokens, calls=1))
        return entry

    def _cost(self, body: dict[str, Any]) -> dict[str, Any]:
        tokens = tokens_of(body)
        price = self._spec.usd_per_million_input
        return {"tokens": tokens, "usd": None if price is None else tokens * price / 1_000_000}

    def _count(self, use: EmbeddingUse) -> None:
        with self._guard:
            self._use = self._use.plus(use)

    def _pay(self, key: str, texts: list[str]) -> Entry:
        started = time.monotonic()
        body, retries = call_with_retry(
            lambda: self._limited(texts),
            max_attempts=self._spec.max_attempts,
            deadline_seconds=self._spec.deadline_seconds,
            sleep=self._sleep,
        )
        seconds = round(time.monotonic() - started, 6)
        return self._ledger.put(key, body, model=self._spec.name, seconds=seconds, retries=retries)

    def _limited(self, texts: list[str]) -> dict[str, Any]:
        estimated = sum(len(text.encode()) for text in texts) // permits.TOKEN_CHARACTERS
        with self._limiter.permit(estimated, deadline.call_ends()) as permit:
            try:
                body = self._send(texts)
            except TransientModelError as error:
                permit.refused(error)
                raise
            permit.answered(tokens_of(body) or None)
            return body

    def _send(self, texts: list[str]) -> dict[str, Any]:
        size = {} if self._spec.dimensions is None else {"dimensions": self._spec.dimensions}
        embeddings = self._client.embeddings.with_raw_response
        answer = openai_client.call(
            self._call,
            lambda: embeddings.create(
                input=texts,
                model=self._spec.model,
                encoding_format="float",  # every server knows it
                extra_body={**size, **self._spec.options},
            ),
            self._key,
        )
        if answer.get("error") and not answer.get("data"):
            raise faults.from_error_body(self._spec.name, answer["error"], self._key)
        return answer


def read(body: dict[str, Any], count: int) -> Vectors:
    """The vectors of a response, of unit length, in the order of the texts. Raises MalformedResponseError."""
    items = sorted(faults.shaped(_Reply, body).data, key=lambda item: item.index)
    if [item.index for item in items] != list(range(count)):
        raise MalformedResponseError(f"the response has {len(items)} embeddings for {count} texts")
    if len({len(item.embedding) for item in items}) > 1 or not items[0].embedding:
        raise MalformedResponseError("the response has embeddings of several sizes, or empty ones")
    vectors = np.array([item.embedding for item in items], dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise MalformedResponseError("the response has embeddings that are no direction")
    return (vectors / norms).astype(np.float32)


def tokens_of(body: dict[str, Any]) -> int:
    """Tokens as the server counts, 0 where it does not say."""
    return faults.count(body, "usage", "prompt_tokens") or faults.count(body, "usage", "total_tokens")


def _batches(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]
