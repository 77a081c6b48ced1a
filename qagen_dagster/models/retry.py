"""Retries of the transport: one model call is repeated while its failure is transient.

What belongs here: when to retry, how long to back off, when to give up. What does not: reading
errors (`models/wires/faults.py`), storing (`ledger.py`), and anything that a model could correct.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from qagen_dagster.errors import MalformedResponseError, TransientModelError
from qagen_dagster.models import deadline

T = TypeVar("T")

# "Full jitter" (Brooker, Exponential Backoff And Jitter, 2015): callers refused together do not retry together.
_BACKOFF = wait_random_exponential(multiplier=1.0, min=0.2, max=60.0)
_JITTER = random.SystemRandom()


def call_with_retry(
    function: Callable[[], T],
    *,
    max_attempts: int,
    deadline_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[T, int]:
    """Call `function` until it succeeds; return its value and the number of retries.

    Only TransientModelError and MalformedResponseError are retried, with at most `max_attempts` attempts in all. No
    attempt begins after `deadline_seconds` or lasts longer than that. Retry-After of the server is waited for in full, or
    not at all if it ends after the deadline. Raises the last of these errors, or any other error at once.
    """
    retrying = Retrying(
        retry=retry_if_exception_type((TransientModelError, MalformedResponseError)),
        stop=stop_after_attempt(max_attempts) | stop_before_delay(deadline_seconds),
        wait=_wait,
        sleep=sleep,
        retry_error_callback=_give_up,
    )
    with deadline.call(deadline_seconds):
        value = retrying(function)
    return value, int(retrying.statistics["attempt_number"]) - 1


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, TransientModelError) and error.retry_after is not None:
        return error.retry_after + _JITTER.uniform(0.0, 0.5)
    return _BACKOFF(state)


def _give_up(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    tried = "1 attempt" if state.attempt_number == 1 else f"{state.attempt_number} attempts"
    told = f"{error} (gave up after {tried})"
    if isinstance(error, TransientModelError):
        raise type(error)(told, retry_after=error.retry_after)
    raise MalformedResponseError(told)
