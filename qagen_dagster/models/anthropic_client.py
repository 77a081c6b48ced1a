"""The `anthropic` SDK as its wires use it: a client, and one call that gives JSON or our error.

Retries are off: `retry.py` decides. Nothing here knows what a body means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic

from qagen_dagster.errors import ModelError, PermanentModelError, TransientModelError
from qagen_dagster.models import deadline, faults
from qagen_dagster.models.base import ModelSpec

_URL = "https://api.anthropic.com"


def make_client(spec: ModelSpec, api_key: str | None) -> anthropic.Anthropic:
    """A client for `spec`. The address is never taken from the environment: it is part of identity.

    Raises ConfigError for a base_url that is none.
    """
    client = anthropic.Anthropic(
        api_key=api_key or "none",
        base_url=faults.check_url(_URL if spec.base_url is None else spec.base_url),
        timeout=spec.timeout_seconds,
        max_retries=0,
    )
    deadline.bound(client)
    return client


def call(spec: ModelSpec, send: Callable[[], str], api_key: str | None) -> dict[str, Any]:
    """Send once and return the body, of which `send` gives the text. Raises the ModelError that the failure amounts to."""
    return faults.json_body(spec.name, call_text(spec, send, api_key), api_key)


def call_text(spec: ModelSpec, send: Callable[[], str], api_key: str | None) -> str:
    """As `call`, for a body that is not JSON; it may hold the key."""
    failure: ModelError
    seconds = spec.timeout_seconds
    try:
        with deadline.attempt(seconds) as seconds:
            return send()
    except anthropic.APIStatusError as error:
        told = error.body if error.body is not None else error.response.text
        failure = faults.from_status(
            spec.name, error.status_code, told, dict(error.response.headers), api_key
        )
    except (anthropic.APITimeoutError, TimeoutError):
        failure = TransientModelError(f"{spec.name}: no response within {round(seconds, 1):g} s")
    except anthropic.APIConnectionError as error:
        cause = type(error.__cause__).__name__
        failure = TransientModelError(f"{spec.name}: connection failed ({cause})")
    except anthropic.AnthropicError as error:
        failure = PermanentModelError(faults.scrub(f"{spec.name}: {error}", api_key))
    raise failure  # outside the handlers, so that no SDK exception, with its headers, hangs on it
