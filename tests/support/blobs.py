"""An in-memory place for ledger entries."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from qagen_dagster.store import Blobs


class MemoryBlobs(Blobs):
    def __init__(self) -> None:  # without a store
        self.data: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.data.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.data[key] = data

    def lock_file(self, key: str) -> Path | None:
        return None

    def lease(self, key: str) -> AbstractContextManager[None]:
        return nullcontext()
