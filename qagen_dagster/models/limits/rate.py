"""When the next request of a model may start: token buckets, and how far a refusal slows them all down.

What belongs here: the arithmetic, and the small file under a lock in which all processes of one machine
keep it. What does not: waiting (`permits.py`), places in flight (`concurrency.py`).

Buckets are kept as the moment at which they will be full again (the generic cell rate algorithm, ITU-T
I.371): one number each, and who asks is told when to start, in the order of asking.
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

from qagen_dagster.models.limits.file_lock import lock
from qagen_dagster.records.base import Record

# Of a limit per minute this much is spread evenly over the minute, and at most a second's worth comes at once:
# so no window of sixty seconds holds more requests than the limit, and servers that count by the second agree.
_STEADY, _AT_ONCE = 0.95, 1 / 60
# A refusal takes a twentieth of the pace, once for those that started together, down to a floor; an answer gives
# back less, and that only while few are refused. So one in ten refused at random costs next to nothing, and a
# server that allows half of the limit is soon asked for little more than it allows.
_SLOWER, _SLOWEST, _FASTER = 0.95, 0.1, 0.02
_MEMORY = 1 / 16  # weight of one answer or refusal in the fraction that is refused
_FEW, _MANY = 0.2, 0.35
_SHORT = 2.0  # seconds
_LONGEST_PAUSE = 600.0  # seconds: a wish of hours is asked about again
_SIZE = 512  # bytes of the file, always the same, so that one write replaces all of it


class Limits(Record):
    """Of one model, per minute and in flight; None: without limit."""

    requests: float | None = None
    tokens: float | None = None
    concurrency: int | None = None

    @property
    def unlimited(self) -> bool:
        return self.requests is None and self.tokens is None and self.concurrency is None


class Pace(Record):
    """Shared by all who use a model.

    Starts are moments of a clock of its own, which goes slower after refusals and stands still in a pause: so
    what was promised stays in its order, however the pace changes.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    written: float  # in seconds of the machine's monotonic clock
    clock: float = 0.0  # the pace's own clock at that moment
    requests: float = 0.0  # of that clock: when the bucket of requests is full again
    tokens: float = 0.0
    factor: float = Field(default=1.0, ge=_SLOWEST, le=1.0)  # how fast that clock goes
    refused: float = Field(default=0.5, ge=0.0, le=1.0)  # fraction of late; at first nobody knows
    pause: float  # of the machine's clock: nothing starts before


def fresh(now: float) -> Pace:
    """Nothing was asked yet."""
    return Pace(written=now, pause=now)


def at(pace: Pace, now: float) -> Pace:
    """The pace as it has become."""
    gone = max(0.0, now - max(pace.written, pace.pause))
    return pace.model_copy(update={"written": now, "clock": pace.clock + gone * pace.factor})


def reserve(pace: Pace, limits: Limits, tokens: float) -> tuple[float, Pace]:
    """When a request of so many tokens may start, by the pace's clock, and the pace once it is promised."""
    tokens = min(tokens, limits.tokens or tokens)  # what never fits is let through, a minute's worth
    start = max(
        pace.clock,
        _opens(pace.requests, 1.0, limits.requests),
        _opens(pace.tokens, tokens, limits.tokens),
    )
    filled: dict[str, float] = {}
    if limits.requests:
        filled["requests"] = max(pace.requests, start) + 1.0 / _rate(limits.requests)
    if limits.tokens:
        filled["tokens"] = max(pace.tokens, start) + tokens / _rate(limits.tokens)
    return start, pace.model_copy(update=filled) if filled else pace


def wait(pace: Pace, start: float) -> float:
    """Seconds until `start`, if the pace stays as it is."""
    return max(0.0, pace.pause - pace.written) + max(0.0, start - pace.clock) / pace.factor


def settle(pace: Pace, limits: Limits, *, estimated: float, used: float) -> Pace:
    """A request was answered: its real tokens count, and while refusals are rare the pace recovers a little."""
    refused = pace.refused * (1.0 - _MEMORY)
    changes: dict[str, float] = {"refused": refused}
    if limits.tokens:
        more = min(used, limits.tokens) - min(estimated, limits.tokens)
        changes["tokens"] = pace.tokens + more / _rate(limits.tokens)
    if refused < _FEW:
        changes["factor"] = min(1.0, pace.factor + _FASTER)
    return pace.model_copy(update=changes)


def refuse(pace: Pace, limits: Limits, *, started: float, slower: bool, wish: float | None) -> Pace:
    """The server refused a request that started when the factor was `started`.

    `slower`: because too much was asked of it, so the pace drops a little below that. The server's wish, so many
    seconds, holds for everybody; only a short one amid many answers is for the one who was refused, where there
    are limits that can be lowered instead.
    """
    alone = wish is None or (not limits.unlimited and wish <= _SHORT and pace.refused < _MANY)
    changes: dict[str, float] = {}
    if slower:
        changes["refused"] = pace.refused + _MEMORY * (1.0 - pace.refused)
        changes["factor"] = max(_SLOWEST, min(pace.factor, started * _SLOWER))
    if wish is not None and not alone:
        changes["pause"] = max(pace.pause, pace.written + min(wish, _LONGEST_PAUSE))
    return pace.model_copy(update=changes)


def _rate(per_minute: float) -> float:
    """Per second of the pace's clock."""
    return _STEADY * per_minute / 60.0


def _opens(full: float, cost: float, per_minute: float | None) -> float:
    """When a bucket that is full at `full` holds `cost`; for more than it ever holds it must be full."""
    if per_minute is None:
        return -math.inf
    held = max(1.0, _AT_ONCE * per_minute)
    return full - max(0.0, held - cost) / _rate(per_minute)


class PaceFile:
    """The pace of one model in a file. Readers and writers take turns; what is unreadable starts anew."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self._clock = path, clock

    @contextmanager
    def turn(self) -> Generator[Turn]:
        """Hold the file; what is put into the turn is written at its end. Raises OSError."""
        file = lock(self._path, fcntl.LOCK_EX)
        try:
            now = self._clock()
            turn = Turn(at(_load(file, now), now))
            before = turn.pace
            yield turn
            if turn.pace is not before:
                data = turn.pace.model_dump_json().encode("ascii")
                os.pwrite(file, data.ljust(_SIZE), 0)
        finally:
            os.close(file)


class Turn:
    """One look at the pace, and the chance to replace it."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace


def _load(file: int, now: float) -> Pace:
    try:
        pace = Pace.model_validate(json.loads(os.pread(file, _SIZE, 0)))
    except (ValueError, RecursionError, ValidationError):
        return fresh(now)
    return pace if pace.written <= now else fresh(now)  # written before the machine was started
