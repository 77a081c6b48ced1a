"""The `openai` SDK as both OpenAI wires use it: a client, and one call that gives JSON or our error.

Retries are off: `retry.py` decides. Nothing here knows what a body means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import openai

from qagen_dagster.models import body_limit
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.wires import faults, sdk_call

OPENAI_URL = "https://api.openai.com/v1"
_ERRORS = sdk_call.SdkErrors(
    openai.APIStatusError, openai.APITimeoutError, openai.APIConnectionError, openai.OpenAIError
)
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
    body_limit.bound(client)
    return client


def call(spec: ModelSpec, send: Callable[[], RawResponse], api_key: str | None) -> dict[str, Any]:
    """Send once and return the body. Raises the ModelError that the failure amounts to."""
    return faults.json_body(spec.name, call_text(spec, send, api_key), api_key)


def call_text(spec: ModelSpec, send: Callable[[], RawResponse], api_key: str | None) -> str:
    """As `call`, for a body that is not JSON; it may hold the key."""
    return sdk_call.text_of(spec, lambda: send().text, api_key, _ERRORS)
