"""The store: the only code that writes values. The classes of records build the keys.

`write` and `write_bytes` are atomic (temporary file, fsync, rename; a single put on object stores). The error for a missing or damaged
record names its path. `write` sets aside a damaged record that it replaces. The root is a folder or an fsspec URL.
"""

import contextlib
import errno
import hashlib
import logging
import os
import re
import shutil
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import fsspec  # pyright: ignore[reportMissingTypeStubs]
from pydantic import BaseModel, ValidationError

from qagen_dagster.errors import StoreError
from qagen_dagster.records.ids import store_key
from qagen_dagster.store_lock import lease

RecordT = TypeVar("RecordT", bound=BaseModel)
RowT = TypeVar("RowT", bound=BaseModel)
_SETTING_ASIDE = threading.Lock()  # one thread looks and renames at a time
_SET_ASIDE = re.compile(r"\.damaged(-\d+)?$")
_LOG = logging.getLogger(__name__)


class Store:
    """Typed reads and atomic writes under one root. Safe for many threads and processes."""

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

    def check_writable(self) -> None:
        """Raise StoreError if a local store cannot be written to. Nothing is written, and other stores are not checked."""
        if self._local is None:
            return
        existing = next(
            one for one in (self._local.absolute(), *self._local.absolute().parents) if one.exists()
        )
        if not existing.is_dir():
            raise StoreError(f"the store {self.root} cannot be written: {existing} is not a folder")
        if os.statvfs(existing).f_flag & os.ST_RDONLY:
            raise StoreError(f"the store {self.root} cannot be written: {os.strerror(errno.EROFS)}")
        if not os.access(existing, os.W_OK):
            raise StoreError(f"the store {self.root} cannot be written: no permission to write in {existing}")

    def exists(self, key: str) -> bool:
        return bool(self._fs.exists(f"{self._base}/{key}"))

    def get(self, key: str) -> bytes | None:
        """The bytes of a key; None when it is missing."""
        try:
            return cast("bytes", self._fs.cat_file(f"{self._base}/{key}"))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def hash_of(self, key: str) -> str | None:
        """The `content_hash` of the bytes of a key; None when it is missing. A local file is read in pieces."""
        try:
            with self._open(key) as file:
                return hashlib.file_digest(cast("BytesIO", file), "sha256").hexdigest()
        except StoreError:
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
        return None if data is None else self._parsed(key, data, kind)

    def find_valid(self, key: str, kind: type[RecordT]) -> RecordT | None:
        """A record; None when it is missing or not a valid `kind`. Only for records that are made again when they are missing."""
        try:
            return self.find(key, kind)
        except StoreError:
            return None

    def rows(self, key: str, kind: type[BaseModel], row: type[RowT]) -> Iterator[RowT]:
        """The rows of a record: its first field of the type `tuple[row, ...]`. Raises StoreError as `read` does, maybe after some rows.

        One row is parsed at a time, because the parsed record of a large corpus takes several times as much memory as its file.
        """
        return (one for one in self._rows_and_head(key, kind, row) if isinstance(one, row))

    def read_head(self, key: str, kind: type[RecordT], row: type[BaseModel]) -> RecordT:
        """The record that `read` returns, but without its rows (see `rows`), which are still validated, one at a time."""
        *_, head = deque(self._rows_and_head(key, kind, row), maxlen=1)
        return cast("RecordT", head)

    def find_head(self, key: str, kind: type[RecordT], row: type[BaseModel]) -> RecordT | None:
        """As `read_head`; None when the record is missing or not a valid `kind`."""
        try:
            return self.read_head(key, kind, row)
        except StoreError:
            return None

    def _rows_and_head(self, key: str, kind: type[RecordT], row: type[RowT]) -> Iterator[RowT | RecordT]:
        name = next(name for name, field in kind.model_fields.items() if field.annotation == tuple[row, ...])
        with self._open(key) as lines:
            for is_row, data in _split(lines, name):
                if is_row:
                    yield self._parsed(key, data, row)
                else:
                    head = self._parsed(key, data, kind)
                    yield from getattr(head, name)
                    yield head.model_copy(update={name: ()})

    def _open(self, key: str) -> IO[bytes]:
        if self._local is None:
            return BytesIO(self.read_bytes(key))
        try:
            return (self._local / key).open("rb")
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(f"{self.path(key)} is missing") from None

    def find_or_set_aside(self, key: str, kind: type[RecordT]) -> RecordT | None:
        """As `find_valid`, but a file that is not a valid `kind` is set aside. Raises StoreError as `set_aside` does."""
        data = self.get(key)
        try:
            return None if data is None else self._parsed(key, data, kind)
        except StoreError as error:
            self.set_aside(key, data or b"", str(error))
            return None

    def set_aside(self, key: str, damaged: bytes, why: str) -> None:
        """Rename a damaged file to `<key>.damaged`, and log this. A file with other bytes than `damaged` is left alone, because
        another process has repaired it. Raises StoreError if the file cannot be renamed."""
        with _SETTING_ASIDE:
            name = self._renamed(key, damaged, why)
        if name is not None:
            _LOG.warning("%s: renamed to %s, and made again", why, name.rsplit("/", 1)[-1])

    def _renamed(self, key: str, damaged: bytes, why: str) -> str | None:
        """Rename the file and return its new key; None when it has other bytes than `damaged`, or is gone."""
        if self.get(key) != damaged:
            return None
        name, number = f"{key}.damaged", 1
        while self.exists(name):
            number += 1
            name = f"{key}.damaged-{number}"
        try:
            if self._local is None:
                self._fs.pipe_file(f"{self._base}/{name}", damaged)
                self.remove(key)
            else:
                os.replace(self._local / key, self._local / name)
        except FileNotFoundError:  # another process was faster
            return None
        except OSError as error:
            raise StoreError(f"{why}, and cannot be renamed: {error.strerror}") from error
        return name

    def write(self, key: str, record: BaseModel) -> None:
        """Write a record atomically, as indented JSON. A damaged record that it replaces is set aside."""
        self.find_or_set_aside(key, type(record))
        self.write_bytes(key, (record.model_dump_json(indent=1) + "\n").encode())

    def write_bytes(self, key: str, data: bytes) -> None:
        """Write bytes atomically. When this returns, the bytes survive a crash. Raises StoreError if a local disk refuses them."""
        if self._local is None:
            self._fs.pipe_file(f"{self._base}/{key}", data)
            return
        try:
            _write_durably(self._local / key, data)
        except OSError as error:
            raise StoreError(f"{self.path(key)} cannot be written: {error.strerror}") from error

    def create(self, key: str, data: bytes) -> bool:
        """Write bytes only if the key is missing. On object stores this is a single step. Returns whether the bytes were written."""
        try:
            self._fs.pipe_file(f"{self._base}/{key}", data, mode="create")
        except FileExistsError:
            return False
        return True

    def write_if_changed(self, key: str, data: bytes) -> bool:
        """Write only if the content differs, so that unchanged files keep their modification times. Returns whether it differed."""
        if self.get(key) == data:
            return False
        self.write_bytes(key, data)
        return True

    def publish_file(self, key: str, file: Path) -> None:
        """Move a finished local file to a key. A file that is there already is replaced."""
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
        """All keys under a prefix, sorted, without temporary files and files that were set aside."""
        found = self._remote_keys(prefix) if self._local is None else _keys(self._local, prefix)
        return sorted(key for key in found if not key.endswith(".tmp") and not _SET_ASIDE.search(key))

    def _remote_keys(self, prefix: str) -> Iterator[str]:
        root = f"{self._base}/{prefix}".rstrip("/")
        found = cast("list[str]", self._fs.find(root)) if self._fs.exists(root) else []
        start = len(self._fs._strip_protocol(self._base).rstrip("/")) + 1
        return (path[start:] for path in found)

    def leftovers(self, seconds: float) -> "list[str]":
        """Keys of temporary files that were not modified for `seconds`: killed processes left them. Empty if the store is not local."""
        if self._local is None:
            return []
        before = time.time() - seconds
        found: list[str] = []
        for path in self._local.rglob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before and path.is_file():
                    found.append(path.relative_to(self._local).as_posix())
        return sorted(found)

    def _parsed(self, key: str, data: bytes, kind: type[RecordT]) -> RecordT:
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            raise StoreError(
                f"{self.path(key)} is not a valid {kind.__name__} ({error.error_count()} errors)"
            ) from error

    def blobs(self, prefix: str) -> "Blobs":
        """The values under `prefix` by key, in folders that are named after the first two characters of the keys."""
        return Blobs(self, prefix)


class Blobs:
    """A part of the store that holds values by key, such as the ledger."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def get(self, key: str) -> bytes | None:
        """The value of a key; None when it is missing."""
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

    def strays(self) -> "list[str]":
        """The store keys of the files under the prefix that `keys` skips, sorted."""
        values = {self._key(key) for key in self.keys()}
        return [path for path in self._store.list(self._prefix) if path not in values]

    def path(self, key: str) -> str:
        return self._store.path(self._key(key))

    def lock_file(self, key: str) -> Path | None:
        """The file by which processes lock a key; None when the store is not on this machine."""
        return self._store.local_path(self._lock_key(key))

    def lease(self, key: str) -> AbstractContextManager[None]:
        """The lock of a key among all machines, for a store that is not on this machine."""
        return lease(self._store, self._lock_key(key))

    def _lock_key(self, key: str) -> str:
        return store_key("locks", self._prefix, key)

    def _key(self, key: str) -> str:
        return store_key(self._prefix, key[:2], key)


def _keys(base: Path, prefix: str) -> Iterator[str]:
    """The keys of all files under a prefix. Unlike the listing of fsspec, this does not keep a description of each file in memory."""
    root = base / prefix
    if root.is_file():
        yield prefix.rstrip("/")
    for folder, _, files in os.walk(root):
        start = "" if folder == str(base) else f"{Path(folder).relative_to(base).as_posix()}/"
        yield from (start + name for name in files)


def _split(lines: Iterator[bytes], name: str) -> Iterator[tuple[bool, bytes]]:
    """Yields (True, JSON) for each row of the list `name`, then (False, JSON) for the record without these rows.

    Only JSON with the indentation that `Store.write` gives it is split. Other JSON is yielded whole, with False.
    """
    head: list[bytes] = []
    indent = b""
    for number, line in enumerate(lines):
        head.append(line)
        if number == 1:
            indent = line[: len(line) - len(line.lstrip(b" "))]
        if indent and line == b'%s"%s": [\n' % (indent, name.encode()):
            break
    closing = 2 * indent + b"},\n"  # the last line of each row except the last row
    end = b"\n%s}\n%s]" % (2 * indent, indent)
    while row := b"".join(takewhile(closing.__ne__, lines)):
        row, ended, after = row.partition(end)
        yield True, row + b"}"
        if ended:
            others = list(lines)
            head += [indent + b"]", after, *([closing, *others] if others else ())]
    yield False, b"".join(head)


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
