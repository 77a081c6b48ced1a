"""The `openai` SDK as both OpenAI wires use it: a client, and one call that gives JSON or our error.

Retries are off: `retry.py` decides. Nothing here knows what a body means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import openai

from qagen_dagster.errors import ModelError, PermanentModelError, TransientModelError
from qagen_dagster.models import deadline, faults
from qagen_dagster.models.base import ModelSpec

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"  # servers without keys ignore it; the SDK insists on some value


class RawResponse(Protocol):
    """The part of the SDK's raw response that is used."""

    @property
    def text(self) -> str: ...


def make_client(spec: ModelSpec, api_key: str | None) -> openai.OpenAI:
    """A client for `spec`. The address is never taken from the environment: it is part of identity.

    Raises ConfigError for a base_url that is none.
    """
    client = openai.OpenAI(
        api_key=api_key or _NO_KEY,
        base_url=faults.check_url(OPENAI_URL if spec.base_url is None else spec.base_url),
        timeout=spec.timeout_seconds,
        max_retries=0,
    )
    if spec.base_url is not None:  # names of an OpenAI account are nobody else's business
        client.organization = client.project = client.admin_api_key = None
    deadline.bound(client)
    return client


def call(spec: ModelSpec, send: Callable[[], RawResponse], api_key: str | None) -> dict[str, Any]:
    """Send once and return the body. Raises the ModelError that the failure amounts to."""
    return faults.json_body(spec.name, call_text(spec, send, api_key), api_key)


def call_text(spec: ModelSpec, send: Callable[[], RawResponse], api_key: str | None) -> str:
    """As `call`, for a body that is not JSON; it may hold the key."""
    failure: ModelError
    seconds = spec.timeout_seconds
    try:
        with deadline.attempt(seconds) as seconds:
            return send().text
    except openai.APIStatusError as error:
        body = error.body if error.body is not None else error.response.text
        failure = faults.from_status(
            spec.name, error.status_code, body, dict(error.response.headers), api_key
        )
    except (openai.APITimeoutError, TimeoutError):
        failure = TransientModelError(f"{spec.name}: no response within {round(seconds, 1):g} s")
    except openai.APIConnectionError as error:
        cause = type(error.__cause__).__name__
        failure = TransientModelError(f"{spec.name}: connection failed ({cause})")
    except openai.OpenAIError as error:
        failure = PermanentModelError(faults.scrub(f"{spec.name}: {error}", api_key))
    raise failure  # outside the handlers, so that no SDK exception, with its headers, hangs on it
