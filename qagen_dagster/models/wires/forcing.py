"""Asks a server that refuses to force a tool call once more, without forcing it.

Some servers refuse `tool_choice: required` for models that think. The prompt asks for the call as well, and an agent repeats
that if the model only talks. What does not belong here: what `doctor` says about it (`probe.py`).
"""

from __future__ import annotations

import logging
import re
import threading
from typing import Any

from qagen_dagster.errors import ContextOverflowError, ModelError, RateLimitedError
from qagen_dagster.models.base import ModelSpec, Provider
from qagen_dagster.models.messages import Request, Response, ToolChoice

_ABOUT = re.compile(r"tool.?choice|function.?call|\brequired\b|\bforc(?:e|ed|ing)\b", re.IGNORECASE)
_LOG = logging.getLogger(__name__)
_lock = threading.Lock()
_refusing: set[tuple[str, str | None]] = set()  # models of this process: their name and address


def refuses_forcing(error: ModelError) -> bool:
    """Whether a server may have refused a request because it forces a tool call."""
    other = isinstance(error, (ContextOverflowError, RateLimitedError))
    return not other and _ABOUT.search(str(error)) is not None


def as_accepted(spec: ModelSpec, request: Request) -> Request:
    """`request`, without forcing a tool call if the server of the model has refused to."""
    if request.tool_choice is not ToolChoice.REQUIRED or (spec.name, spec.base_url) not in _refusing:
        return request
    return request.model_copy(update={"tool_choice": ToolChoice.AUTO})


class ForcedTools:
    """A provider that does not force tool calls once its server has refused to. It says so once per process."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._name = provider.spec.name, provider.spec.base_url

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

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
        self._remember(refusal)
        return body

    def read(self, body: dict[str, Any]) -> Response:
        return self._provider.read(body)

    def _remember(self, refusal: str) -> None:
        with _lock:
            new = self._name not in _refusing
            _refusing.add(self._name)
        if new:
            _LOG.warning("warning: %s; tool calls are not forced for it (tool_choice: auto)", refusal)
