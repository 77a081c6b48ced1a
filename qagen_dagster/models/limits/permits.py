"""The limits of a model: a permit for every single attempt, shared by all threads and processes of one user on one machine.

What belongs here: what a request will weigh, who waits and how long, what a refusal tells the others. A model without
limits is asked at any pace, but a pause that its server wishes holds for all who share it, too.
What does not: the arithmetic (`rate.py`), the places (`concurrency.py`), whether to try again (`retry.py`).

The state is a few small files named by provider, address, model and key variable. Losing them costs
nothing but a minute's memory.
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
from typing import Any

from qagen_dagster.errors import ConfigError, MalformedResponseError, RateLimitedError, TransientModelError
from qagen_dagster.models import deadline
from qagen_dagster.models.base import ModelSpec, Provider
from qagen_dagster.models.limits import rate
from qagen_dagster.models.limits.concurrency import Slots
from qagen_dagster.models.messages import Message, Request, Response, Text, ToolCall, ToolMessage
from qagen_dagster.records.ids import digest

TOKEN_CHARACTERS = 4  # of English; bytes, where a request is weighed
PICTURE_TOKENS = 1_500  # a picture of about a megapixel
_LOOK_AGAIN, _SOON = 1.0, 1e-6  # seconds: the pace may have changed meanwhile; as good as now
_LONGEST_OUTPUT = 1_024  # most answers are far shorter than max_output_tokens lets them be
_SPREAD = 0.5  # seconds over which those start whom no pace keeps apart after a pause
_CHANCE = random.SystemRandom()


def estimate(request: Request, spec: ModelSpec) -> int:
    """The tokens that an attempt at `request` will probably use, input and output."""
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
    output = min(spec.max_output_tokens, _LONGEST_OUTPUT)
    return size // TOKEN_CHARACTERS + pictures * PICTURE_TOKENS + output


def _parts(messages: Iterable[Message]) -> Generator[Any]:
    for message in messages:
        if isinstance(message, ToolMessage):
            for result in message.results:
                yield from result.content
        else:
            yield from message.content


def limited(provider: Provider, key_variable: str | None, folder: Path) -> Provider:
    """`provider` within the limits of its spec, if it has any, and within the pauses that its server wishes.

    Raises ConfigError when what is shared cannot be kept under `folder`.
    """
    spec = provider.spec
    limits = rate.Limits(
        requests=spec.requests_per_minute, tokens=spec.tokens_per_minute, concurrency=spec.concurrency
    )
    return LimitedProvider(provider, limiter(spec, key_variable, folder, limits))


def limiter(
    spec: ModelSpec,
    key_variable: str | None,
    folder: Path,
    limits: rate.Limits,
    *,
    of: str = "",
) -> Limiter:
    """The limiter of all who ask the model of `spec` with that key; `of` names an endpoint of its own. Raises ConfigError."""
    parts = (spec.provider, spec.base_url or "", spec.model, key_variable or "", *([of] if of else ()))
    return Limiter(spec.name, limits, _own(folder) / "limits" / digest(*parts)[:32])


def _own(folder: Path) -> Path:
    """`folder`, made if it is not there. In a place that all may write to another user's would be a trap."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ConfigError(f"limits cannot be shared: {error}; QAGEN_STATE names another folder") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ConfigError(f"limits cannot be shared: {folder} is not yours; QAGEN_STATE names another folder")
    return folder


class LimitedProvider:
    """A provider each of whose attempts takes a permit first."""

    def __init__(self, provider: Provider, limiter: Limiter) -> None:
        self._provider, self._limiter = provider, limiter

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def send(self, request: Request) -> dict[str, Any]:
        """As `Provider.send`, after a wait; TransientModelError also when the call's deadline does not allow it."""
        counted = self._limiter.limits.tokens is not None
        tokens = estimate(request, self.spec) if counted else 0
        with self._limiter.permit(tokens, deadline.call_ends()) as permit:
            try:
                body = self._provider.send(request)
            except TransientModelError as error:
                permit.refused(error)
                raise
            permit.answered(self._used(body) if counted else None)
            return body

    def read(self, body: dict[str, Any]) -> Response:
        return self._provider.read(body)

    def _used(self, body: dict[str, Any]) -> int | None:
        """Tokens by the server's own count; None where it does not say."""
        try:
            usage = self._provider.read(body).usage
        except MalformedResponseError:
            return None
        return usage.input_tokens + usage.output_tokens or None


class Limiter:
    """Gives permits to all who use a model under `path`. The clock must be the machine's, the same for all processes."""

    def __init__(
        self,
        name: str,
        limits: rate.Limits,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name, self.limits, self._clock, self._sleep = name, limits, clock, sleep
        self._file = rate.PaceFile(path.with_suffix(".json"), clock)
        self._slots = Slots(path, clock, sleep)

    @contextmanager
    def permit(self, tokens: int, ends: float) -> Generator[Permit]:
        """Hold a permit for one attempt, waited for in the order of asking.

        A place comes first, so that no start is promised to one who cannot use it. Raises
        TransientModelError when the wait would last beyond `ends`.
        """
        place = None if self.limits.concurrency is None else self._place(self.limits.concurrency, ends)
        try:
            yield Permit(self, tokens, self._start(tokens, ends))
        finally:
            if place is not None:
                self._slots.give_back(place)

    def _place(self, most: int, ends: float) -> int:
        def allowed() -> int:
            with self.turn() as turn:
                return math.ceil(most * turn.pace.factor)

        try:
            return self._slots.take(allowed, ends)
        except TimeoutError:
            raise TransientModelError(
                f"{self._name}: all {most} places were taken until the call's deadline"
            ) from None
        except OSError as error:
            raise self._unkept(error) from None

    def _start(self, tokens: int, ends: float) -> float:
        """Wait until the attempt may start; gives the factor it starts at."""
        while True:
            with self.turn() as turn:
                start, promised = rate.reserve(turn.pace, self.limits, tokens)
                seconds = self._seconds(promised, start, ends)
                turn.pace = known = promised
            together = seconds > _SOON and self.limits.unlimited
            while seconds > _SOON and known.clock >= promised.clock:
                self._sleep(min(seconds, _LOOK_AGAIN))
                with self.turn() as turn:
                    known = turn.pace
                    seconds = self._seconds(known, start, ends)
            if known.clock >= promised.clock:
                if together:
                    self._sleep(_CHANCE.uniform(0.0, _SPREAD))
                return known.factor
            # else the state was lost, and the promise with it

    def _seconds(self, known: rate.Pace, start: float, ends: float) -> float:
        """The wait until `start`. Raises TransientModelError where it is longer than the call may be."""
        seconds = rate.wait(known, start)
        if known.written + seconds > ends:
            raise TransientModelError(
                f"{self._name}: its limits allow the next attempt in {seconds:.0f} s, after the call's deadline",
                retry_after=seconds,
            )
        return seconds

    @contextmanager
    def turn(self) -> Generator[rate.Turn]:
        """Hold the shared pace. Raises TransientModelError where the file system fails."""
        try:
            with self._file.turn() as turn:
                yield turn
        except OSError as error:
            raise self._unkept(error) from None

    def _unkept(self, error: OSError) -> TransientModelError:
        return TransientModelError(f"{self._name}: its limits cannot be kept: {error}")


class Permit:
    """One attempt under way; it is told how that ended. What it cannot pass on is not worth its answer."""

    def __init__(self, limiter: Limiter, tokens: int, started: float) -> None:
        self._limiter, self._tokens, self._started = limiter, tokens, started

    def answered(self, used: int | None) -> None:
        """The server answered; `used` tokens, None where it does not say."""
        if self._limiter.limits.unlimited:
            return
        with suppress(TransientModelError), self._limiter.turn() as turn:
            turn.pace = rate.settle(
                turn.pace,
                self._limiter.limits,
                estimated=self._tokens,
                used=self._tokens if used is None else used,
            )

    def refused(self, error: TransientModelError) -> None:
        """The attempt failed; all sharers heed it if the server was asked for too much or wishes a pause."""
        slower = isinstance(error, RateLimitedError)
        if not slower and error.retry_after is None:
            return
        with suppress(TransientModelError), self._limiter.turn() as turn:
            turn.pace = rate.refuse(
                turn.pace,
                self._limiter.limits,
                started=self._started,
                slower=slower,
                wish=error.retry_after,
            )
