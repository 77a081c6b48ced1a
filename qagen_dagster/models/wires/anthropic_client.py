"""The `anthropic` SDK for the wire and the batch endpoint of Anthropic."""

from __future__ import annotations

import anthropic

from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.wires.sdk_client import SdkClient, SdkErrors

_ERRORS = SdkErrors(
    anthropic.APIStatusError,
    anthropic.APITimeoutError,
    anthropic.APIConnectionError,
    anthropic.AnthropicError,
)


class AnthropicClient(SdkClient[anthropic.Anthropic]):
    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        super().__init__(spec, api_key, anthropic.Anthropic, "https://api.anthropic.com", _ERRORS)
