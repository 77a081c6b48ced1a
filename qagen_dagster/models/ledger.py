"""The ledger: the durable record of every paid model response, stored under the hash of its request.

This module has the key, the stored form of a response, and the models that store a response before they read it. It also decides when to
stop asking a model whose replies no agent can use. A `Blobs` stores the bytes, a provider sends a call, and `retry.py` retries it.

A stored response is replayed whenever its request is repeated. The exception is a body that cannot be read. It was
paid for, so it is stored and its cost is counted, but the request is sent again. A caller that wants another sample
asks `request.model_copy(update={"sample": request.sample + 1})`, which has its own key.

An entry contains the body that the server sent. Of the request it contains only the hash, and no prompt, picture, header or API
key. Pictures are stored once, with their document. The hash of a request covers the hash of each picture, not its bytes.
"""

import copy
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from qagen_dagster.errors import MalformedResponseError, PermanentModelError, StoreError
from qagen_dagster.models.base import Provider
from qagen_dagster.models.budget import TALLY, Meter, Spent, cost_of
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.models.file_locks import lock, unlock
from qagen_dagster.models.messages import Request, Response, Stop, Usage
from qagen_dagster.models.retry import call_with_retry
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.tokens import at_most
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import digest
from qagen_dagster.store import Blobs

# After this number of consecutive useless replies, over all documents, a model is not asked again.
STOP_AFTER = 20
_CUT = "cut off at {most} output tokens: raise `max_output_tokens` of the model, or the limit of its server"


def fault_of(request: Request, response: Response) -> str | None:
    """The reason why no agent can use a reply; None if an agent can use it. A reply is useless if it has no text and
    no tool call, or if each of its tool calls names an unknown tool or has unreadable arguments."""
    message = response.message
    if response.stop is Stop.LENGTH:  # the complete items and lines of a reply that is cut off are useful
        useful = message.text or any(call.arguments for call in message.tool_calls[-1:])
        return None if useful else _CUT.format(most=response.usage.output_tokens)
    if response.stop is Stop.END and (message.in_reasoning or not message.content):
        return message.in_reasoning or "the reply is empty"
    names = {tool.name for tool in request.tools}
    calls = response.message.tool_calls
    faults = [
        f"unknown tool {call.name!r:.60}" if call.name not in names else f"{call.name}: {call.fault}"
        for call in calls
        if call.name not in names or call.fault is not None
    ]
    return " ".join(faults[0][:300].split()) if faults and len(faults) == len(calls) else None


class Breaker:
    """Counts the consecutive useless replies of one model. Many threads may use it."""

    def __init__(self) -> None:
        self._lock, self._in_a_row, self._fault = threading.Lock(), 0, ""

    def check(self, model: str) -> None:
        """Raise PermanentModelError if the last `STOP_AFTER` replies were useless."""
        if self._in_a_row >= STOP_AFTER:
            raise PermanentModelError(
                f"{model}: stopped after {STOP_AFTER} useless replies in a row, the last: {self._fault}"
            )

    def count(self, fault: str | None) -> None:
        """Count a reply. `fault` is None for a useful reply, which resets the count."""
        with self._lock:
            self._in_a_row = 0 if fault is None else self._in_a_row + 1
            if self._in_a_row <= STOP_AFTER:  # later replies of calls in flight do not change the message
                self._fault = fault or ""


# Errors of file systems without locks, or without the right to lock. Then a request may be paid twice, but
# nothing else changes.
_WITHOUT_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM})
_ROOM = 65_536  # bytes that must be free on the disk before a call is paid; few responses are longer

T = TypeVar("T")


class Entry(Record):
    """One stored response."""

    key: str
    model: str  # `provider:model`
    body: dict[str, Any]  # as the server sent it
    created: str  # ISO 8601, UTC
    seconds: float  # time of the whole call with its retries
    retries: int
    batch: bool = False  # whether the response came from a batch


class _Envelope(Record):
    """The stored form of an entry."""

    sha256: str
    entry: str  # JSON


def request_key(spec: ModelSpec, request: Request) -> str:
    """The key of a response: the hash of everything that can change it, in 64 hexadecimal digits."""
    identity = json.dumps(spec.identity(), sort_keys=True, separators=(",", ":"))
    return digest(identity, request.canonical())


class Ledger:
    """The entries in `blobs`, with checksums. Many threads and processes may use them, and may die at any moment."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    def get(self, key: str) -> Entry | None:
        """The entry under `key`; None if it is missing, damaged or in an older format."""
        data = self._blobs.get(key)
        try:
            return None if data is None else unseal(data, key)
        except ValueError:
            return None

    def put(
        self, key: str, body: dict[str, Any], *, model: str, seconds: float, retries: int, batch: bool = False
    ) -> Entry:
        """Store `body` durably. Returns the entry, as a later `get` does."""
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

    def obtain(
        self,
        key: str,
        send: Callable[[], dict[str, Any]],
        read: Callable[[dict[str, Any]], T],
        spec: ModelSpec | EmbedderSpec,
        cost: Callable[[Entry], Spent],
        most: Callable[[], Spent],
        meter: Meter | None,
        sleep: Callable[[float], None],
    ) -> tuple[T, Entry, bool]:
        """Returns (value, entry, replayed). Replays a response that `read` accepts, or else calls `send`.

        Every response is stored before it is read, and `meter` gets its `cost`. If `meter` has no room for `most`, the call is not made.
        `read` returns the value of a response. If it raises MalformedResponseError, the request is sent again, as after a transient error.

        Raises ModelError, and StoreError if responses cannot be stored.
        """
        found = self._usable(key, read)
        if found is not None:
            return *found, True
        with self.only_one(key) as lock_file:
            found = self._usable(key, read)  # another thread or process may have paid for it meanwhile
            if found is not None:
                return *found, True
            started, attempts = time.monotonic(), 0

            def attempt() -> tuple[T, Entry]:
                nonlocal attempts
                with nullcontext() if meter is None else meter.hold(most()):
                    if attempts:
                        TALLY.retried()
                    with _room(lock_file, self._blobs.lock_file(key)):
                        attempts += 1
                        body = send()
                    seconds = round(time.monotonic() - started, 6)
                    entry = self.put(key, body, model=spec.name, seconds=seconds, retries=attempts - 1)
                    spent = cost(entry)
                    TALLY.paid(spent.usd)
                    if meter is not None:
                        meter.record(spent)
                return read(body), entry

            value, entry = call_with_retry(
                attempt, max_attempts=spec.max_attempts, deadline_seconds=spec.deadline_seconds, sleep=sleep
            )
            return value, entry, False

    def _usable(self, key: str, read: Callable[[dict[str, Any]], T]) -> tuple[T, Entry] | None:
        """Returns (value, entry) of the stored response; None if nothing is stored, or if `read` does not accept it."""
        entry = self.get(key)
        try:
            return None if entry is None else (read(entry.body), entry)
        except MalformedResponseError:
            return None

    @contextmanager
    def only_one(self, key: str) -> Generator[int | None]:
        """Hold the lock of `key` among all threads, processes and machines that use these entries, so that no
        request is paid twice. When a process ends, its locks are released; in a store without lock files, this
        happens after `lease.SECONDS`. Yields the open lock file, or None without a lock file."""
        with self._guard:
            ours, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (ours, users + 1)
        try:
            path = self._blobs.lock_file(key)
            with ours, self._blobs.lease(key) if path is None else _among_processes(path) as file:
                yield file
        finally:
            with self._guard:
                ours, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = (ours, users - 1)


class LedgeredModel:
    """A `Model` that pays for each request once, if the budget allows it."""

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        *,
        sleep: Callable[[float], None] = time.sleep,
        breaker: Breaker | None = None,
    ) -> None:
        self._provider, self._ledger, self._sleep = provider, ledger, sleep
        self._meter: Meter | None = None
        self._breaker = breaker or Breaker()

    def metered(self, meter: Meter) -> "LedgeredModel":
        """The same model with `meter`, which checks each paid call and records its cost."""
        other = copy.copy(self)
        other._meter = meter
        return other

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def respond(self, request: Request) -> Response:
        """Return the stored response; if there is none, send the request, store the response and return it. Raises ModelError, which is a
        BudgetExhaustedError if nothing was sent because of the budget. Raises StoreError if responses cannot be stored."""
        try:
            response, entry, replayed = self._ledger.obtain(
                request_key(self.spec, request),
                lambda: self._send(request),
                self._provider.read,
                self.spec,
                lambda entry: self._cost(request, entry),
                lambda: self._most(request),
                self._meter,
                self._sleep,
            )
        except MalformedResponseError as error:
            self._breaker.count(str(error))
            raise
        if not replayed:
            self._breaker.count(fault_of(request, response))
        return self._finish(request, response, entry, replayed=replayed)

    def _finish(self, request: Request, response: Response, entry: Entry, *, replayed: bool) -> Response:
        """`response` with the key, time and retries of its entry, and with `replayed`.

        If the counts of tokens are not credible, `charged` holds what budgets count.
        """
        found: dict[str, Any] = {
            "request_key": entry.key,
            "seconds": entry.seconds,
            "retries": entry.retries,
            "replayed": replayed,
            "batch": entry.batch,
        }
        usage = response.usage
        charged = usage.charged(at_most(request, self.spec))
        if charged is not usage:
            found |= {"usage": usage.model_copy(update={"measured": False}), "charged": charged}
        return response.model_copy(update=found)

    def _send(self, request: Request) -> dict[str, Any]:
        self._breaker.check(self.spec.name)
        return self._provider.send(request)

    def _most(self, request: Request) -> Spent:
        return cost_of(self.spec, at_most(request, self.spec))

    def _cost(self, request: Request, entry: Entry) -> Spent:
        """The cost that budgets count for a stored response. If the token counts are not credible, at least the reserved tokens count."""
        try:
            usage = self._provider.read(entry.body).usage
        except MalformedResponseError:
            usage = Usage(measured=False)
        charged = usage.charged(at_most(request, self.spec))
        TALLY.unmeasured |= charged is not usage
        return cost_of(self.spec, charged, batch=entry.batch)


class LocalModel:
    """A `Model` whose provider is free, deterministic and in this process. Its responses are not stored,
    because they would be stale after a change of the code that computes them."""

    def __init__(self, provider: Provider, *, meter: Meter | None = None) -> None:
        self._provider, self._meter = provider, meter

    def metered(self, meter: Meter) -> "LocalModel":
        """The same model with `meter`, which checks each call and records its tokens. The calls cost no money."""
        return LocalModel(self._provider, meter=meter)

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def respond(self, request: Request) -> Response:
        """Compute the response. Raises ModelError."""
        started = time.monotonic()
        with nullcontext() if self._meter is None else self._meter.hold(Spent(calls=1)):
            response = self._provider.read(self._provider.send(request))
            if self._meter is not None:
                self._meter.record(cost_of(self.spec, response.usage))
        seconds = round(time.monotonic() - started, 6)
        circumstances = {"request_key": request_key(self.spec, request), "seconds": seconds}
        return response.model_copy(update=circumstances)


def _seal(entry: Entry) -> bytes:
    content = json.dumps(entry.model_dump(), sort_keys=True, separators=(",", ":"))
    return json.dumps({"sha256": digest(content), "entry": content}).encode("ascii")


def unseal(data: bytes, key: str) -> Entry:
    """The entry in the bytes that are stored under `key`. Raises ValueError if the entry is half written,
    damaged, of another request, or in an older format. The message says which."""
    try:
        # With `json.loads`, deeply nested damaged data would use up the stack, and finalizers that run at
        # that time would fail.
        envelope = _Envelope.model_validate_json(data)
    except ValueError:
        raise ValueError("half written or damaged") from None
    if envelope.sha256 != digest(envelope.entry):
        raise ValueError("damaged: its checksum does not match")
    try:
        entry = Entry.model_validate(json.loads(envelope.entry))
    except (ValueError, RecursionError):
        raise ValueError("in an older format") from None
    if entry.key != key:
        raise ValueError(f"the entry of another request, {entry.key}")
    return entry


@contextmanager
def _among_processes(path: Path) -> Generator[int | None]:
    """Hold the lock file at `path`. Yields the open file, or None if its file system has no locks."""
    file = None
    try:
        file = lock(path, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
    try:
        yield file
    finally:
        if file is not None:
            path.unlink(missing_ok=True)  # still locked; waiting processes notice, and lock a new file
            unlock(file)


@contextmanager
def _room(file: int | None, path: Path | None) -> Generator[None]:
    """Fill the lock file during a call, so that a full disk is noticed before the call is paid. Raises StoreError."""
    if file is None:
        yield
        return
    try:
        if os.pwrite(file, bytes(_ROOM), 0) < _ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        os.ftruncate(file, 0)
