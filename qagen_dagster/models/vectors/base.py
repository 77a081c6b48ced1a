"""The interface of embedders, which turn text into vectors, and their settings in a profile.

What belongs here: the settings, the interface, the counts of what was used. What does not: computing vectors
(`local.py`, `openai_endpoint.py`) and choosing the class (`registry.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qagen_dagster.records.base import Record

EMBEDDED_MODEL = "minilm"

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]  # unit vectors, one row per text


class EmbedderSpec(Record):
    """The embedder of documents and queries, as a profile binds it."""

    provider: Literal["embedded", "openai", "openai_compatible"] = "embedded"
    model: str = EMBEDDED_MODEL
    base_url: str | None = None
    api_key_env: str | None = None  # name of the variable, never its value
    dimensions: int | None = Field(
        default=None, ge=8, le=8192
    )  # requested from the server; None: the model's default
    batch_size: int = Field(default=64, ge=1, le=2048)  # texts per request
    query_prefix: str = ""  # put before each query, for models that want one
    passage_prefix: str = ""  # put before each piece of a document
    timeout_seconds: float = Field(default=120.0, gt=0)
    max_attempts: int = Field(default=8, ge=1)  # of one call, at transport failures
    deadline_seconds: float = Field(default=600.0, gt=0)  # for one call with all its attempts
    requests_per_minute: float | None = Field(default=None, gt=0)  # None: no limit; all processes share it
    tokens_per_minute: int | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, ge=1, le=1000)  # attempts in flight
    usd_per_million_input: float | None = Field(default=None, ge=0)
    options: dict[str, Any] = Field(default_factory=dict)  # sent unchanged with every request

    @model_validator(mode="after")
    def _fits(self) -> EmbedderSpec:
        if self.provider == "embedded" and (self.model != EMBEDDED_MODEL or self.dimensions is not None):
            raise ValueError(f"the embedded provider has one model, {EMBEDDED_MODEL}, of one size")
        if self.provider == "openai_compatible" and self.base_url is None:
            raise ValueError("openai_compatible needs a base_url")
        return self

    @property
    def name(self) -> str:
        """`provider:model`, as records show it."""
        return f"{self.provider}:{self.model}"

    @property
    def local(self) -> bool:
        """Whether it runs in this process, for free."""
        return self.provider == "embedded"

    def identity(self) -> dict[str, Any]:
        """The settings that can change a vector: part of the ledger key and of the fingerprint of an index."""
        kept = {"provider", "model", "base_url", "dimensions", "query_prefix", "passage_prefix", "options"}
        return self.model_dump(mode="json", include=kept)


class EmbeddingUse(Record):
    """What an embedder has been used for since it was built."""

    texts: int = 0
    calls: int = 0  # paid
    replayed: int = 0  # calls answered from the ledger
    tokens: int = 0  # of paid calls, as the server counts them
    usd: float | None = 0.0  # None: the price is unknown

    def plus(self, other: EmbeddingUse) -> EmbeddingUse:
        return EmbeddingUse(
            texts=self.texts + other.texts,
            calls=self.calls + other.calls,
            replayed=self.replayed + other.replayed,
            tokens=self.tokens + other.tokens,
            usd=None if self.usd is None or other.usd is None else self.usd + other.usd,
        )


class Embedder(Protocol):
    """Returns vectors of unit length. It is safe to call from many threads."""

    @property
    def spec(self) -> EmbedderSpec: ...

    @property
    def use(self) -> EmbeddingUse: ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of pieces of documents, in order: (n, dimensions). Raises ModelError."""
        ...

    def query(self, text: str) -> Vectors:
        """The vector of a query: (dimensions,). Raises ModelError."""
        ...
