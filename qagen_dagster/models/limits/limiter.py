"""The rate and concurrency limits of a model, shared by all threads and processes of one user on one machine.

What belongs here: the estimated size of a request, waiting, and how a refusal makes all users back off. A model
without limits is asked at any rate, but a pause that its server asks for holds for all who use it.
What does not: the arithmetic (`rate.py`), the semaphore (`concurrency.py`), whether to try again (`retry.py`).

The state is a few small files named by provider, address, model and key variable. If they are lost, the last
minute is forgotten and nothing else.
"""

from __future__ import annotations

import json
import math
import os
import random
import stat
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from qagen_dagster.errors import ConfigError, MalformedResponseError, RateLimitedError, TransientModelError
from qagen_dagster.models import deadline
from qagen_dagster.models.base import ModelSpec, Provider
from qagen_dagster.models.limits import rate
from qagen_dagster.models.limits.concurrency import Semaphore
from qagen_dagster.models.messages import Message, Request, Response, Text, ToolCall, ToolMessage, Usage
from qagen_dagster.records.ids import digest

T = TypeVar("T")
TOKEN_CHARACTERS = 4  # characters of English per token; bytes in estimates of a request
_FEWEST_CHARACTERS = 2  # bytes per token, of text that takes many tokens
PICTURE_TOKENS = 1_500  # a picture of about a megapixel
_POLL, _SOON = (
    1.0,
    1e-6,
)  # seconds between two looks at the rate, which may have changed; seconds that count as none
_LONGEST_OUTPUT = 1_024  # most answers are far shorter than max_output_tokens
_SPREAD = 0.5  # seconds over which requests without a rate limit start after a pause
_CHANCE = random.SystemRandom()


def estimate(request: Request, spec: ModelSpec) -> int:
    """The tokens, input and output, that an attempt at `request` will probably use."""
    return _input(request, spec, TOKEN_CHARACTERS) + min(spec.max_output_tokens, _LONGEST_OUTPUT)


def at_most(request: Request, spec: ModelSpec) -> Usage:
    """The tokens that an attempt at `request` can hardly exceed. Servers enforce the limit of the output."""
    tokens = _input(request, spec, _FEWEST_CHARACTERS)
    return Usage(input_tokens=tokens, cache_write_tokens=tokens, output_tokens=spec.max_output_tokens)


def _input(request: Request, spec: ModelSpec, characters: int) -> int:
    """Tokens of input, with so many bytes per token."""
    size, pictures = len(request.system.encode()), 0
    for tool in request.tools:
        size += len(tool.description.encode()) + len(json.dumps(tool.parameters))
    for part in _parts(request.messages):
        if isinstance(part, Text):
            size += len(part.text.encode())
        elif isinstance(part, ToolCall):
            size += len(json.dumps(part.arguments))
        elif part.type == "image" and spec.images:
            pictures += 1
    return size // characters + pictures * PICTURE_TOKENS


def _parts(messages: Iterable[Message]) -> Generator[Any]:
    for message in messages:
        if isinstance(message, ToolMessage):
            for result in message.results:
                yield from result.content
        else:
            yield from message.content


def limited(provider: Provider, key_variable: str | None, folder: Path) -> Provider:
    """`provider` within the limits of its spec and the pauses that its server asks for.

    Raises ConfigError when the shared state cannot be kept under `folder`.
    """
    spec = provider.spec
    limits = rate.Limits(
        requests=spec.requests_per_minute, tokens=spec.tokens_per_minute, concurrency=spec.concurrency
    )
    return LimitedProvider(provider, shared_limiter(spec, key_variable, folder, limits))


def shared_limiter(
    spec: ModelSpec,
    key_variable: str | None,
    folder: Path,
    limits: rate.Limits,
    *,
    of: str = "",
) -> Limiter:
    """The limiter that all users of this model and key share; `of` names another endpoint. Raises ConfigError."""
    parts = (spec.provider, spec.base_url or "", spec.model, key_variable or "", *([of] if of else ()))
    return Limiter(spec.name, limits, _own(folder) / "limits" / digest(*parts)[:32])


def _own(folder: Path) -> Path:
    """`folder`, made if it is missing. It must be ours: anybody could have made one in a place that all may write to."""
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


class LimitedProvider:
    """A provider whose attempts all wait for the limits."""

    def __init__(self, provider: Provider, limiter: Limiter) -> None:
        self._provider, self._limiter = provider, limiter

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def send(self, request: Request) -> dict[str, Any]:
        """As `Provider.send`, after a wait. Raises TransientModelError also if the wait exceeds the call's deadline."""
        if self._limiter.limits.tokens is None:
            return self._limiter.call(lambda: self._provider.send(request))
        tokens = estimate(request, self.spec)
        return self._limiter.call(lambda: self._provider.send(request), tokens, self._used)

    def read(self, body: dict[str, Any]) -> Response:
        return self._provider.read(body)

    def _used(self, body: dict[str, Any]) -> int | None:
        """The tokens that the server counted; None if it does not say."""
        try:
            usage = self._provider.read(body).usage
        except MalformedResponseError:
            return None
        return usage.input_tokens + usage.output_tokens or None


class Limiter:
    """Keeps all who use a model to its limits, by files under `path`. All processes must use the machine's clock."""

    def __init__(
        self,
        name: str,
        limits: rate.Limits,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name, self.limits, self._clock, self._sleep = name, limits, clock, sleep
        self._file = rate.RateFile(path.with_suffix(".json"), clock)
        self._semaphore = Semaphore(path, clock, sleep)

    def call(
        self,
        send: Callable[[], T],
        tokens: int = 0,
        used: Callable[[T], int | None] = lambda _: None,
    ) -> T:
        """What `send` returns, called as one attempt of `tokens`; `used` reads from it the tokens that the server counted."""
        with self.attempt(tokens, deadline.call_ends()) as attempt:
            try:
                body = send()
            except TransientModelError as error:
                attempt.refused(error)
                raise
            attempt.answered(used(body))
            return body

    @contextmanager
    def attempt(self, tokens: int, ends: float) -> Generator[Attempt]:
        """Wait for the limits, in the order of asking, and hold one attempt.

        The concurrency limit comes first, so that no start is promised to an attempt that could not use it. Raises
        TransientModelError when the wait would last beyond `ends`.
        """
        place = None if self.limits.concurrency is None else self._acquire(self.limits.concurrency, ends)
        try:
            yield Attempt(self, tokens, self._start(tokens, ends))
        finally:
            if place is not None:
                self._semaphore.release(place)

    def _acquire(self, most: int, ends: float) -> int:
        def allowed() -> int:
            with self.turn() as turn:
                return math.ceil(most * turn.state.factor)

        try:
            return self._semaphore.acquire(allowed, ends)
        except TimeoutError:
            raise TransientModelError(
                f"{self._name}: all {most} concurrent calls were in use until the call's deadline"
            ) from None
        except OSError as error:
            raise self._unkept(error) from None

    def _start(self, tokens: int, ends: float) -> float:
        """Wait until the attempt may start; return the rate's factor at that moment."""
        while True:
            with self.turn() as turn:
                start, promised = rate.reserve(turn.state, self.limits, tokens)
                seconds = self._seconds(promised, start, ends)
                turn.state = known = promised
            together = seconds > _SOON and self.limits.unlimited
            while seconds > _SOON and known.clock >= promised.clock:
                self._sleep(min(seconds, _POLL))
                with self.turn() as turn:
                    known = turn.state
                    seconds = self._seconds(known, start, ends)
            if known.clock >= promised.clock:
                if together:
                    self._sleep(_CHANCE.uniform(0.0, _SPREAD))
                return known.factor
            # otherwise the state was lost, and the promised start with it

    def _seconds(self, known: rate.RateState, start: float, ends: float) -> float:
        """The wait until `start`. Raises TransientModelError if it exceeds the call's deadline."""
        seconds = rate.wait(known, start)
        if known.written + seconds > ends:
            raise TransientModelError(
                f"{self._name}: its limits allow the next attempt in {seconds:.0f} s, after the call's deadline",
                retry_after=seconds,
            )
        return seconds

    @contextmanager
    def turn(self) -> Generator[rate.Turn]:
        """Lock the shared state. Raises TransientModelError if the file system fails."""
        try:
            with self._file.turn() as turn:
                yield turn
        except OSError as error:
            raise self._unkept(error) from None

    def _unkept(self, error: OSError) -> TransientModelError:
        return TransientModelError(f"{self._name}: the state of its limits cannot be stored: {error}")


class Attempt:
    """One attempt in flight; the caller reports how it ended. A failure to store that never costs the answer."""

    def __init__(self, limiter: Limiter, tokens: int, started: float) -> None:
        self._limiter, self._tokens, self._started = limiter, tokens, started

    def answered(self, used: int | None) -> None:
        """The server answered and counted `used` tokens; None if it does not say."""
        if self._limiter.limits.unlimited:
            return
        with suppress(TransientModelError), self._limiter.turn() as turn:
            turn.state = rate.settle(
                turn.state,
                self._limiter.limits,
                estimated=self._tokens,
                used=self._tokens if used is None else used,
            )

    def refused(self, error: TransientModelError) -> None:
        """The attempt failed; all users back off if it was over a limit or the server asks for a pause."""
        slower = isinstance(error, RateLimitedError)
        if not slower and error.retry_after is None:
            return
        with suppress(TransientModelError), self._limiter.turn() as turn:
            turn.state = rate.refuse(
                turn.state,
                self._limiter.limits,
                started=self._started,
                slower=slower,
                retry_after=error.retry_after,
            )
