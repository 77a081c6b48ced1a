"""Repeats a request without forcing a tool call, if the server refuses to force one.

Some servers refuse `tool_choice: required` for models that think. If the call is not forced, the prompt still asks for it, and
an agent asks again if the model answers without a call. The findings of `doctor` on forcing are in `checkup.py`.
"""

import logging
import re
import threading
from typing import Any

from qagen_dagster.errors import ContextOverflowError, ModelError, RateLimitedError, RequestRefusedError
from qagen_dagster.models.base import Provider, Wrapper
from qagen_dagster.models.messages import Request, ToolChoice
from qagen_dagster.models.spec import ModelSpec

_ABOUT = re.compile(r"tool.?choice|function.?call|\brequired\b|\bforc(?:e|ed|ing)\b", re.IGNORECASE)
_LOG = logging.getLogger(__name__)
_lock = threading.Lock()
# The name and the address of each model whose server refused to force a tool call in this process
_refusing: set[tuple[str, str | None]] = set()


def refuses_forcing(error: ModelError) -> bool:
    """Whether the server may have refused the request because it forces a tool call.

    Servers word this refusal in many ways ("failed to parse grammar"), so every RequestRefusedError counts. Another error counts if its
    text mentions forcing. A ContextOverflowError or RateLimitedError never counts.
    """
    has_other_cause = isinstance(error, (ContextOverflowError, RateLimitedError))
    refused = isinstance(error, RequestRefusedError) or _ABOUT.search(str(error)) is not None
    return refused and not has_other_cause


def as_accepted(spec: ModelSpec, request: Request) -> Request:
    """`request`, without a forced tool call if the server of the model has refused to force one."""
    if request.tool_choice is not ToolChoice.REQUIRED or (spec.name, spec.base_url) not in _refusing:
        return request
    return request.model_copy(update={"tool_choice": ToolChoice.AUTO})


class ForcedTools(Wrapper):
    """A provider that stops forcing tool calls as soon as its server refuses to force one. A warning reports this once per process."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._name = provider.spec.name, provider.spec.base_url

    def send(self, request: Request) -> dict[str, Any]:
        """As `Provider.send`."""
        request = as_accepted(self.spec, request)
        try:
            return self._provider.send(request)
        except ModelError as error:
            if request.tool_choice is not ToolChoice.REQUIRED or not refuses_forcing(error):
                raise
            refusal = str(error)
        body = self._provider.send(request.model_copy(update={"tool_choice": ToolChoice.AUTO}))
        with _lock:
            is_first = self._name not in _refusing
            _refusing.add(self._name)
        if is_first:
            _LOG.warning("warning: %s; tool calls are not forced for it (tool_choice: auto)", refusal)
        return body
