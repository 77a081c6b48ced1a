"""Deadlines of a call and of each of its attempts, and the repetition of a call while its failure is transient.

A deadline holds however slowly a server sends. A timeout of an SDK is for one read of a socket only, so a server that sends a byte now and
then could keep a call open forever. This module decides when the call and the attempt of this thread end, and then stops their network
streams. It decides whether a call is repeated, and after what pause (Retry-After). It does not repeat a call for a fault that the
model could correct. `wires/server_errors.py` makes errors from answers, `rate_limits.py` caps the pause that a server asks for, and
`ledger.py` stores responses.
"""

import math
import random
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import tenacity
from tenacity.stop import stop_base

from qagen_dagster.errors import MalformedResponseError, TransientModelError, UnreachableError

_SHORTEST = 0.001  # seconds for an attempt whose call has no time left
_PIECE = 65_536  # bytes to write between two checks of the clock
_CONNECT = 5.0  # seconds in which a connection must be made
_UNREACHABLE = 4.0  # seconds for trying a server that has not answered yet
_call_ends: ContextVar[float] = ContextVar("call_ends", default=math.inf)
_attempt_ends: ContextVar[float] = ContextVar("attempt_ends", default=math.inf)


@contextmanager
def call_deadline(seconds: float) -> Generator[None]:
    """Run the body as one call of this thread that ends after `seconds`."""
    token = _call_ends.set(min(call_ends(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _call_ends.reset(token)


def call_ends() -> float:
    """The end of the call of this thread, in `time.monotonic()` seconds; infinite outside a call."""
    return _call_ends.get()


@contextmanager
def attempt_deadline(seconds: float) -> Generator[float]:
    """Run the body as one attempt of `seconds`, or of the rest of its call if that is shorter, and yield the shorter time in seconds. After
    this time, the network streams of clients that were given to `stop_at_deadline` raise TimeoutError."""
    now = time.monotonic()
    allowed = max(_SHORTEST, min(seconds, call_ends() - now))
    token = _attempt_ends.set(now + allowed)
    try:
        yield allowed
    finally:
        _attempt_ends.reset(token)


def stop_at_deadline(client: object) -> None:
    """Make the `client` of an SDK stop at the end of `attempt_deadline`. Its HTTP library has no public interface for this. If a release of
    the library keeps its connections elsewhere, only the timeout of each single read remains."""
    http = getattr(client, "_client", None)
    mounted: dict[object, object] = getattr(http, "_mounts", {})
    for transport in (getattr(http, "_transport", None), *mounted.values()):
        pool: Any = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if backend is not None:
            pool._network_backend = _Backend(backend)


def check_deadline() -> None:
    """Raise TimeoutError if the time of this thread's attempt has ended."""
    _left(None)


def _left(timeout: float | None) -> float:
    left = _attempt_ends.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left if timeout is None else min(timeout, left)


class _Backend:
    """Opens TCP connections through another backend of httpcore. The connections stop at the deadline."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *more: object, **named: object
    ) -> "_Stream":
        allowed = min(_left(timeout), _CONNECT)
        return _Stream(self._backend.connect_tcp(host, port, allowed, *more, **named))


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
    ) -> "_Stream":
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


T = TypeVar("T")

# "Full jitter" (Brooker, Exponential Backoff And Jitter, 2015): callers refused together do not retry together.
_BACKOFF = tenacity.wait_random_exponential(multiplier=1.0, min=0.2, max=60.0)
_JITTER = random.SystemRandom()


def call_with_retry(
    function: Callable[[], T],
    *,
    max_attempts: int,
    deadline_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Call `function` until it succeeds, and return its value.

    Only TransientModelError and MalformedResponseError are retried, with at most `max_attempts` attempts in all. No
    attempt begins or lasts beyond `deadline_seconds`. A pause that the server asks for is waited for in full if it ends before the
    deadline; otherwise the call fails at once. A server that has never answered is tried for a few seconds by all
    calls together. Raises the last of these errors, or any other error at once.
    """
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((TransientModelError, MalformedResponseError)),
        stop=tenacity.stop_after_attempt(max_attempts)
        | tenacity.stop_before_delay(deadline_seconds)
        | _IsDead(),
        wait=_wait,
        sleep=sleep,
        retry_error_callback=_give_up,
    )
    with call_deadline(deadline_seconds):
        return retrying(function)


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, TransientModelError) and error.retry_after is not None:
        return error.retry_after + _JITTER.uniform(0.0, 0.5)
    return _BACKOFF(state)


class _IsDead(stop_base):
    """Stops when a server that never answered has been tried for long enough."""

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        next_attempt = time.monotonic() + retry_state.upcoming_sleep
        return isinstance(error, UnreachableError) and next_attempt > error.since + _UNREACHABLE


def _give_up(state: tenacity.RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    tried = "1 attempt" if state.attempt_number == 1 else f"{state.attempt_number} attempts"
    message = f"{error} (gave up after {tried})"
    if isinstance(error, UnreachableError):
        raise error
    if isinstance(error, TransientModelError):
        raise type(error)(message, retry_after=error.retry_after)
    raise MalformedResponseError(message)


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """The seconds that the server asks to wait: Retry-After-Ms, or Retry-After as a number or HTTP date. None if neither can be read."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
