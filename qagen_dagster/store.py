"""The store: it defines all paths, and it is the only code that writes to them.

Writes are atomic (temporary file, fsync, rename; a single put on object stores). Reads return typed records, and the
error for a missing one names its path. The root is a folder or any fsspec URL.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import fsspec  # pyright: ignore[reportMissingTypeStubs]
from pydantic import BaseModel, ValidationError

from qagen_dagster.errors import StoreError
from qagen_dagster.records.exams.item import ExamPart
from qagen_dagster.records.ids import Combination, check_name

RecordT = TypeVar("RecordT", bound=BaseModel)


class Keys:
    """The path of each value, relative to the root. Every variable part of a path is a checked name."""

    CATALOG = "catalog.duckdb"

    @staticmethod
    def document(corpus: str, document_id: str, file: str) -> str:
        return f"documents/{check_name(corpus)}/{check_name(document_id)}/{check_name(file)}"

    @staticmethod
    def text(corpus: str, document_id: str) -> str:
        return Keys.document(corpus, document_id, "text.txt")

    @staticmethod
    def record(corpus: str, document_id: str) -> str:
        return Keys.document(corpus, document_id, "document.json")

    @staticmethod
    def visuals(corpus: str, document_id: str) -> str:
        return Keys.document(corpus, document_id, "visuals.json")

    @staticmethod
    def corpus_index(corpus: str) -> str:
        return f"documents/{check_name(corpus)}/index.json"

    @staticmethod
    def search_index(corpus: str) -> str:
        return f"search/{check_name(corpus)}/index.json"

    @staticmethod
    def search_shard(corpus: str, fingerprint: str, shard: int) -> str:
        return f"search/{check_name(corpus)}/{check_name(fingerprint)}/shard-{shard:02d}.parquet"

    @staticmethod
    def result(combination: Combination, document_id: str, fingerprint: str) -> str:
        return f"candidates/{combination.key}/{check_name(document_id)}/{check_name(fingerprint)}.json"

    @staticmethod
    def journal(combination: Combination, document_id: str, fingerprint: str) -> str:
        return f"journals/{combination.key}/{check_name(document_id)}/{check_name(fingerprint)}.json"

    @staticmethod
    def candidate_set(combination: Combination) -> str:
        return f"candidates/{combination.key}/set.json"

    @staticmethod
    def validated_set(combination: Combination) -> str:
        return f"validated/{combination.key}/set.json"

    @staticmethod
    def grades(combination: Combination, document_id: str, fingerprint: str) -> str:
        """The grades of the answers of one document."""
        return f"grades/{combination.key}/{check_name(document_id)}/{check_name(fingerprint)}.json"

    @staticmethod
    def grounding(combination: Combination) -> str:
        """The latest grading report."""
        return f"grounding/{combination.key}/report.json"

    @staticmethod
    def evaluation(combination: Combination, kind: str) -> str:
        """The latest report of one kind of evaluation."""
        return f"evaluation/{combination.key}/{check_name(kind)}.json"

    @staticmethod
    def evaluated(combination: Combination, kind: str, document_id: str, fingerprint: str) -> str:
        """The evaluation of the questions of one document."""
        folder = f"evaluation/{combination.key}/{check_name(kind)}"
        return f"{folder}/{check_name(document_id)}/{check_name(fingerprint)}.json"

    @staticmethod
    def summary(launch: str) -> str:
        """The summary of the runs of one launch."""
        return f"summaries/{check_name(launch)}/run_summary.json"

    @staticmethod
    def published(combination: Combination, path: str) -> str:
        return f"published/{combination.key}/" + "/".join(check_name(part) for part in path.split("/"))

    @staticmethod
    def history(combination: Combination, run_id: str, path: str) -> str:
        return f"history/{combination.key}/{check_name(run_id)}/" + "/".join(
            check_name(part) for part in path.split("/")
        )

    @staticmethod
    def spending_run(spending_id: str) -> str:
        return f"spending/{check_name(spending_id)}"

    @staticmethod
    def spending(spending_id: str, combination: Combination) -> str:
        return f"{Keys.spending_run(spending_id)}/{combination.key}"

    @staticmethod
    def partial(combination: Combination, document_id: str, fingerprint: str) -> str:
        """The partial result of a document whose budget was spent before it was finished."""
        return (
            f"candidates/{combination.key}/{check_name(document_id)}/{check_name(fingerprint)}.partial.json"
        )

    @staticmethod
    def exam_result(part: ExamPart, slot: int, fingerprint: str) -> str:
        """The result of one slot of a part."""
        return f"exams/{part.exam}/results/{_within(part)}/{slot:04d}/{check_name(fingerprint)}.json"

    @staticmethod
    def exam_partial(part: ExamPart, slot: int, fingerprint: str) -> str:
        """The partial result of a slot whose budget was spent before it was finished."""
        return f"exams/{part.exam}/results/{_within(part)}/{slot:04d}/{check_name(fingerprint)}.partial.json"

    @staticmethod
    def exam_journal(part: ExamPart, slot: int, fingerprint: str) -> str:
        return f"exams/{part.exam}/journals/{_within(part)}/{slot:04d}/{check_name(fingerprint)}.json"

    @staticmethod
    def exam_file(exam: str, path: str) -> str:
        """A file of an exam's bank or of its exports."""
        return f"exams/{check_name(exam)}/" + "/".join(check_name(part) for part in path.split("/"))

    @staticmethod
    def exam_set(part: ExamPart) -> str:
        """The current results of a part."""
        return f"exams/{part.exam}/sets/{_within(part)}.json"

    @staticmethod
    def exam_history(exam: str, run_id: str, path: str) -> str:
        return Keys.exam_file(exam, f"history/{run_id}/{path}")

    @staticmethod
    def exam_spending(spending_id: str, part: ExamPart) -> str:
        return f"{Keys.spending_run(spending_id)}/exams/{part.key}"

    @staticmethod
    def problem_task(problem_set: str, problem_id: str, task: str, fingerprint: str) -> str:
        """The result of one task of a problem."""
        folder = f"problems/{check_name(problem_set)}/tasks/{check_name(problem_id)}"
        return f"{folder}/{check_name(task)}/{check_name(fingerprint)}.json"

    @staticmethod
    def problem_file(problem_set: str, path: str) -> str:
        """A file of a problem set's bank or of its exports."""
        return f"problems/{check_name(problem_set)}/" + "/".join(check_name(part) for part in path.split("/"))

    @staticmethod
    def problem_history(problem_set: str, run_id: str, path: str) -> str:
        return Keys.problem_file(problem_set, f"history/{run_id}/{path}")

    @staticmethod
    def index_spending(spending_id: str, corpus: str) -> str:
        return f"{Keys.spending_run(spending_id)}/indexes/{check_name(corpus)}"

    @staticmethod
    def problem_spending(spending_id: str, problem_set: str) -> str:
        return f"{Keys.spending_run(spending_id)}/problems/{check_name(problem_set)}"

    @staticmethod
    def picture(sha256: str, suffix: str) -> str:
        """An image of a problem, named by the hash of its content."""
        return f"pictures/{sha256[:2]}/{check_name(f'{sha256}.{suffix}')}"

    @staticmethod
    def lock(prefix: str, key: str) -> str:
        """The lock file of a key under a prefix, while a process holds the lock."""
        return f"locks/{check_name(prefix)}/{check_name(key)}"

    @staticmethod
    def run(run_id: str, combination: Combination) -> str:
        return f"runs/{check_name(run_id)}/{combination.key}.json"


def _within(part: ExamPart) -> str:
    return f"{part.schema_id}/{part.difficulty.value}"


class Store:
    """Typed, atomic reads and writes under one root. Safe for many threads and processes."""

    def __init__(self, root: str | Path) -> None:
        # No cached listings: a process must see what other processes have just written.
        fs, path = cast(
            "tuple[Any, str]",
            fsspec.core.url_to_fs(str(root), use_listings_cache=False),  # pyright: ignore[reportUnknownMemberType]
        )
        self.root = str(root)
        self._fs = fs
        self._base = path.rstrip("/")
        self._local = Path(path) if "file" in _protocols(fs) else None

    def path(self, key: str) -> str:
        """The full path or URL of a key, for messages and metadata."""
        return f"{self._base}/{key}" if self._local is not None else f"{self.root.rstrip('/')}/{key}"

    def local_path(self, key: str) -> Path | None:
        """The local file of a key; None when the store is not a local folder."""
        return None if self._local is None else self._local / key

    def exists(self, key: str) -> bool:
        return bool(self._fs.exists(f"{self._base}/{key}"))

    def get(self, key: str) -> bytes | None:
        """The bytes of a key; None when it is missing."""
        try:
            return cast("bytes", self._fs.cat_file(f"{self._base}/{key}"))
        except FileNotFoundError:
            return None

    def read_bytes(self, key: str) -> bytes:
        """The bytes of a key. Raises StoreError, which names the key, when it is missing."""
        data = self.get(key)
        if data is None:
            raise StoreError(f"{self.path(key)} is missing")
        return data

    def read(self, key: str, kind: type[RecordT]) -> RecordT:
        """A record. Raises StoreError when it is missing or not a valid `kind`."""
        found = self.find(key, kind)
        if found is None:
            raise StoreError(f"{self.path(key)} is missing")
        return found

    def find(self, key: str, kind: type[RecordT]) -> RecordT | None:
        """A record; None when it is missing. Raises StoreError when it is not a valid `kind`."""
        data = self.get(key)
        if data is None:
            return None
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            raise StoreError(
                f"{self.path(key)} is not a valid {kind.__name__} ({error.error_count()} errors)"
            ) from error

    def write(self, key: str, record: BaseModel) -> None:
        """Write a record atomically, as indented JSON."""
        self.write_bytes(key, (record.model_dump_json(indent=1) + "\n").encode())

    def write_bytes(self, key: str, data: bytes) -> None:
        """Write bytes atomically. When this returns, they survive a crash."""
        if self._local is None:
            self._fs.pipe_file(f"{self._base}/{key}", data)
        else:
            _write_durably(self._local / key, data)

    def write_if_changed(self, key: str, data: bytes) -> bool:
        """Write only if the content differs, so that unchanged files keep their modification times. Returns whether it wrote."""
        if self.get(key) == data:
            return False
        self.write_bytes(key, data)
        return True

    def publish_file(self, key: str, file: Path) -> None:
        """Move a finished local file to a key."""
        if self._local is None:
            self._fs.put_file(str(file), f"{self._base}/{key}")
            file.unlink()
            return
        target = self._local / key
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, target)

    def remove(self, key: str) -> None:
        """Remove a key if it exists."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._base}/{key}")

    def list(self, prefix: str) -> list[str]:
        """All keys under a prefix, sorted."""
        root = f"{self._base}/{prefix}".rstrip("/")
        if not self._fs.exists(root):
            return []
        found = cast("list[str]", self._fs.find(root))
        start = len(self._fs._strip_protocol(self._base).rstrip("/")) + 1
        return sorted(path[start:] for path in found if not path.endswith(".tmp"))

    def leftovers(self, seconds: float) -> list[str]:
        """Keys of temporary files that were not modified for `seconds`: the processes that wrote them were killed."""
        if self._local is None:
            return []
        before = time.time() - seconds
        found: list[str] = []
        for path in self._local.rglob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before and path.is_file():
                    found.append(path.relative_to(self._local).as_posix())
        return sorted(found)

    def blobs(self, prefix: str) -> Blobs:
        """A content-addressed part of the store, spread over 256 folders."""
        return Blobs(self, prefix)


class Blobs:
    """Values by hexadecimal key. The ledger is stored like this."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def get(self, key: str) -> bytes | None:
        return self._store.get(self._key(key))

    def put(self, key: str, data: bytes) -> None:
        self._store.write_bytes(self._key(key), data)

    def remove(self, key: str) -> None:
        self._store.remove(self._key(key))

    def keys(self) -> Iterator[str]:
        """The keys of all values, sorted. Other files under the prefix are skipped."""
        for path in self._store.list(self._prefix):
            key = path.rsplit("/", 1)[1]
            if path == f"{self._prefix}/{key[:2]}/{key}":
                yield key

    def strays(self) -> list[str]:
        """Store keys of the other files under the prefix."""
        values = {self._key(key) for key in self.keys()}
        return [path for path in self._store.list(self._prefix) if path not in values]

    def path(self, key: str) -> str:
        """The full path or URL of a key, for messages."""
        return self._store.path(self._key(key))

    def lock_file(self, key: str) -> Path | None:
        """The file with which processes lock a key; None when the store is not a local folder."""
        return self._store.local_path(Keys.lock(self._prefix, key))

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key[:2]}/{check_name(key)}"


def _write_durably(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = (
        target.parent
        / f".{target.name[:80]}.{os.getpid()}.{threading.get_ident()}.{uuid.uuid4().hex[:8]}.tmp"
    )
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, on platforms that can open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _protocols(fs: Any) -> tuple[str, ...]:
    protocol = fs.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
