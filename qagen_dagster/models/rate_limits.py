"""The rate and concurrency limits of a model, shared by all threads and processes of one user on one machine.

This module has the buckets of requests and of tokens, the small locked file with the state that all processes share, waiting, and the
slowing down of all callers after a refusal. The semaphore is in `file_locks.py`, `tokens.py` estimates the tokens of a request, and
`retry.py` decides whether to try again. Calls of a model without limits do not wait for each other, but a pause that its server asks for
delays them all.

The state of a model is in a few small files. Their names have a hash of provider, address, model and key variable, and of the endpoint if
it has a limiter of its own. If the files are lost, the use of the last minute, a lowered rate and a pause are forgotten. A bucket is stored
as one number, the moment at which it will be full again (the generic cell rate algorithm, ITU-T I.371). Attempts start in the order in
which callers asked for them, except across processes that wait for permits, and after a pause of a model without limits.
"""

import fcntl
import json
import math
import os
import random
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from qagen_dagster.errors import ConfigError, MalformedResponseError, RateLimitedError, TransientModelError
from qagen_dagster.models.base import Provider, Wrapper
from qagen_dagster.models.file_locks import Semaphore, lock, unlock
from qagen_dagster.models.messages import Request
from qagen_dagster.models.retry import call_ends
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.tokens import estimate
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import digest

# The share `_STEADY` of a limit per minute is spread evenly over the minute. A burst has at most the share
# `_AT_ONCE` of the limit, or one request if that is more. So no window of sixty seconds has more requests
# than the limit, and servers that count per second accept the requests, too.
_STEADY, _AT_ONCE = 0.95, 1 / 60
# A refusal lowers the rate by a twentieth, down to a minimum. Refusals of requests that started together
# lower the rate only once. An answer raises the rate by `_FASTER` of the full rate, but only while few requests
# are refused. So one random refusal in ten costs almost nothing, and a server that allows half of the limit
# soon gets hardly more requests than it allows.
_SLOWER, _SLOWEST, _FASTER = 0.95, 0.1, 0.02
_MEMORY = 1 / 16  # weight of one answer or refusal in the fraction of refused requests
# While less than the fraction `_FEW` of requests is refused, the rate may rise. While less than `_MANY` is
# refused, a short pause is for the refused request alone.
_FEW, _MANY = 0.2, 0.35
_SHORT = 2.0  # seconds of a pause that counts as short
_LONGEST_PAUSE = 600.0  # seconds; the server is asked again after this time, even if it asks for a longer one
_SIZE = 512  # bytes of the file; the size never changes, so that one write replaces the whole file


class RateLimits(Record):
    """The limits of one model: requests and tokens per minute, and requests in flight. None means no limit."""

    requests: float | None = None
    tokens: float | None = None
    concurrency: int | None = None

    @property
    def unlimited(self) -> bool:
        return self.requests is None and self.tokens is None and self.concurrency is None

    @classmethod
    def of(cls, spec: ModelSpec) -> "RateLimits":
        return cls(
            requests=spec.requests_per_minute, tokens=spec.tokens_per_minute, concurrency=spec.concurrency
        )


class RateState(Record):
    """The state of a model's rate limits, which all callers of the model share.

    Starts of requests are moments of the state's own clock, which runs slower after refusals and stops during
    a pause. So promised starts keep their order when the rate changes.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    written: float  # when the state was written, in seconds of the machine's monotonic clock
    clock: float = 0.0  # the state's own clock at that moment, in seconds
    requests: float = 0.0  # when the bucket of requests will be full again, on the own clock
    tokens: float = 0.0
    factor: float = Field(default=1.0, ge=_SLOWEST, le=1.0)  # relative speed of the own clock
    refused: float = Field(default=0.5, ge=0.0, le=1.0)  # recent share of refused requests; at first a guess
    pause: float  # nothing starts before this moment of the machine's clock


def fresh(now: float) -> RateState:
    """The state before the first request."""
    return RateState(written=now, pause=now)


def at(state: RateState, now: float) -> RateState:
    """The state at the moment `now`."""
    gone = max(0.0, now - max(state.written, state.pause))
    return state.model_copy(update={"written": now, "clock": state.clock + gone * state.factor})


def reserve(state: RateState, limits: RateLimits, tokens: float) -> tuple[float, RateState]:
    """Returns (start, state): when a request of `tokens` may start, on the state's own clock, and the state after this promise."""
    # A request with more tokens than the limit counts as one minute's tokens
    tokens = min(tokens, limits.tokens or tokens)
    start = max(
        state.clock, _opens(state.requests, 1.0, limits.requests), _opens(state.tokens, tokens, limits.tokens)
    )
    full_at: dict[str, float] = {}
    if limits.requests:
        full_at["requests"] = max(state.requests, start) + 1.0 / _rate(limits.requests)
    if limits.tokens:
        full_at["tokens"] = max(state.tokens, start) + tokens / _rate(limits.tokens)
    return start, state.model_copy(update=full_at) if full_at else state


def wait(state: RateState, start: float) -> float:
    """Seconds until `start` (of the state's own clock), if the rate does not change."""
    return max(0.0, state.pause - state.written) + max(0.0, start - state.clock) / state.factor


def settle(state: RateState, limits: RateLimits, *, estimated: float, used: float) -> RateState:
    """The state after an answer. It counts the `used` tokens of the request instead of the `estimated` ones. If
    refusals are rare, the rate rises slightly."""
    refused = state.refused * (1.0 - _MEMORY)
    changes: dict[str, float] = {"refused": refused}
    if limits.tokens:
        more = min(used, limits.tokens) - min(estimated, limits.tokens)
        changes["tokens"] = state.tokens + more / _rate(limits.tokens)
    if refused < _FEW:
        changes["factor"] = min(1.0, state.factor + _FASTER)
    return state.model_copy(update=changes)


def refuse(
    state: RateState, limits: RateLimits, *, started: float, slower: bool, retry_after: float | None
) -> RateState:
    """The state after the server refused a request that started when the factor was `started`.

    `slower` means that the request exceeded the server's limits. Then the factor drops a little below `started`.

    `retry_after` is the pause in seconds that the server asks for, or None. Usually all callers pause for
    that time, but at most for `_LONGEST_PAUSE`. Only the refused request waits if the pause is short, if most requests
    are answered, and if there are limits that can be lowered.
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
    """The rate per second of the own clock."""
    return _STEADY * per_minute / 60.0


def _opens(full: float, cost: float, per_minute: float | None) -> float:
    """The moment at which a bucket that will be full at `full` contains `cost`. If the cost is larger than the
    bucket, this is the moment at which the bucket is full."""
    if per_minute is None:
        return -math.inf
    held = max(1.0, _AT_ONCE * per_minute)
    return full - max(0.0, held - cost) / _rate(per_minute)


def _load(file: int, now: float) -> RateState:
    try:
        state = RateState.model_validate(json.loads(os.pread(file, _SIZE, 0)))
    except (ValueError, RecursionError, ValidationError):
        return fresh(now)
    return state if state.written <= now else fresh(now)  # a later time means that the machine was restarted


T = TypeVar("T")
_POLL = 1.0  # seconds after which a waiting attempt looks again, because the rate may have changed
_SOON = 1e-6  # seconds; a shorter wait counts as none
_SPREAD = 0.5  # seconds over which requests of a model without limits start after a pause
_CHANCE = random.SystemRandom()


def limited(provider: Provider, key_variable: str | None, folder: Path) -> Provider:
    """`provider`, wrapped so that attempts wait for the limits of its spec and for pauses that its server asks for.
    Raises ConfigError if the shared state cannot be kept under `folder`."""
    limits = RateLimits.of(provider.spec)
    return LimitedProvider(provider, shared_limiter(provider.spec, key_variable, folder, limits))


def shared_limiter(
    spec: ModelSpec, key_variable: str | None, folder: Path, limits: RateLimits, *, of: str = ""
) -> "Limiter":
    """The limiter that all callers with this model and key share. Raises ConfigError as `limited` does. `of` names
    an endpoint that has a limiter of its own, such as the batch endpoint."""
    parts = (spec.provider, spec.base_url or "", spec.model, key_variable or "", *([of] if of else ()))
    return Limiter(spec.name, limits, _own(folder) / "limits" / digest(*parts)[:32])


def _own(folder: Path) -> Path:
    """Make `folder` if it is missing, and return it. Raises ConfigError if this fails, or if the folder belongs
    to another user of the machine. Anyone could have made a folder of that name in /tmp."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ConfigError(f"limits cannot be shared: {error}; set QAGEN_STATE to another folder") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ConfigError(
            f"limits cannot be shared: {folder} does not belong to you; set QAGEN_STATE to another folder"
        )
    return folder


class LimitedProvider(Wrapper):
    """A provider whose attempts all wait for the limits."""

    def __init__(self, provider: Provider, limiter: "Limiter") -> None:
        super().__init__(provider)
        self._limiter = limiter

    def send(self, request: Request) -> dict[str, Any]:
        """As `Provider.send`, after a wait. Also raises TransientModelError as `Limiter.attempt` does."""
        if self._limiter.limits.tokens is None:
            return self._limiter.call(lambda: self._provider.send(request))
        tokens = estimate(request, self.spec)
        return self._limiter.call(lambda: self._provider.send(request), tokens, self._used)

    def _used(self, body: dict[str, Any]) -> int | None:
        """The tokens that the server counted; None if it does not state them."""
        try:
            usage = self._provider.read(body).usage
        except MalformedResponseError:
            return None
        return usage.input_tokens + usage.output_tokens if usage.measured else None


class Limiter:
    """Makes all callers of a model wait for its limits.

    Args:
        name: the name of the model in messages.
        path: the files of the shared state have this path, with various suffixes.
        clock: the machine's monotonic clock, in seconds. Deadlines are moments of this clock.
    """

    def __init__(
        self,
        name: str,
        limits: RateLimits,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name, self.limits, self._clock, self._sleep = name, limits, clock, sleep
        self._path = path.with_suffix(".json")
        self._semaphore = Semaphore(path, clock, sleep)

    def call(
        self, send: Callable[[], T], tokens: int = 0, used: Callable[[T], int | None] = lambda _: None
    ) -> T:
        """Call `send` as one attempt of about `tokens` tokens, and return its result. `used` returns the tokens
        that the server counted for a result, or None. Raises TransientModelError as `attempt` does."""
        with self.attempt(tokens, call_ends()) as started:
            try:
                result = send()
            except TransientModelError as error:
                self.refused(error, started)
                raise
            counted = used(result)
            self.answered(tokens, tokens if counted is None else counted)
            return result

    def answered(self, estimated: int, used: int) -> None:
        """Count an answer. If this cannot be stored, nothing is raised."""
        with suppress(TransientModelError):
            if not self.limits.unlimited:
                self.update(lambda state: settle(state, self.limits, estimated=estimated, used=used))

    def refused(self, error: TransientModelError, started: float) -> None:
        """Count a failed attempt, which began when the factor was `started`. All callers slow down if the error is a
        RateLimitedError, and wait if the server asks for a pause, as `refuse` describes. If this cannot be stored, nothing is raised."""
        slower, pause = isinstance(error, RateLimitedError), error.retry_after
        with suppress(TransientModelError):
            if slower or pause is not None:
                self.update(
                    partial(refuse, limits=self.limits, started=started, slower=slower, retry_after=pause)
                )

    @contextmanager
    def attempt(self, tokens: int, ends: float) -> Generator[float]:
        """Wait until the limits allow an attempt of about `tokens` tokens, and run the body as this attempt. Yields
        the rate's factor at the start of the attempt.

        An attempt first waits for one of the permits for concurrent attempts, and only then for the rate. So
        no start is promised to an attempt that has no permit yet. Raises TransientModelError if the wait
        would last beyond `ends`, or if the shared state cannot be stored.
        """
        permit = None if self.limits.concurrency is None else self._acquire(self.limits.concurrency, ends)
        try:
            yield self._start(tokens, ends)
        finally:
            if permit is not None:
                self._semaphore.release(permit)

    def _acquire(self, most: int, ends: float) -> int:
        try:
            return self._semaphore.acquire(lambda: math.ceil(most * self.update().factor), ends)
        except TimeoutError:
            raise TransientModelError(
                f"{self._name}: all {most} concurrent calls were in use until the call's deadline"
            ) from None
        except OSError as error:
            raise self._unkept(error) from None

    def _start(self, tokens: int, ends: float) -> float:
        """Wait until the attempt may start. Returns the rate's factor at that moment."""
        start = seconds = 0.0

        def promise(state: RateState) -> RateState:
            nonlocal start, seconds
            start, promised = reserve(state, self.limits, tokens)
            seconds = self._seconds(promised, start, ends)
            return promised

        while True:
            known = promised = self.update(promise)
            together = seconds > _SOON and self.limits.unlimited
            while seconds > _SOON and known.clock >= promised.clock:
                self._sleep(min(seconds, _POLL))
                known = self.update()
                seconds = self._seconds(known, start, ends)
            if known.clock >= promised.clock:
                if together:
                    self._sleep(_CHANCE.uniform(0.0, _SPREAD))
                return known.factor
            # Otherwise the state was lost, and with it the promised start. So ask for another start.

    def _seconds(self, known: RateState, start: float, ends: float) -> float:
        """The seconds until `start`. Raises TransientModelError if `start` is after the call's deadline."""
        seconds = wait(known, start)
        if known.written + seconds > ends:
            raise TransientModelError(
                f"{self._name}: its limits allow the next attempt in {seconds:.0f} s, after the call's deadline",
                retry_after=seconds,
            )
        return seconds

    def update(self, change: Callable[[RateState], RateState] = lambda state: state) -> RateState:
        """Lock the file of the shared state, and replace the state by the result of `change`. Returns the new state.
        A file whose content is not a state counts as missing. Raises TransientModelError."""
        try:
            file = lock(self._path, fcntl.LOCK_EX)
            try:
                now = self._clock()
                before = at(_load(file, now), now)
                state = change(before)
                if state is not before:
                    os.pwrite(file, state.model_dump_json().encode("ascii").ljust(_SIZE), 0)
                return state
            finally:
                unlock(file)
        except OSError as error:
            raise self._unkept(error) from None

    def _unkept(self, error: OSError) -> TransientModelError:
        return TransientModelError(f"{self._name}: the state of its limits cannot be stored: {error}")
