"""The record of every model response, written before it is read, addressed by its request.

What belongs here: the address, the envelope, and the model that stores before it reads. What does
not: where the bytes lie (a `Blobs`), how a call is sent (a provider) or tried again (`retry.py`).

A stored response is the answer to its request for good, also one that cannot be read: replay raises
the same MalformedResponseError. A caller that wants another draw asks
`request.model_copy(update={"sample": request.sample + 1})`, which has an address of its own.

An entry holds what the server sent, and of the request the hash alone: no prompt, no picture, no header, no
key. Pictures lie once in the store, with their document; in the hash they stand by their own.
"""

from __future__ import annotations

import copy
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.base import ModelSpec, Provider
from qagen_dagster.models.budget import Meter, Spent, cost_of
from qagen_dagster.models.limits.file_lock import lock
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.retry import call_with_retry
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import digest

# What a file system says that has no locks, or none for us. Without one a request may be paid twice; nothing breaks.
_WITHOUT_LOCKS = frozenset(
    {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.EROFS}
)


class Blobs(Protocol):
    """Where entries lie. `put` should be atomic: a reader sees all of a value or none of it. Where it is not,
    the checksum tells."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...

    def lock_file(self, key: str) -> Path | None:
        """The file by which processes lock `key`; None where there is no local disk."""
        ...


class Entry(Record):
    """One stored response. Holds no header, no key, and of the request only its hash."""

    key: str
    model: str  # `provider:model`
    body: dict[str, Any]  # as the server sent it
    created: str  # ISO 8601, UTC
    seconds: float  # of the call with its retries
    retries: int
    batch: bool = False  # it came by a batch


def request_key(spec: ModelSpec, request: Request) -> str:
    """The address of a response: 64 hexadecimal digits over everything that can change it."""
    identity = json.dumps(spec.identity(), sort_keys=True, separators=(",", ":"))
    return digest(identity, request.canonical())


class Ledger:
    """Checked entries over `blobs`; safe for many threads and processes, each of which may die at any moment."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    def get(self, key: str) -> Entry | None:
        """The entry, or None where there is none whole: what fails its checksum is never served."""
        data = self._blobs.get(key)
        try:
            return None if data is None else unseal(data, key)
        except ValueError:
            return None

    def put(
        self,
        key: str,
        body: dict[str, Any],
        *,
        model: str,
        seconds: float,
        retries: int,
        batch: bool = False,
    ) -> Entry:
        """Store `body` durably and return the entry as a later `get` will."""
        entry = Entry(
            key=key,
            model=model,
            body=body,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=seconds,
            retries=retries,
            batch=batch,
        )
        self._blobs.put(key, _seal(entry))
        return entry

    @contextmanager
    def only_one(self, key: str) -> Generator[None]:
        """Hold `key`, so that two who ask the same do not both pay: against all threads of this process and, where
        the entries lie on a local disk, all processes that use it. The end of a process frees what it held.
        """
        with self._guard:
            ours, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (ours, users + 1)
        try:
            with ours, _among_processes(self._blobs.lock_file(key)):
                yield
        finally:
            with self._guard:
                ours, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = (ours, users - 1)


class LedgeredModel:
    """A `Model` that pays for each request once, and only if its meter lets it."""

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        *,
        sleep: Callable[[float], None] = time.sleep,
        meter: Meter | None = None,
    ) -> None:
        self._provider, self._ledger, self._sleep, self._meter = provider, ledger, sleep, meter

    def metered(self, meter: Meter) -> LedgeredModel:
        """The same model, whose paid calls `meter` allows and counts."""
        other = copy.copy(self)
        other._meter = meter
        return other

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def respond(self, request: Request) -> Response:
        """Replay the stored response, or send, store and read. Raises ModelError; of it BudgetExhaustedError before
        anything is sent."""
        key = request_key(self.spec, request)
        entry = self._ledger.get(key)
        replayed = entry is not None
        if entry is None:
            with self._ledger.only_one(key):
                entry = self._ledger.get(key)  # by now another one may have paid
                replayed = entry is not None
                entry = entry or self._charged(key, request)
        return finish(self._provider.read(entry.body), entry, replayed=replayed)

    def _charged(self, key: str, request: Request) -> Entry:
        if self._meter is not None:
            self._meter.check()
        entry = self._pay(key, request)
        if self._meter is not None:
            self._meter.record(self._cost(entry))
        return entry

    def _cost(self, entry: Entry) -> Spent:
        """What a stored response cost; of one that cannot be read only that it was a call."""
        try:
            return cost_of(self.spec, self._provider.read(entry.body).usage, batch=entry.batch)
        except MalformedResponseError:
            return Spent(calls=1)

    def _pay(self, key: str, request: Request) -> Entry:
        started = time.monotonic()
        body, retries = call_with_retry(
            lambda: self._provider.send(request),
            max_attempts=self.spec.max_attempts,
            deadline_seconds=self.spec.deadline_seconds,
            sleep=self._sleep,
        )
        seconds = round(time.monotonic() - started, 6)
        return self._ledger.put(key, body, model=self.spec.name, seconds=seconds, retries=retries)


class LocalModel:
    """A `Model` over a provider that is free, deterministic and in this process: nothing to store.

    Storing would serve yesterday's answers after the rules that make them have changed.
    """

    def __init__(self, provider: Provider, *, meter: Meter | None = None) -> None:
        self._provider, self._meter = provider, meter

    def metered(self, meter: Meter) -> LocalModel:
        """The same model, whose calls `meter` allows and counts: they cost no money, but tokens and calls."""
        return LocalModel(self._provider, meter=meter)

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def respond(self, request: Request) -> Response:
        """Compute the response. Raises ModelError."""
        if self._meter is not None:
            self._meter.check()
        started = time.monotonic()
        response = self._provider.read(self._provider.send(request))
        if self._meter is not None:
            self._meter.record(cost_of(self.spec, response.usage))
        return response.model_copy(
            update={
                "request_key": request_key(self.spec, request),
                "seconds": round(time.monotonic() - started, 6),
            }
        )


def finish(response: Response, entry: Entry, *, replayed: bool) -> Response:
    """Add to a read response how it was paid."""
    return response.model_copy(
        update={
            "request_key": entry.key,
            "seconds": entry.seconds,
            "retries": entry.retries,
            "replayed": replayed,
            "batch": entry.batch,
        }
    )


def _seal(entry: Entry) -> bytes:
    content = json.dumps(entry.model_dump(), sort_keys=True, separators=(",", ":"))
    return json.dumps({"sha256": digest(content), "entry": content}).encode("ascii")


def unseal(data: bytes, key: str) -> Entry:
    """The entry in what lies under `key`. Raises ValueError that says what is wrong: half written, damaged,
    another request's, or of an older form."""
    try:
        envelope = json.loads(data)
        content, said = str(envelope["entry"]), envelope["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("half written or damaged") from None
    if said != digest(content):
        raise ValueError("damaged: its checksum is another")
    try:
        entry = Entry.model_validate(json.loads(content))
    except (ValueError, RecursionError):
        raise ValueError("of an older form") from None
    if entry.key != key:
        raise ValueError(f"the entry of another request, {entry.key}")
    return entry


@contextmanager
def _among_processes(path: Path | None) -> Generator[None]:
    """Hold a lock file; nothing where there is none, or its file system knows no locks."""
    file = None if path is None else _locked(path)
    try:
        yield
    finally:
        if path is not None and file is not None:
            path.unlink(missing_ok=True)  # while it is ours: who waits for it notices and takes a new one
            fcntl.flock(file, fcntl.LOCK_UN)  # a child made by fork may hold a copy open
            os.close(file)


def _locked(path: Path) -> int | None:
    try:
        return lock(path, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        return None
