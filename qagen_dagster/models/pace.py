"""When the next request of a model may start: token buckets, and how far a refusal slows them all down.

What belongs here: the arithmetic, and the small file under a lock in which all processes of one machine
keep it. What does not: waiting (`limits.py`), places in flight (`slots.py`).

Buckets are kept as the moment at which they will be full again (the generic cell rate algorithm, ITU-T
I.371): one number each, and who comes next is told when to start, in the order of asking.
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

from qagen_dagster.models.file_lock import lock
from qagen_dagster.records.base import Record

# Of a limit per minute this much is spread over the minute and the rest may come at once, so that no
# window of sixty seconds holds more requests than the limit.
_STEADY = 0.95
# A refusal takes a twentieth of the pace, down to a floor; an answer gives back less, and that only while few
# are refused. So one in ten refused at random costs next to nothing, and a server that allows half of the
# limit is soon asked for little more than it allows.
_SLOWER, _SLOWEST, _FASTER = 0.95, 0.1, 0.015
_MEMORY = 1 / 16  # weight of one answer or refusal in the fraction that is refused
_FEW, _MANY = 0.15, 0.2
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
    """Shared by all who use a model. Moments are seconds of the machine's monotonic clock."""

    model_config = ConfigDict(allow_inf_nan=False)

    written: float
    requests: float  # when the bucket of requests is full again
    tokens: float
    factor: float = Field(default=1.0, ge=_SLOWEST, le=1.0)  # of the limits, after refusals
    refused: float = Field(default=0.5, ge=0.0, le=1.0)  # fraction of late; at first nobody knows
    pause: float  # nothing starts before
    epoch: int = 0  # raised when every start that was promised is void


def fresh(now: float) -> Pace:
    """Nothing was asked yet."""
    return Pace(written=now, requests=now, tokens=now, pause=now)


def reserve(pace: Pace, limits: Limits, tokens: float, now: float) -> tuple[float, Pace]:
    """When a request of so many tokens may start, and the pace once it is promised."""
    of_requests, of_tokens = _rate(limits.requests, pace), _rate(limits.tokens, pace)
    tokens = min(tokens, limits.tokens or tokens)  # what never fits is let through, a minute's worth
    start = max(
        now,
        pace.pause,
        _opens(pace.requests, 1.0, limits.requests, of_requests),
        _opens(pace.tokens, tokens, limits.tokens, of_tokens),
    )
    filled: dict[str, float] = {}
    if of_requests:
        filled["requests"] = max(pace.requests, start) + 1.0 / of_requests
    if of_tokens:
        filled["tokens"] = max(pace.tokens, start) + tokens / of_tokens
    return start, pace.model_copy(update=filled)


def settle(pace: Pace, limits: Limits, *, estimated: float, used: float) -> Pace:
    """A request was answered: its real tokens count, and while refusals are rare the pace recovers a little."""
    refused = pace.refused * (1.0 - _MEMORY)
    changes: dict[str, float] = {"refused": refused}
    of_tokens = _rate(limits.tokens, pace)
    if limits.tokens and of_tokens:
        more = min(used, limits.tokens) - min(estimated, limits.tokens)
        changes["tokens"] = pace.tokens + more / of_tokens
    if refused < _FEW:
        changes["factor"] = min(1.0, pace.factor + _FASTER)
    return pace.model_copy(update=changes)


def refuse(pace: Pace, limits: Limits, *, slower: bool, wait: float | None, now: float) -> Pace:
    """The server refused a request. `slower`: because too much was asked of it, so the pace drops a little.

    Its wish to wait holds for everybody: the buckets are emptied, and starts that were promised are void
    and given anew. Only a short wish amid many answers is the business of the one who was refused.
    """
    alone = wait is None or (wait <= _SHORT and pace.refused <= _MANY)
    if slower:
        refused = pace.refused + _MEMORY * (1.0 - pace.refused)
        factor = max(_SLOWEST, pace.factor * _SLOWER)
        pace = pace.model_copy(update={"factor": factor, "refused": refused})
    pause = now + min(wait or 0.0, _LONGEST_PAUSE)
    if alone or pause <= pace.pause:
        return pace
    emptied = {
        "requests": pause + _burst(limits.requests, pace),
        "tokens": pause + _burst(limits.tokens, pace),
    }
    return pace.model_copy(update={**emptied, "pause": pause, "epoch": pace.epoch + 1})


def _rate(per_minute: float | None, pace: Pace) -> float:
    """Per second; 0 where there is no limit."""
    return 0.0 if per_minute is None else _STEADY * per_minute / 60.0 * pace.factor


def _held(per_minute: float) -> float:
    """What a full bucket holds: this much may come at once."""
    return max(1.0, (1.0 - _STEADY) * per_minute)


def _burst(per_minute: float | None, pace: Pace) -> float:
    """Seconds that an empty bucket takes to be full."""
    return 0.0 if per_minute is None else _held(per_minute) / _rate(per_minute, pace)


def _opens(full: float, cost: float, per_minute: float | None, rate: float) -> float:
    """When a bucket that is full at `full` holds `cost`; for more than it ever holds it must be full."""
    return -math.inf if per_minute is None else full - max(0.0, _held(per_minute) - cost) / rate


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
            turn = Turn(_load(file, now), now)
            before = turn.pace
            yield turn
            if turn.pace is not before:
                data = turn.pace.model_copy(update={"written": now}).model_dump_json().encode("ascii")
                os.pwrite(file, data.ljust(_SIZE), 0)
        finally:
            os.close(file)


class Turn:
    """One look at the pace, and the chance to replace it."""

    def __init__(self, pace: Pace, now: float) -> None:
        self.pace, self.now = pace, now


def _load(file: int, now: float) -> Pace:
    try:
        pace = Pace.model_validate(json.loads(os.pread(file, _SIZE, 0)))
    except (ValueError, RecursionError, ValidationError):
        return fresh(now)
    return pace if pace.written <= now else fresh(now)  # written before the machine was started
