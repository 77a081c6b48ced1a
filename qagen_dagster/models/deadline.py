"""Deadlines of a call and of each attempt of it, which hold however slowly a server sends.

The timeouts of the SDKs are for one read of a socket, so a server that sends a byte now and then could keep a
call open for ever. What belongs here: the moments at which the call and the attempt of this thread end, and
network streams that stop at them. What does not: when to retry (`retry.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_SHORTEST = 0.001  # seconds of an attempt whose call has no time left
_PIECE = 65_536  # bytes to write between two checks of the clock
_call_ends: ContextVar[float] = ContextVar("call_ends", default=math.inf)
_attempt_ends: ContextVar[float] = ContextVar("attempt_ends", default=math.inf)


@contextmanager
def call(seconds: float) -> Generator[None]:
    """The body, in this thread, is one call that ends after `seconds`."""
    token = _call_ends.set(min(call_ends(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _call_ends.reset(token)


def call_ends() -> float:
    """When the call of this thread ends, in `time.monotonic()` seconds; infinite outside a call."""
    return _call_ends.get()


@contextmanager
def attempt(seconds: float) -> Generator[float]:
    """The body is one attempt, of `seconds` or the rest of its call if that is shorter; yields the seconds.

    After that, streams of bounded clients raise TimeoutError.
    """
    now = time.monotonic()
    allowed = max(_SHORTEST, min(seconds, call_ends() - now))
    token = _attempt_ends.set(now + allowed)
    try:
        yield allowed
    finally:
        _attempt_ends.reset(token)


def bound(client: object) -> None:
    """Make the `client` of an SDK stop at the end of `attempt`.

    Its HTTP library has no public interface for this. If a release of it keeps connections elsewhere, the
    timeout of each single read remains.
    """
    http = getattr(client, "_client", None)
    mounted: dict[object, object] = getattr(http, "_mounts", {})
    for transport in (getattr(http, "_transport", None), *mounted.values()):
        pool: Any = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if backend is not None:
            pool._network_backend = _Backend(backend)


def check() -> None:
    """Raises TimeoutError when the attempt of this thread has ended."""
    _left(None)


def _left(timeout: float | None) -> float:
    left = _attempt_ends.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left if timeout is None else min(timeout, left)


class _Backend:
    """Opens the connections of another backend, but bounded. The interface is httpcore's."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *more: object, **named: object
    ) -> _Stream:
        return _Stream(self._backend.connect_tcp(host, port, _left(timeout), *more, **named))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, *more: object, **named: object
    ) -> _Stream:
        return _Stream(self._backend.connect_unix_socket(path, _left(timeout), *more, **named))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._stream.read(max_bytes, _left(timeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], _left(timeout))

    def start_tls(
        self, ssl_context: object, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
