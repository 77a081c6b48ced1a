"""The record of every model response, written before it is read, addressed by its request.

What belongs here: the address, the envelope, and the model that stores before it reads. What does
not: where the bytes lie (a `Blobs`), how a call is sent (a provider) or tried again (`retry.py`).

A stored response is the answer to its request for good, also one that cannot be read: replay raises
the same MalformedResponseError. A caller that wants another draw asks
`request.model_copy(update={"sample": request.sample + 1})`, which has an address of its own.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import ValidationError

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.models.base import ModelSpec, Provider
from qagen_dagster.models.budget import Spent, Toll, cost_of
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.retry import call_with_retry
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import digest


class Blobs(Protocol):
    """Where entries lie. `put` is atomic: a reader sees all of a value or none of it."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...


class Entry(Record):
    """One stored response. Holds no header, no key, and of the request only its hash."""

    key: str
    model: str  # `provider:model`
    body: dict[str, Any]  # as the server sent it
    created: str  # ISO 8601, UTC
    seconds: float  # of the call with its retries
    retries: int


def request_key(spec: ModelSpec, request: Request) -> str:
    """The address of a response: 64 hexadecimal digits over everything that can change it."""
    identity = json.dumps(spec.identity(), sort_keys=True, separators=(",", ":"))
    return digest(identity, request.canonical())


class Ledger:
    """Checked entries over `blobs`; safe for the threads of one process."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    def get(self, key: str) -> Entry | None:
        """The entry, or None where there is none whole: what fails its checksum is never served."""
        data = self._blobs.get(key)
        return None if data is None else _open(data, key)

    def put(self, key: str, body: dict[str, Any], *, model: str, seconds: float, retries: int) -> Entry:
        """Store `body` durably and return the entry as a later `get` will."""
        entry = Entry(
            key=key,
            model=model,
            body=body,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=seconds,
            retries=retries,
        )
        self._blobs.put(key, _seal(entry))
        return entry

    @contextmanager
    def only_one(self, key: str) -> Generator[None]:
        """Hold `key` against the other threads of this process, so that two do not both pay."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = (lock, users - 1)


class LedgeredModel:
    """A `Model` that pays for each request once, and only if its toll lets it."""

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        *,
        sleep: Callable[[float], None] = time.sleep,
        toll: Toll | None = None,
    ) -> None:
        self._provider, self._ledger, self._sleep, self._toll = provider, ledger, sleep, toll

    def charged_to(self, toll: Toll) -> LedgeredModel:
        """The same model, whose paid calls `toll` allows and counts."""
        charged = copy.copy(self)
        charged._toll = toll
        return charged

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def respond(self, request: Request) -> Response:
        """Replay the stored response, or send, store and read. Raises ModelError; of it BudgetExhaustedError before
        anything is sent."""
        key = request_key(self.spec, request)
        with self._ledger.only_one(key):
            entry = self._ledger.get(key)
            replayed = entry is not None
            if entry is None:
                if self._toll is not None:
                    self._toll.before()
                entry = self._pay(key, request)
                if self._toll is not None:
                    self._toll.paid(self._cost(entry))
        return finish(self._provider.read(entry.body), entry, replayed=replayed)

    def _cost(self, entry: Entry) -> Spent:
        """What a stored response cost; of one that cannot be read only that it was a call."""
        try:
            return cost_of(self.spec, self._provider.read(entry.body).usage)
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

    def __init__(self, provider: Provider, *, toll: Toll | None = None) -> None:
        self._provider, self._toll = provider, toll

    def charged_to(self, toll: Toll) -> LocalModel:
        """The same model, whose calls `toll` allows and counts: they cost no money, but tokens and calls."""
        return LocalModel(self._provider, toll=toll)

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def respond(self, request: Request) -> Response:
        """Compute the response. Raises ModelError."""
        if self._toll is not None:
            self._toll.before()
        started = time.monotonic()
        response = self._provider.read(self._provider.send(request))
        if self._toll is not None:
            self._toll.paid(cost_of(self.spec, response.usage))
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
        }
    )


def _seal(entry: Entry) -> bytes:
    content = json.dumps(entry.model_dump(), sort_keys=True, separators=(",", ":"))
    return json.dumps({"sha256": digest(content), "entry": content}).encode("ascii")


def _open(data: bytes, key: str) -> Entry | None:
    try:
        envelope = json.loads(data)
        content = str(envelope["entry"])
        if envelope["sha256"] != digest(content):
            return None
        entry = Entry.model_validate(json.loads(content))
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None  # half written, damaged, or of an older form: paid again
    return entry if entry.key == key else None
