"""The `openai` SDK for both OpenAI wires, OpenAI's batch endpoint and embeddings."""

from __future__ import annotations

from typing import Any

import openai

from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.messages import Usage
from qagen_dagster.models.wires import faults
from qagen_dagster.models.wires.sdk_client import SdkClient, SdkErrors

_ERRORS = SdkErrors(
    openai.APIStatusError, openai.APITimeoutError, openai.APIConnectionError, openai.OpenAIError
)


class OpenAIClient(SdkClient[openai.OpenAI]):
    def __init__(self, spec: ModelSpec, api_key: str | None) -> None:
        super().__init__(spec, api_key, openai.OpenAI, "https://api.openai.com/v1", _ERRORS)
        if spec.base_url is not None:  # other servers must not see the names of an OpenAI account
            self.client.organization = self.client.project = self.client.admin_api_key = None


def usage(body: dict[str, Any], read: str, written: str) -> Usage:
    """The token counts of `body`, whose server calls its input `read` and its output `written`."""
    return Usage(
        input_tokens=faults.count(body, "usage", f"{read}_tokens"),
        output_tokens=faults.count(body, "usage", f"{written}_tokens"),
        cached_tokens=faults.count(body, "usage", f"{read}_tokens_details", "cached_tokens"),
        reasoning_tokens=faults.count(body, "usage", f"{written}_tokens_details", "reasoning_tokens"),
        cache_write_tokens=faults.count(body, "usage", f"{read}_tokens_details", "cache_write_tokens"),
    )
