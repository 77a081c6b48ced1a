"""The `anthropic` SDK as its wires use it: a client, and one call that gives JSON or our error.

Retries are off: `retry.py` decides. Nothing here knows what a body means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic

from qagen_dagster.models import body_limit
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.wires import faults, sdk_call

_ERRORS = sdk_call.SdkErrors(
    anthropic.APIStatusError,
    anthropic.APITimeoutError,
    anthropic.APIConnectionError,
    anthropic.AnthropicError,
)
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
    body_limit.bound(client)
    return client


def call(spec: ModelSpec, send: Callable[[], str], api_key: str | None) -> dict[str, Any]:
    """Send once and return the body, of which `send` gives the text. Raises the ModelError that the failure amounts to."""
    return faults.json_body(spec.name, call_text(spec, send, api_key), api_key)


def call_text(spec: ModelSpec, send: Callable[[], str], api_key: str | None) -> str:
    """As `call`, for a body that is not JSON; it may hold the key."""
    return sdk_call.text_of(spec, send, api_key, _ERRORS)
