"""The rate limits of a model: token buckets, and how far a refusal slows all of its users down.

What belongs here: the arithmetic, and the small locked file in which all processes of one machine keep the
state. What does not: waiting (`limiter.py`), the concurrency limit (`concurrency.py`).

A bucket is stored as the moment at which it will be full again (the generic cell rate algorithm, ITU-T I.371):
one number per bucket. Whoever asks is told when to start, in the order of asking.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from qagen_dagster.models.limits.file_lock import lock, unlock
from qagen_dagster.records.base import Record

# This share of a limit per minute is spread evenly over the minute, and a burst has at most one second's worth. So
# no window of sixty seconds holds more requests than the limit, and servers that count per second accept them too.
_STEADY, _AT_ONCE = 0.95, 1 / 60
# A refusal lowers the rate by a twentieth, once for requests that started together, down to a minimum. An answer
# raises it by less, and only while few requests are refused. So one refusal in ten, at random, costs almost nothing,
# and a server that allows half of the limit soon gets little more than it allows.
_SLOWER, _SLOWEST, _FASTER = 0.95, 0.1, 0.02
_MEMORY = 1 / 16  # weight of one answer or refusal in the fraction of refused requests
_FEW, _MANY = 0.2, 0.35
_SHORT = 2.0  # seconds
_LONGEST_PAUSE = 600.0  # seconds: after it the server is asked again, even if it named hours
_SIZE = 512  # bytes of the file, always the same, so that one write replaces the whole file


class Limits(Record):
    """The limits of one model: requests and tokens per minute, and requests in flight. None: no limit."""

    requests: float | None = None
    tokens: float | None = None
    concurrency: int | None = None

    @property
    def unlimited(self) -> bool:
        return self.requests is None and self.tokens is None and self.concurrency is None


class RateState(Record):
    """The state of a model's rate limits, shared by all who use the model.

    Start times are moments of a clock of its own, which runs slower after refusals and stops during a pause. So
    promised starts keep their order, however the rate changes.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    written: float  # in seconds of the machine's monotonic clock
    clock: float = 0.0  # the own clock at that moment
    requests: float = 0.0  # on the own clock: when the bucket of requests is full again
    tokens: float = 0.0
    factor: float = Field(default=1.0, ge=_SLOWEST, le=1.0)  # how fast the own clock runs
    refused: float = Field(
        default=0.5, ge=0.0, le=1.0
    )  # recent fraction of refused requests; unknown at first
    pause: float  # on the machine's clock: nothing starts before this


def fresh(now: float) -> RateState:
    """The state before the first request."""
    return RateState(written=now, pause=now)


def at(state: RateState, now: float) -> RateState:
    """The state at the moment `now`."""
    gone = max(0.0, now - max(state.written, state.pause))
    return state.model_copy(update={"written": now, "clock": state.clock + gone * state.factor})


def reserve(state: RateState, limits: Limits, tokens: float) -> tuple[float, RateState]:
    """When a request of `tokens` may start, on the state's own clock, and the state with that start promised."""
    tokens = min(tokens, limits.tokens or tokens)  # a request beyond the limit counts as one minute's worth
    start = max(
        state.clock,
        _opens(state.requests, 1.0, limits.requests),
        _opens(state.tokens, tokens, limits.tokens),
    )
    filled: dict[str, float] = {}
    if limits.requests:
        filled["requests"] = max(state.requests, start) + 1.0 / _rate(limits.requests)
    if limits.tokens:
        filled["tokens"] = max(state.tokens, start) + tokens / _rate(limits.tokens)
    return start, state.model_copy(update=filled) if filled else state


def wait(state: RateState, start: float) -> float:
    """Seconds until `start`, if the rate does not change."""
    return max(0.0, state.pause - state.written) + max(0.0, start - state.clock) / state.factor


def settle(state: RateState, limits: Limits, *, estimated: float, used: float) -> RateState:
    """A request was answered: count its real tokens and, while refusals are rare, raise the rate a little."""
    refused = state.refused * (1.0 - _MEMORY)
    changes: dict[str, float] = {"refused": refused}
    if limits.tokens:
        more = min(used, limits.tokens) - min(estimated, limits.tokens)
        changes["tokens"] = state.tokens + more / _rate(limits.tokens)
    if refused < _FEW:
        changes["factor"] = min(1.0, state.factor + _FASTER)
    return state.model_copy(update=changes)


def refuse(
    state: RateState, limits: Limits, *, started: float, slower: bool, retry_after: float | None
) -> RateState:
    """The server refused a request that started when the factor was `started`.

    `slower`: it was over the server's limits, so the rate drops a little below `started`. All users back off for
    `retry_after` seconds. The exception is a short one amid many answers: it is for the refused request alone, if
    there are limits that can be lowered instead.
    """
    alone = retry_after is None or (not limits.unlimited and retry_after <= _SHORT and state.refused < _MANY)
    changes: dict[str, float] = {}
    if slower:
        changes["refused"] = state.refused + _MEMORY * (1.0 - state.refused)
        changes["factor"] = max(_SLOWEST, min(state.factor, started * _SLOWER))
    if retry_after is not None and not alone:
        changes["pause"] = max(state.pause, state.written + min(retry_after, _LONGEST_PAUSE))
    return state.model_copy(update=changes)


def _rate(per_minute: float) -> float:
    """Per second of the own clock."""
    return _STEADY * per_minute / 60.0


def _opens(full: float, cost: float, per_minute: float | None) -> float:
    """When a bucket that is full at `full` holds `cost`. A larger cost than the bucket needs a full bucket."""
    if per_minute is None:
        return -math.inf
    held = max(1.0, _AT_ONCE * per_minute)
    return full - max(0.0, held - cost) / _rate(per_minute)


class RateFile:
    """The state of one model in a file. Readers and writers take turns; an unreadable file counts as new."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self._clock = path, clock

    @contextmanager
    def turn(self) -> Generator[Turn]:
        """Lock the file. A state that the caller puts into the turn is written at its end. Raises OSError."""
        file = lock(self._path, fcntl.LOCK_EX)
        try:
            now = self._clock()
            turn = Turn(at(_load(file, now), now))
            before = turn.state
            yield turn
            if turn.state is not before:
                data = turn.state.model_dump_json().encode("ascii")
                os.pwrite(file, data.ljust(_SIZE), 0)
        finally:
            unlock(file)


class Turn:
    """The state while the file is locked; assign to `state` to replace it."""

    def __init__(self, state: RateState) -> None:
        self.state = state


def _load(file: int, now: float) -> RateState:
    try:
        state = RateState.model_validate(json.loads(os.pread(file, _SIZE, 0)))
    except (ValueError, RecursionError, ValidationError):
        return fresh(now)
    return state if state.written <= now else fresh(now)  # the machine was restarted since
